package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/graft-ml/graft/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A kernel whose loops end only when they are stopped.
func endless(t *testing.T, g *gorgonia.ExprGraph, begun chan<- struct{}) *gorgonia.Node {
	c := floats("endless", tensor.Shape{1}, nil)
	c.Kernel = func(x *Exec, out, in []*tensor.Dense) error {
		close(begun)
		for {
			x.Pool().Run(4, func(_, _ int) {})
		}
	}
	return apply(t, c, nil, input(g, "x", dense(1)))[0]
}

func TestKernelsAreStopped(t *testing.T) {
	for name, pool := range map[string]*kernel.Pool{"shared": nil, "one thread": kernel.NewPool(1), "three": kernel.NewPool(3)} {
		begun := make(chan struct{})
		p, err := Compile(Options{Pool: pool}, endless(t, gorgonia.NewGraph(), begun))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; cancel() }()
		if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: cancelled: %v", name, err)
		}
	}
	begun := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	p := compile(t, endless(t, gorgonia.NewGraph(), begun))
	if err := p.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("out of time: %v", err)
	}
}

func TestStoppedProgramRunsAgain(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1, 2, 3))
	var cancel context.CancelFunc
	c := floats("stops once", tensor.Shape{3}, nil)
	c.Kernel = func(x *Exec, out, in []*tensor.Dense) error {
		if cancel != nil {
			cancel()
			cancel = nil
		}
		x.Pool().Range(3, 1, func(lo, hi int) { copy(out[0].Float32s()[lo:hi], in[0].Float32s()[lo:hi]) })
		return nil
	}
	p := compile(t, apply(t, c, nil, apply(t, scale("s", tensor.Shape{3}, 2), nil, x)[0])[0])
	ctx, stop := context.WithCancel(t.Context())
	cancel = stop
	if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

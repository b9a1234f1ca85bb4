package nn_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestSizesOfEdits: edits that ask for more channels, or a larger kernel, than fit in memory are refused by node or parameter.
func TestSizesOfEdits(t *testing.T) {
	for name, f := range map[string]func(e *nn.Edit, n *nn.Node){
		"Resize":              func(e *nn.Edit, n *nn.Node) { e.Resize(n.Out(0), 1<<62, nn.ResizeOptions{}) },
		"Resize nearly":       func(e *nn.Edit, n *nn.Node) { e.Resize(n.Out(0), 1<<62, nn.ResizeOptions{Near: true}) },
		"ResizeAll":           func(e *nn.Edit, n *nn.Node) { e.ResizeAll(nn.Request{Value: n.Out(0), Channels: 1 << 40}) },
		"SetChannels":         func(e *nn.Edit, n *nn.Node) { e.SetChannels(n, math.MaxInt) },
		"AddChannels":         func(e *nn.Edit, n *nn.Node) { e.AddChannels(n, 1<<45) },
		"Widen":               func(e *nn.Edit, n *nn.Node) { e.Widen(n, 1e300) },
		"Widen by Inf":        func(e *nn.Edit, n *nn.Node) { e.Widen(n, math.Inf(1)) },
		"SetKernel":           func(e *nn.Edit, n *nn.Node) { e.SetKernel(n, 1<<62+1, 1) },
		"SetKernel, elements": func(e *nn.Edit, n *nn.Node) { e.SetKernel(n, 1<<20+1) },
		"SetInputChannels":    func(e *nn.Edit, n *nn.Node) { e.SetInputChannels(e.Value("x"), 1<<61, 0) },
		"Linear":              func(e *nn.Edit, n *nn.Node) { e.Apply(layers.Linear{Out: 1 << 62}, n.Out(0)) },
		"Head":                func(e *nn.Edit, n *nn.Node) { e.Head(nn.Head{Classes: 1 << 62}) },
	} {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			c := layers.Conv{Out: 4, Kernel: []int{3}, Same: true, Name: "conv"}
			e.Output("y", e.Apply(nn.Sequential{c, layers.ReLU{}, layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 3}}, e.Input("x", "float32[N,3,8,8]")))
		}); err != nil {
			t.Fatal(err)
		}
		err := g.Edit(func(e *nn.Edit) { f(e, e.Find(nn.Glob("conv"))) })
		if err == nil || !strings.Contains(err.Error(), "fits in memory") && !strings.Contains(err.Error(), "bytes of memory") && !strings.Contains(err.Error(), "has too many elements") {
			t.Errorf("%s: %v", name, err)
		}
		if err := g.Check(); err != nil || g.Version() != 1 {
			t.Errorf("%s: %v, version %d", name, err, g.Version())
		}
	}
}

// TestNumberOfOutputs: a node has one output or more, and no more than fit in memory.
func TestNumberOfOutputs(t *testing.T) {
	for _, n := range []int{-1, 0, 1 << 40, math.MaxInt} {
		err := nn.New("g").Edit(func(e *nn.Edit) { e.NodeN(std.ConcatConfig{Axis: 1}, n, e.Input("x", "float32[N,3]")) })
		if want := fmt.Sprintf("edit: Concat: cannot have %d outputs", n); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestManyChannels: the time to choose which layers grow is proportional to the number of channels.
func TestManyChannels(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 2, Name: "first"}, layers.ReLU{}, layers.Linear{Out: 1}}, e.Input("x", "float32[N,2]")))
		e.AddChannels(e.Find(nn.Ops("Gemm"), nn.Before(e.Find(nn.Ops("Relu")))), 200_000)
	}); err != nil {
		t.Fatal(err)
	}
	if v := g.Outputs()[0].Producer().In(0); v.Type().String() != "float32[N,200002]" {
		t.Error(v)
	}
}

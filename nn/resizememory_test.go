package nn_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/std"
)

// resized is a model that makes a row four times as long.
func resized(t *testing.T, mode string) *nn.Graph {
	return model(t, func(e *nn.Edit) {
		scales, err := dtype.FromSlice([]float32{4}, 1)
		if err != nil {
			t.Fatal(err)
		}
		y := e.Node(std.ResizeConfig{Mode: mode}, e.Input("x", "float32[N]"), nil, e.Const("scales", scales)).Out(0)
		e.Output("y", y)
		no := false
		e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: &no}, y).Out(0))
	})
}

// TestResizeMemory: the weights of a resized axis, which are computed before a run, are charged.
func TestResizeMemory(t *testing.T) {
	const n = 1 << 16
	for _, mode := range []string{"linear", "cubic", "nearest"} {
		g, before := resized(t, mode), nn.MemoryLeft()
		for _, c := range []struct {
			memory int64
			fits   bool
		}{{30 * n * 4, false}, {1 << 29, true}} { // the tensors take 5·4·n bytes
			nn.LimitMemory(before - nn.MemoryLeft() + c.memory)
			_, err := g.Grad(t.Context(), nn.Feed{"x": dtype.New(dtype.Float32, n)}, "loss", "x")
			nn.LimitMemory(0)
			if (err == nil) != c.fits || !c.fits && !strings.Contains(err.Error(), "memory") {
				t.Errorf("%s with %d bytes: %v", mode, c.memory, err)
			}
		}
	}
}

// TestResizeEnds: the computation of the weights ends with the context.
func TestResizeEnds(t *testing.T) {
	for _, mode := range []string{"linear", "nearest"} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := resized(t, mode).Eval(endsWhenResizing{ctx, cancel}, nn.Feed{"x": dtype.New(dtype.Float32, 1<<18)}, "y")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// endsWhenResizing is a context that ends when a kernel asks for its channel the first time.
type endsWhenResizing struct {
	context.Context
	cancel func()
}

func (c endsWhenResizing) Done() <-chan struct{} {
	c.cancel()
	return c.Context.Done()
}

package nn_test

import (
	"context"
	"errors"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	G "gorgonia.org/gorgonia"
)

// TestErrorKinds checks that the kind of an error can be determined without reading its text.
func TestErrorKinds(t *testing.T) {
	g := nn.New("small")
	err := g.Edit(func(e *nn.Edit) {
		e.Output("y", layers.Linear{Out: 3}.Build(e, e.Input("x", "float32[N,4]"))[0])
	})
	if err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	run := func(ctx context.Context, dims ...int) error {
		_, err := g.Run(ctx, dtype.New(dtype.Float32, dims...))
		return err
	}
	edit := func(f func(e *nn.Edit)) error { return g.Edit(f) }
	_, found := g.Node("absent")
	_, operator := std.Operators().NewCall(op.Plain("Absent"))
	_, traced := nn.Trace(func(x ...*G.Node) (G.Nodes, error) {
		n, err := G.AveragePool2D(x[0], []int{2, 2}, []int{0, 0}, []int{2, 2})
		return G.Nodes{n}, err
	}, "x float32[1,1,4,4]")
	for name, c := range map[string]struct{ err, want error }{
		"a value":       {edit(func(e *nn.Edit) { e.Value("absent") }), nn.ErrNotFound},
		"a node":        {found, nn.ErrNotFound},
		"an operator":   {operator, nn.ErrNotFound},
		"a width":       {run(t.Context(), 2, 5), nn.ErrInput},
		"a rank":        {run(t.Context(), 2), nn.ErrInput},
		"a context":     {run(canceled, 2, 4), context.Canceled},
		"shapes":        {edit(func(e *nn.Edit) { e.Output("z", e.Node(op.Plain("Add"), e.Value("x"), e.Value("y")).Out(0)) }), nn.ErrShape},
		"no ONNX form":  {traced, nn.ErrUnsupported},
		"nothing wrong": {run(t.Context(), 2, 4), nil},
	} {
		for _, kind := range []error{nn.ErrNotFound, nn.ErrInput, nn.ErrShape, nn.ErrUnsupported, context.Canceled} {
			if got := errors.Is(c.err, kind); got != (kind == c.want) {
				t.Errorf("%s: %v is %v: %v", name, c.err, kind, got)
			}
		}
	}
}

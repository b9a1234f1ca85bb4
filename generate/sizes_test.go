package generate_test

import (
	"context"
	"testing"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestOpenSizes: models whose open axes must agree, or be long enough, are compared, too.
func TestOpenSizes(t *testing.T) {
	for name, build := range map[string]func(e *nn.Edit){
		"one symbol on two axes": func(e *nn.Edit) {
			x, state := e.Input("x", "float32[batch,4]"), e.Input("state", "float32[2,batch,4]")
			e.Output("y", e.Node(op.Plain("Add"), e.Apply(layers.Linear{Out: 4}, x), state).Out(0))
		},
		"a window along the first axis": func(e *nn.Edit) {
			x := e.Node(std.TransposeConfig{Perm: []int{1, 0}}, e.Input("x", "float32[time,3]")).Out(0)
			axis := e.Const("axis", dtype.Scalar(int64(0)))
			x = e.Node(op.Plain("Unsqueeze"), x, axis).Out(0)
			e.Output("y", e.Apply(layers.Conv{Out: 5, Kernel: []int{7}}, x))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := nn.New("net")
			if err := g.Edit(build); err != nil {
				t.Fatal(err)
			}
			s, err := generate.Generate(context.Background(), g, generate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if s.Difference < 0 {
				t.Error(s.Notes)
			}
		})
	}
}

package nn_test

import (
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
)

// A lowered graph can be differentiated when Lower has returned: the time limit for folding does not apply any more.
func TestDifferentiateLowered(t *testing.T) {
	g := nn.New("padded")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[2,3]")
		y := e.Op("pad", std.PadConfig{Mode: "reflect"}, 1, x, e.Const("pads", ints(0, 1, 0, 1)))[0]
		e.Output("y", y)
	}); err != nil {
		t.Fatal(err)
	}
	l, err := g.Lower(nn.LowerOptions{Feed: nn.Feed{"x": dtype.New(dtype.Float32, 2, 3)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range l.Inputs {
		if _, err := gorgonia.Grad(gorgonia.Must(gorgonia.Sum(l.Outputs[0])), in); err != nil {
			t.Error(err)
		}
	}
}

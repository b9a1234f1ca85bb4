package prune

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestMaskOfTies checks that of weights of equal magnitude the first ones are removed.
func TestMaskOfTies(t *testing.T) {
	for _, c := range []struct {
		s    Sparsity
		want string
	}{
		{Sparsity{N: 1, M: 4}, "[0 0 0 1 0 0 0 1 0 0 0 1 0 0 0 1]"},
		{Sparsity{N: 3, M: 4}, "[0 1 1 1 0 1 1 1 0 1 1 1 0 1 1 1]"},
	} {
		g := nn.New("ties")
		if err := g.Edit(func(e *nn.Edit) {
			w := e.Param("w", initial.Ones{}, 2, 8)
			e.Output("y", e.Node(std.GemmConfig{TransB: true}, e.Input("x", "float32[N,8]"), w).Out(0))
			c.s.Mask(e)
		}); err != nil {
			t.Fatal(err)
		}
		v, err := g.Value("w" + maskSuffix)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := dtype.Float64s(v.Param().Data()); err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%+v: %v %v, want %s", c.s, got, err, c.want)
		}
	}
}

// TestWhatIsStuck checks that where nothing can be removed, the error gives the reason for three
// layers, whatever their number of axes.
func TestWhatIsStuck(t *testing.T) {
	g := nn.New("stuck")
	if err := g.Edit(func(e *nn.Edit) {
		x, z := e.Input("x", "float32[N,4]"), e.Input("z", "float32[N,4,5,5]")
		for i := range 4 {
			l := nn.Layer(layers.Linear{Out: 3})
			in := x
			if i == 1 {
				l, in = layers.Conv{Out: 3, Kernel: []int{1}}, z
			}
			e.Output(fmt.Sprint("y", i), e.Apply(l, in))
		}
	}); err != nil {
		t.Fatal(err)
	}
	_, err := Pruner{Target: Target{Params: 0.5}}.Plan(t.Context(), g)
	if err == nil || strings.Count(err.Error(), "axis 1 of ") != 3 || strings.Count(err.Error(), "it reaches graph output") != 3 {
		t.Error(err)
	}
}

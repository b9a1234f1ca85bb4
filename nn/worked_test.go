package nn_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// worked returns the example of a trunk with two branches, their concatenation, a sum and a depthwise
// convolution with two channels for each.
func worked(t *testing.T) *nn.Graph {
	return model(t, func(e *nn.Edit) {
		x := e.Input("x", "float32[N,3,8,8]")
		bn := e.Apply(layers.BatchNorm{Name: "bn"}, e.Apply(conv(8, 3, "c1"), x))
		a, b := e.Apply(conv(3, 3, "a"), bn), e.Apply(conv(5, 3, "b"), bn)
		cat := e.Node(std.ConcatConfig{Axis: 1}, a, b).Out(0)
		add := e.Node(op.Plain("Add"), cat, bn).Out(0)
		e.RenameValue(add, "add")
		dw := e.Apply(layers.Conv{Out: 16, Kernel: []int{3}, Same: true, Group: 8, Name: "dw"}, add)
		p := e.Apply(layers.MaxPool{Kernel: []int{2}}, dw)
		e.Output("y", e.Apply(layers.Linear{Out: 10, Name: "fc"}, e.Apply(layers.Flatten{}, p)))
	})
}

// TestWorkedExample removes channels 3 and 6 of the sum and looks at every index.
func TestWorkedExample(t *testing.T) {
	g := worked(t)
	p := prove(t, g, 2, 0, func(e *nn.Edit) {
		e.Resize(e.Value("add"), 6, nn.ResizeOptions{Utility: func(a *nn.Atom) float64 {
			for _, s := range a.Slices() {
				if s.Param.Name() == "c1.weight" && s.Axis == 0 && (s.Index[0] == 3 || s.Index[0] == 6) {
					return 0
				}
			}
			return 1
		}})
	})
	want := map[string][]int{
		"c1.weight/0": {3, 6}, "c1.bias/0": {3, 6}, "bn.weight/0": {3, 6}, "bn.bias/0": {3, 6},
		"a.weight/0": nil, "b.weight/0": {0, 3}, "b.bias/0": {0, 3}, "a.weight/1": {3, 6}, "b.weight/1": {3, 6},
		"dw.weight/0": {6, 7, 12, 13}, "dw.bias/0": {6, 7, 12, 13},
	}
	got := map[string][]int{}
	for _, c := range p.Cuts() {
		got[fmt.Sprintf("%s/%d", c.Initializer, c.Axis)] = c.Removed
	}
	// Channel 3 of the sum is row 0 of b, channel 6 its row 3: a keeps all three.
	for k, w := range want {
		if !reflect.DeepEqual(got[k], w) && !(len(w) == 0 && len(got[k]) == 0) {
			t.Errorf("%s loses %v, want %v", k, got[k], w)
		}
	}
	fc := got["fc.weight/1"]
	if fc == nil {
		fc = got["fc.weight/0"]
	}
	if len(fc) != 64 || fc[0] != 96 || fc[63] != 14*16-1 {
		t.Errorf("fc loses %v", fc)
	}
}

package layers_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"gorgonia.org/tensor"
)

// TestZero: a setting for which zero is meaningful can be zero.
func TestZero(t *testing.T) {
	x := []float32{0, 1, 2, 3, 4, 5}
	half := []float32{0.04742587, 0.95257413} // softmax of 0 and 3
	for name, c := range map[string]struct {
		build nn.Layer
		shape []int
		want  []float32
	}{
		"Dropout":  {layers.Dropout{P: 0}, []int{2, 3}, x},
		"Concat":   {twice(layers.Concat{Axis: new(0)}), []int{4, 3}, append(slices.Clone(x), x...)},
		"Parallel": {layers.Parallel{Branches: []nn.Layer{layers.ReLU{}, layers.ReLU{}}, Axis: new(0)}, []int{4, 3}, append(slices.Clone(x), x...)},
		"Flatten":  {layers.Flatten{Axis: new(0)}, []int{1, 6}, x},
		"Softmax":  {layers.Softmax{Axis: new(0)}, []int{2, 3}, []float32{half[0], half[0], half[0], half[1], half[1], half[1]}},
	} {
		g := nn.New("zero")
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Apply(c.build, e.Input("x", "float32[2,3]")))
			e.TrainingMode()
		}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		out, err := g.Run(t.Context(), tensor.New(tensor.WithShape(2, 3), tensor.WithBacking(slices.Clone(x))))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		y := out[0]
		if !slices.Equal(y.Shape(), c.shape) {
			t.Errorf("%s: shape %v, want %v", name, y.Shape(), c.shape)
			continue
		}
		for i, v := range dtype.Slice[float32](y) {
			if d := v - c.want[i]; d > 1e-6 || d < -1e-6 {
				t.Errorf("%s: %v, want %v", name, y.Data(), c.want)
				break
			}
		}
	}
}

// twice applies a layer to its input, two times.
func twice(l nn.Layer) nn.Layer {
	return nn.LayerFunc(func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return []*nn.Value{e.Apply(l, in[0], in[0])} })
}

package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestDefaultsAreFloat32: an absent attribute and one that has the default give the same bits, in float64 too.
func TestDefaultsAreFloat32(t *testing.T) {
	one := func(x float64) dtype.Value { return optest.Tensor([]float64{x}, 1) }
	step := []dtype.Value{one(0.5), optest.Tensor([]int64{3}, 1), one(2), one(3), one(0.7), one(0.9)}
	for _, c := range []struct {
		absent, present op.Config
		in              []dtype.Value
	}{
		{std.AdamConfig{}, std.AdamConfig{Alpha: number(0.9), Beta: number(0.999), Epsilon: number(1e-6)}, step},
		{std.AdagradConfig{}, std.AdagradConfig{Epsilon: number(1e-6)}, step[:5]},
	} {
		var y [2]float64
		for i, cfg := range []op.Config{c.absent, c.present} {
			out, err := optest.Forward(optest.Case{Config: cfg, In: c.in, Outputs: len(c.in) - 3})
			if err != nil {
				t.Fatal(err)
			}
			y[i] = dtype.Slice[float64](out[0].(*tensor.Dense))[0]
		}
		if y[0] != y[1] {
			t.Errorf("%s: %v without the attributes, %v with their defaults", c.absent.Operator(), y[0], y[1])
		}
	}
}

package std_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestZeroAttributes: where zero is a value of its own and not the default, a program can write it.
func TestZeroAttributes(t *testing.T) {
	in := func(v ...dtype.Value) []dtype.Value { return v }
	x, ones, zeros := optest.Floats([]int{1, 2}, 1e-3, -1e-3), optest.Floats([]int{2}, 1, 1), optest.Floats([]int{2}, 0, 0)
	two := func(a, b float32) []dtype.Value { return []dtype.Value{optest.Floats([]int{1, 2}, a, b)} }
	tree := std.TreeEnsembleConfig{Targets: 1, Roots: []int{0, 1}, NodesFeature: []int{0, 0}, NodesModes: optest.Tensor([]uint8{0, 0}, 2), NodesSplits: optest.Floats([]int{2}, 9, 9),
		NodesTrue: []int{0, 1}, NodesYesLeaf: []int{1, 1}, NodesFalse: []int{0, 1}, NodesNoLeaf: []int{1, 1}, LeafTargets: []int{0, 0}, LeafWeights: optest.Floats([]int{2}, 3, 5)}
	average := tree
	average.Aggregate = integer(0)
	optest.Run(t,
		// The standard deviation is 1e-3, so that any epsilon would show.
		optest.Case{Name: "layer norm", Config: std.LayerNormalizationConfig{Epsilon: number(0)}, In: in(x, ones), Want: two(1, -1), NoGrad: "there is none at two elements"},
		optest.Case{Name: "rms norm", Config: std.RMSNormalizationConfig{Epsilon: number(0)}, In: in(x, ones), Want: two(1, -1), NoGrad: "steep"},
		optest.Case{Name: "batch norm", Config: std.BatchNormalizationConfig{Epsilon: number(0)}, In: in(x, ones, zeros, zeros, optest.Floats([]int{2}, 1e-6, 1e-6)), Want: two(1, -1), NoGrad: "steep"},
		optest.Case{Name: "instance norm", Config: std.InstanceNormalizationConfig{Epsilon: number(0)}, In: in(optest.Floats([]int{1, 1, 2}, 1e-3, -1e-3), optest.Floats([]int{1}, 1), optest.Floats([]int{1}, 0)), Want: in(optest.Floats([]int{1, 1, 2}, 1, -1)), NoGrad: "there is none at two elements"},
		optest.Case{Name: "group norm", Config: std.GroupNormalizationConfig{NumGroups: 1, Epsilon: number(0)}, In: in(optest.Floats([]int{1, 1, 2}, 1e-3, -1e-3), optest.Floats([]int{1}, 1), optest.Floats([]int{1}, 0)), Want: in(optest.Floats([]int{1, 1, 2}, 1, -1)), NoGrad: "there is none at two elements"},
		optest.Case{Name: "lrn", Config: std.LRNConfig{Alpha: number(0), Size: 3, Bias: number(4), Beta: number(0.5)}, In: in(optest.Floats([]int{1, 2}, 100, -300)), Want: two(50, -150)},
		optest.Case{Name: "sum of trees", Config: tree, In: in(optest.Floats([]int{1, 1}, 1)), Want: in(optest.Floats([]int{1, 1}, 8)), NoGrad: "steps"},
		optest.Case{Name: "average of trees", Config: average, In: in(optest.Floats([]int{1, 1}, 1)), Want: in(optest.Floats([]int{1, 1}, 4)), NoGrad: "steps"},
	)
	words, err := dtype.NewStrings([]string{"a", "z"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	optest.Run(t,
		optest.Case{Name: "label 0", Config: std.LabelEncoderConfig{KeysString: []string{"a"}, ValuesInt: []int{5}, DefaultInt: integer(0)}, In: in(words), Want: in(optest.Ints(5, 0))},
		optest.Case{Name: "category 0", Config: std.CategoryMapperConfig{Ints: []int{5}, Strings: []string{"a"}, DefaultInt: integer(0)}, In: in(words), Want: in(optest.Ints(5, 0))},
	)
	out, err := optest.Forward(optest.Case{Config: std.LabelEncoderConfig{KeysInt: []int{1}, ValuesString: []string{"a"}, DefaultString: text("")}, In: in(optest.Ints(1, 2))})
	if err != nil {
		t.Fatal(err)
	}
	if s := out[0].(*dtype.Strings); s.Elems[0] != "a" || s.Elems[1] != "" {
		t.Errorf("got %v", s.Elems)
	}
}

// A zero epsilon stays zero in the gradient, too: along x, at x = 1 and −1 with batch statistics given, it is 1/√variance.
func TestZeroEpsilonGradient(t *testing.T) {
	c := std.BatchNormalizationConfig{Epsilon: number(0)}
	in := []dtype.Value{optest.Floats([]int{1, 1, 2}, 1, -1), optest.Floats([]int{1}, 1), optest.Floats([]int{1}, 0), optest.Floats([]int{1}, 0), optest.Floats([]int{1}, 1e-6)}
	out, err := optest.Forward(optest.Case{Config: c, In: in})
	if err != nil {
		t.Fatal(err)
	}
	if y := dtype.Slice[float32](out[0].(*tensor.Dense))[0]; math.Abs(float64(y)-1000) > 0.1 {
		t.Errorf("got %g, want 1000", y)
	}
	optest.Run(t, optest.Case{Name: "gradient", Config: c, In: in, GradTol: 1e-4, Constant: []int{3, 4}})
}

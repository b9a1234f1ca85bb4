package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

// shrinkPart takes from the attribute what a cut took from the outputs.
func shrinkPart(c *optest.Case, cut map[coupling.Axis][]int) {
	cfg := c.Config.(std.SplitConfig)
	cfg.Split = append([]int(nil), cfg.Split...)
	for i := range cfg.Split {
		cfg.Split[i] -= len(cut[coupling.Out(i, cfg.Axis)])
	}
	c.Config = cfg
}

// shrinkSizes does the same to the input of later versions.
func shrinkSizes(c *optest.Case, cut map[coupling.Axis][]int) {
	sizes := []int64{2, 3}
	for i := range sizes {
		sizes[i] -= int64(len(cut[coupling.Out(i, 0)]))
	}
	c.In[1] = optest.Ints(sizes...)
}

func TestSplit(t *testing.T) {
	x := optest.Rand(1, 5, 4)
	optest.Run(t,
		optest.Case{Name: "attribute", Config: std.SplitConfig{Axis: 1, Split: []int{1, 3}}, Version: 11, Outputs: 2, In: []dtype.Value{x}, Resize: shrinkPart},
		optest.Case{Name: "input", Config: std.SplitConfig{}, Outputs: 2, In: []dtype.Value{x, optest.Ints(2, 3)}, Resize: shrinkSizes},
		optest.Case{Name: "number", Config: std.SplitConfig{NumOutputs: 3}, Outputs: 3, In: []dtype.Value{x}, NoCut: "the parts follow the length"},
		optest.Case{Name: "one unused", Config: std.SplitConfig{Axis: -1}, Outputs: 2, Skip: []int{0}, In: []dtype.Value{x}, NoCut: "the parts follow the length"},
	)
	optest.Fails(t, optest.Case{Config: std.SplitConfig{Axis: 3}, Outputs: 2, In: []dtype.Value{x}, Refusal: "axis 3 is outside of [-2, 1]"})
	optest.Fails(t, optest.Case{Config: std.SplitConfig{}, Outputs: 2, In: []dtype.Value{x, optest.Ints(2, 2)}, Refusal: "sizes add up to 4, the axis has 5"})
}

func TestConcat(t *testing.T) {
	optest.Run(t,
		optest.Case{Name: "first", Config: std.ConcatConfig{}, In: []dtype.Value{optest.Rand(1, 2, 3), optest.Rand(2, 1, 3)}},
		optest.Case{Name: "last", Config: std.ConcatConfig{Axis: -1}, In: []dtype.Value{optest.Rand(1, 2, 3), optest.Rand(2, 2, 2), optest.Rand(3, 2, 4)}},
		optest.Case{Name: "shapes", Config: std.ConcatConfig{}, In: []dtype.Value{optest.Ints(2, 3), optest.Ints(4)}, Want: []dtype.Value{optest.Ints(2, 3, 4)}},
	)
	optest.Fails(t, optest.Case{Config: std.ConcatConfig{Axis: 2}, In: []dtype.Value{optest.Rand(1, 2, 3)}, Refusal: "axis 2 is outside of [-2, 1]"})
}

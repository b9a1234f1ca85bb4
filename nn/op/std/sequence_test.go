package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestSequences(t *testing.T) {
	a, b := optest.Ints(1, 2), optest.Ints(3)
	seq := func(v ...dtype.Value) dtype.Value { return &dtype.Sequence{Elem: dtype.Int64, Items: v} }
	at := func(i int64) dtype.Value { return optest.Tensor([]int64{i}) }
	for _, k := range []struct {
		name   string
		config op.Config
		in     []dtype.Value
		want   dtype.Value
	}{
		{"empty", std.SequenceEmptyConfig{DType: dtype.Int64}, nil, seq()},
		{"construct", op.Plain("SequenceConstruct"), values(a, b), seq(a, b)},
		{"at", op.Plain("SequenceAt"), values(seq(a, b), at(-1)), b},
		{"insert", op.Plain("SequenceInsert"), values(seq(a), b), seq(a, b)},
		{"insert front", op.Plain("SequenceInsert"), values(seq(a), b, at(0)), seq(b, a)},
		{"erase", op.Plain("SequenceErase"), values(seq(a, b)), seq(a)},
		{"erase first", op.Plain("SequenceErase"), values(seq(a, b), at(0)), seq(b)},
		{"length", op.Plain("SequenceLength"), values(seq(a, b)), at(2)},
		{"split", std.SplitToSequenceConfig{}, values(optest.Ints(1, 2, 3), at(2)), seq(a, b)},
		{"split lengths", std.SplitToSequenceConfig{Axis: -1}, values(optest.Ints(1, 2, 3), optest.Ints(2, 1)), seq(a, b)},
		{"split all", std.SplitToSequenceConfig{KeepDims: truth(false)}, values(optest.Ints(1, 2)), seq(at(1), at(2))},
		{"concat", std.ConcatFromSequenceConfig{}, values(seq(a, b)), optest.Ints(1, 2, 3)},
		{"stack", std.ConcatFromSequenceConfig{Axis: -1, NewAxis: true}, values(seq(a, a)), optest.Tensor([]int64{1, 1, 2, 2}, 2, 2)},
		{"optional", op.Plain("Optional"), values(a), &dtype.Optional{Elem: dtype.Int64, Item: a}},
		{"no optional", std.OptionalConfig{Type: op.Shaped(dtype.Int64, 2)}, nil, &dtype.Optional{Elem: dtype.Int64}},
		{"has", op.Plain("OptionalHasElement"), values(&dtype.Optional{Elem: dtype.Int64, Item: a}), dtype.Scalar(true)},
		{"has not", op.Plain("OptionalHasElement"), values(&dtype.Optional{Elem: dtype.Int64}), dtype.Scalar(false)},
		{"get", op.Plain("OptionalGetElement"), values(&dtype.Optional{Elem: dtype.Int64, Item: a}), a},
	} {
		t.Run(k.name, func(t *testing.T) {
			out, err := evaluate(k.config, 1, k.in)
			if err == nil {
				err = optest.Compare(out[0], k.want, 0)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	for name, in := range map[string][]dtype.Value{"outside": values(seq(a), at(1)), "no sequence": values(a, at(0))} {
		if _, err := evaluate(op.Plain("SequenceAt"), 1, in); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

// evaluate applies an operator to values, all of them known.
func evaluate(c op.Config, outputs int, in []dtype.Value) ([]dtype.Value, error) {
	return std.Operators().Compute(outputs, c, 0, in...)
}

func TestNonMaxSuppression(t *testing.T) {
	boxes := optest.Floats([]int{1, 3, 4}, 0, 0, 1, 1, 1, 1.1, 0, 0.1, 0, 5, 1, 6)
	scores := optest.Floats([]int{1, 1, 3}, 0.9, 0.8, 0.7)
	limit := func(x float32) dtype.Value { return optest.Tensor([]float32{x}) }
	center := optest.Floats([]int{1, 2, 4}, 0.5, 0.5, 1, 1, 0.6, 0.5, 1, 1)
	run := func(name string, cfg std.NonMaxSuppressionConfig, want dtype.Value, in ...dtype.Value) {
		t.Run(name, func(t *testing.T) {
			out, err := evaluate(cfg, 1, in)
			if err == nil {
				err = optest.Compare(out[0], want, 0)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	none := std.NonMaxSuppressionConfig{}
	run("overlap", none, optest.Tensor([]int64{0, 0, 0, 0, 0, 2}, 2, 3), boxes, scores, optest.Ints(3), limit(0.5))
	run("score", none, optest.Tensor([]int64{0, 0, 0}, 1, 3), boxes, scores, optest.Ints(3), limit(0.5), limit(0.75))
	run("number", none, optest.Tensor([]int64{0, 0, 0}, 1, 3), boxes, scores, optest.Ints(1), limit(0.5))
	run("no number", none, optest.Tensor([]int64{}, 0, 3), boxes, scores)
	run("center", std.NonMaxSuppressionConfig{CenterPointBox: true}, optest.Tensor([]int64{0, 0, 1}, 1, 3), center, optest.Floats([]int{1, 1, 2}, 0.1, 0.2), optest.Ints(2), limit(0.5))
}

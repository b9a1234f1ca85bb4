package std_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestLimits: calls at the limits of what operators take, with results worked out by hand.
func TestLimits(t *testing.T) {
	nan := float32(math.NaN())
	ramp := func(n int) dtype.Value {
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(i)
		}
		return optest.Floats([]int{n}, list...)
	}
	// 700 elements of a row of 1000, each the third after the one before: more than a block of indices.
	places, picked := make([]int64, 700), make([]float32, 700)
	for i := range places {
		places[i], picked[i] = int64(3*i%1000), float32(3*i%1000)
	}
	// x[::-1, 1:, ::2, ::-1] of [3, 3, 4, 3].
	var all, some []float32
	for i := range 3 * 3 * 4 * 3 {
		all = append(all, float32(i))
	}
	for i := 2; i >= 0; i-- {
		for k := 1; k < 3; k++ {
			for m := 0; m < 4; m += 2 {
				for n := 2; n >= 0; n-- {
					some = append(some, float32(((i*3+k)*4+m)*3+n))
				}
			}
		}
	}
	ramp4, sliced4 := optest.Floats([]int{3, 3, 4, 3}, all...), optest.Floats([]int{3, 2, 2, 3}, some...)
	optest.Run(t,
		optest.Case{Name: "GatherND of many", Config: std.GatherNDConfig{}, In: values(ramp(1000), optest.Tensor(places, 700, 1)), Want: values(optest.Floats([]int{700}, picked...)), NoGrad: "too many"},
		optest.Case{Name: "Pow of more than a block", Config: op.Plain("Pow"), In: values(optest.Spread(1, 0.5, 2, 1100), optest.Spread(2, -2, 2, 1100))},
		optest.Case{Name: "EyeLike beside the last column", Config: std.EyeLikeConfig{K: 1}, In: values(optest.Floats([]int{3, 2}, 0, 0, 0, 0, 0, 0)),
			Want: values(optest.Floats([]int{3, 2}, 0, 1, 0, 0, 0, 0))},
		optest.Case{Name: "EyeLike below", Config: std.EyeLikeConfig{K: -2}, In: values(optest.Floats([]int{3, 2}, 0, 0, 0, 0, 0, 0)),
			Want: values(optest.Floats([]int{3, 2}, 0, 0, 0, 0, 1, 0))},
		optest.Case{Name: "SplitToSequence without a rest", Config: std.SplitToSequenceConfig{}, In: values(optest.Ints(1, 2, 3, 4), optest.Tensor([]int64{2})),
			Want: values(&dtype.Sequence{Elem: dtype.Int64, Items: values(optest.Ints(1, 2), optest.Ints(3, 4))}), NoCut: "a sequence"},
		optest.Case{Name: "quantize in float16", Config: std.QuantizeLinearConfig{Precision: dtype.Float16}, In: values(optest.Tensor([]float32{100.51, 100.56}, 2), optest.Tensor([]float32{1})),
			Want: values(optest.Tensor([]uint8{100, 101}, 2))}, // 100.5 and 100.5625, to even
		optest.Case{Name: "quantize in float32", Config: std.QuantizeLinearConfig{Precision: dtype.Float32}, In: values(optest.Tensor([]float32{100.51, 100.49}, 2), optest.Tensor([]float32{1})),
			Want: values(optest.Tensor([]uint8{101, 100}, 2))},
		optest.Case{Name: "quantize with one zero point", Config: std.QuantizeLinearConfig{}, In: values(optest.Tensor([]float32{2, 4, 6, 8}, 2, 2), optest.Tensor([]float32{1, 2}, 2), optest.As(dtype.Int16, optest.Tensor([]int8{1, 1}, 2))),
			Want: values(optest.As(dtype.Int16, optest.Tensor([]int8{3, 3, 7, 5}, 2, 2)))},
		optest.Case{Name: "least of no bytes", Config: std.ReduceMinConfig{}, In: values(optest.Tensor([]uint8{}, 0)), Want: values(optest.Tensor([]uint8{255}, 1))},
		optest.Case{Name: "least of no uint32", Config: std.ReduceMinConfig{}, In: values(optest.Tensor([]uint32{}, 0)), Want: values(optest.Tensor([]uint32{1<<32 - 1}, 1))},
		optest.Case{Name: "RoiAlign left of the image", Config: std.RoiAlignConfig{Coordinates: "output_half_pixel", Sampling: 1},
			In: values(optest.Floats([]int{1, 1, 2, 2}, 1, 2, 3, 4), optest.Floats([]int{1, 4}, -1.5, 0, -0.5, 1), optest.Ints(0)), Want: values(optest.Floats([]int{1, 1, 1, 1}, 2)), Constant: []int{1}},
		optest.Case{Name: "RoiAlign too far left", Config: std.RoiAlignConfig{Coordinates: "output_half_pixel", Sampling: 1},
			In: values(optest.Floats([]int{1, 1, 2, 2}, 1, 2, 3, 4), optest.Floats([]int{1, 4}, -1.75, 0, -0.75, 1), optest.Ints(0)), Want: values(optest.Floats([]int{1, 1, 1, 1}, 0)), Constant: []int{1}},
		optest.Case{Name: "RoiAlign at the right end", Config: std.RoiAlignConfig{Coordinates: "output_half_pixel", Sampling: 1},
			In: values(optest.Floats([]int{1, 1, 2, 2}, 1, 2, 3, 4), optest.Floats([]int{1, 4}, 1.5, 0, 2.5, 1), optest.Ints(0)), Want: values(optest.Floats([]int{1, 1, 1, 1}, 3)), Constant: []int{1}},
		optest.Case{Name: "RoiAlign too far right", Config: std.RoiAlignConfig{Coordinates: "output_half_pixel", Sampling: 1},
			In: values(optest.Floats([]int{1, 1, 2, 2}, 1, 2, 3, 4), optest.Floats([]int{1, 4}, 1.75, 0, 2.75, 1), optest.Ints(0)), Want: values(optest.Floats([]int{1, 1, 1, 1}, 0)), Constant: []int{1}},
		optest.Case{Name: "RoiAlign at the upper end", Config: std.RoiAlignConfig{Coordinates: "output_half_pixel", Sampling: 1},
			In: values(optest.Floats([]int{1, 1, 2, 2}, 1, 2, 3, 4), optest.Floats([]int{1, 4}, 0, -1.5, 1, -0.5), optest.Ints(0)), Want: values(optest.Floats([]int{1, 1, 1, 1}, 1.5)), Constant: []int{1}},
		optest.Case{Name: "RoiAlign too far up", Config: std.RoiAlignConfig{Coordinates: "output_half_pixel", Sampling: 1},
			In: values(optest.Floats([]int{1, 1, 2, 2}, 1, 2, 3, 4), optest.Floats([]int{1, 4}, 0, -1.75, 1, -0.75), optest.Ints(0)), Want: values(optest.Floats([]int{1, 1, 1, 1}, 0)), Constant: []int{1}},
		optest.Case{Name: "RoiAlign at the lower end", Config: std.RoiAlignConfig{Coordinates: "output_half_pixel", Sampling: 1},
			In: values(optest.Floats([]int{1, 1, 2, 2}, 1, 2, 3, 4), optest.Floats([]int{1, 4}, 0, 1.5, 1, 2.5), optest.Ints(0)), Want: values(optest.Floats([]int{1, 1, 1, 1}, 3.5)), Constant: []int{1}},
		optest.Case{Name: "RoiAlign too far down", Config: std.RoiAlignConfig{Coordinates: "output_half_pixel", Sampling: 1},
			In: values(optest.Floats([]int{1, 1, 2, 2}, 1, 2, 3, 4), optest.Floats([]int{1, 4}, 0, 1.75, 1, 2.75), optest.Ints(0)), Want: values(optest.Floats([]int{1, 1, 1, 1}, 0)), Constant: []int{1}},
		optest.Case{Name: "activations with two numbers of their own", Config: std.RNNConfig{Direction: "bidirectional", Activations: []string{"Affine", "Affine"}, ActivationAlpha: []float32{0.5, 0.25}, ActivationBeta: []float32{0.1, 0.2}, HiddenSize: 1},
			In: values(optest.Floats([]int{1, 1, 1}, -1), optest.Floats([]int{2, 1, 1}, 1, 1), optest.Floats([]int{2, 1, 1}, 1, 1)), Outputs: 2, NoCut: "f(0) is not 0",
			Want: values(optest.Floats([]int{1, 2, 1, 1}, -0.4, -0.05), optest.Floats([]int{2, 1, 1}, -0.4, -0.05))},
		// A mask about fewer keys than there are hides the others from version 24 on; before, one of a single key is for all.
		optest.Case{Name: "a short mask", Config: std.AttentionConfig{}, Version: 24, In: values(optest.Floats([]int{1, 1, 1, 1}, 0), optest.Floats([]int{1, 1, 3, 1}, 1, 2, 3), optest.Floats([]int{1, 1, 3, 1}, 4, 6, 11), optest.Floats([]int{1, 1}, 0)),
			Want: values(optest.Floats([]int{1, 1, 1, 1}, 4)), NoCut: "sizes are in the scale"},
		optest.Case{Name: "a mask of two keys", Config: std.AttentionConfig{}, Version: 24, In: values(optest.Floats([]int{1, 1, 1, 1}, 0), optest.Floats([]int{1, 1, 3, 1}, 1, 2, 3), optest.Floats([]int{1, 1, 3, 1}, 4, 6, 11), optest.Floats([]int{1, 2}, 0, 0)),
			Want: values(optest.Floats([]int{1, 1, 1, 1}, 5)), NoCut: "sizes are in the scale"},
		optest.Case{Name: "a mask for all keys", Config: std.AttentionConfig{}, Version: 23, In: values(optest.Floats([]int{1, 1, 1, 1}, 0), optest.Floats([]int{1, 1, 3, 1}, 1, 2, 3), optest.Floats([]int{1, 1, 3, 1}, 4, 6, 11), optest.Floats([]int{1, 1}, 0)),
			Want: values(optest.Floats([]int{1, 1, 1, 1}, 7)), NoCut: "sizes are in the scale"},
		optest.Case{Name: "a slice of four axes", Config: std.SliceConfig{}, In: values(ramp4, optest.Ints(-1, 1, 0, -1), optest.Ints(math.MinInt64, 3, 4, math.MinInt64), optest.Ints(0, 1, 2, 3), optest.Ints(-1, 1, 2, -1)), Want: values(sliced4), NoCut: "its bounds are numbers"},
		optest.Case{Name: "boxes by their centers, two batches", Config: std.NonMaxSuppressionConfig{CenterPointBox: true}, In: values(
			optest.Tensor([]float32{5, 5, 4, 4, 6, 5, 4, 4, 20, 5, 4, 4 /* */, 5, 5, 4, 4, 5, 9, 4, 4, 5, 7, 4, 4}, 2, 3, 4), optest.Tensor([]float32{0.9, 0.8, 0.7, 0.5, 0.6, 0.7}, 2, 1, 3),
			optest.Ints(3), optest.Tensor([]float32{0.5}), optest.Tensor([]float32{0.1})),
			// Of the first batch the second box shares 12 of 20 with the first; of the second batch boxes share 8 of 24 at most.
			Want: values(optest.Tensor([]int64{0, 0, 0, 0, 0, 2, 1, 0, 2, 1, 0, 1, 1, 0, 0}, 5, 3))},
		optest.Case{Name: "activations with numbers of their own", Config: std.RNNConfig{Direction: "bidirectional", Activations: []string{"LeakyRelu", "LeakyRelu"}, ActivationAlpha: []float32{0.1, 0.2}, HiddenSize: 1},
			In: values(optest.Floats([]int{1, 1, 1}, -1), optest.Floats([]int{2, 1, 1}, 1, 1), optest.Floats([]int{2, 1, 1}, 1, 1)), Outputs: 2,
			Want: values(optest.Floats([]int{1, 2, 1, 1}, -0.1, -0.2), optest.Floats([]int{2, 1, 1}, -0.1, -0.2))},
		optest.Case{Name: "dropout of everything", Config: std.DropoutConfig{}, In: values(optest.Floats([]int{3}, 1, 2, 3), optest.Tensor([]float32{1}), optest.Tensor([]bool{true})), Outputs: 2, Train: true,
			Want: values(optest.Floats([]int{3}, 0, 0, 0), optest.Tensor([]bool{false, false, false}, 3))},
		optest.Case{Name: "samples of each row", Config: std.MultinomialConfig{SampleSize: 3}, In: values(optest.Floats([]int{3, 2}, 0, -100, -100, 0, 0, -100)),
			Want: values(optest.Tensor([]int32{0, 0, 0, 1, 1, 1, 0, 0, 0}, 3, 3))},
		optest.Case{Name: "a number is replaced", Config: std.ImputerConfig{Floats: []float32{7}, ReplaceFloat: 3}, In: values(optest.Tensor([]float32{nan, 2, 3, 4}, 2, 2)),
			Want: values(optest.Tensor([]float32{nan, 2, 7, 4}, 2, 2))},
		optest.Case{Name: "a score that is the least", Config: std.NonMaxSuppressionConfig{}, In: values(optest.Tensor([]float32{0, 0, 1, 1, 2, 2, 3, 3}, 1, 2, 4), optest.Tensor([]float32{0.5, 0.75}, 1, 1, 2),
			optest.Ints(2), optest.Tensor([]float32{0.5}), optest.Tensor([]float32{0.5})), Want: values(optest.Tensor([]int64{0, 0, 1}, 1, 3))},
		optest.Case{Name: "large numbers without a sign in order", Config: std.UniqueConfig{}, In: values(optest.Tensor([]uint64{1 << 63, 3, 1<<64 - 1, 3}, 4)), Outputs: 2,
			Want: values(optest.Tensor([]uint64{3, 1 << 63, 1<<64 - 1}, 3), optest.Tensor([]int64{1, 0, 2}, 3))},
		optest.Case{Name: "a slope without bound", Config: op.Plain("PRelu"), In: values(optest.Floats([]int{3}, 0, 2, 3), optest.Floats([]int{1}, float32(math.Inf(1)))), Want: values(optest.Floats([]int{3}, 0, 2, 3)), NoGrad: "infinite", NoCut: "infinite"},
		optest.Case{Name: "an activation with the numbers it has by default", Config: std.RNNConfig{Activations: []string{"HardSigmoid"}, HiddenSize: 1},
			In: values(optest.Floats([]int{1, 1, 1}, 1), optest.Floats([]int{1, 1, 1}, 1), optest.Floats([]int{1, 1, 1}, 1)), Outputs: 2, NoCut: "f(0) is not 0",
			Want: values(optest.Floats([]int{1, 1, 1, 1}, 0.7), optest.Floats([]int{1, 1, 1}, 0.7))},
		optest.Case{Name: "Affine with one number", Config: std.RNNConfig{Activations: []string{"Affine"}, ActivationAlpha: []float32{0.5}, HiddenSize: 1},
			In: values(optest.Floats([]int{1, 1, 1}, 1), optest.Floats([]int{1, 1, 1}, 1), optest.Floats([]int{1, 1, 1}, 1)), Outputs: 2,
			Want: values(optest.Floats([]int{1, 1, 1, 1}, 0.5), optest.Floats([]int{1, 1, 1}, 0.5))},
	)
}

// TestPastRefused: which shapes of past keys and values Attention takes.
func TestPastRefused(t *testing.T) {
	q, k, v := optest.Rand(1, 1, 2, 3, 4), optest.Rand(2, 1, 2, 5, 4), optest.Rand(3, 1, 2, 5, 6)
	for _, past := range [][2][]int{
		{{1, 2, 7}, {1, 2, 7, 6}}, {{1, 2, 7, 4}, {1, 2, 7}}, {{1, 2, 7, 4}, {1, 2, 8, 6}}, {{1, 3, 7, 4}, {1, 2, 7, 6}},
		{{1, 2, 7, 4}, {1, 3, 7, 6}}, {{1, 2, 7, 5}, {1, 2, 7, 6}}, {{1, 2, 7, 4}, {1, 2, 7, 5}},
	} {
		optest.Fails(t, optest.Case{Config: std.AttentionConfig{}, In: values(q, k, v, nil, optest.Rand(4, past[0]...), optest.Rand(5, past[1]...)), Outputs: 3, Refusal: "past_key "})
	}
	for _, c := range [][3][]int{{{1, 3, 7}, {1, 5, 8}, {1, 5, 8}}, {{1, 3, 8}, {1, 5, 7}, {1, 5, 8}}, {{1, 3, 8}, {1, 5, 8}, {1, 5, 7}}} {
		optest.Fails(t, optest.Case{Config: std.AttentionConfig{QHeads: 2, KVHeads: 2}, In: values(optest.Rand(1, c[0]...), optest.Rand(2, c[1]...), optest.Rand(3, c[2]...)), Refusal: "into 2 query heads and 2 key heads"})
	}
	for _, c := range []struct {
		q, k, v []int
		want    string
	}{
		{[]int{1, 2, 3, 4}, []int{1, 2, 5, 4}, []int{1, 2, 6, 4}, "do not fit"},
		{[]int{1, 2, 3, 4}, []int{2, 2, 5, 4}, []int{1, 2, 5, 4}, "do not fit"},
		{[]int{1, 2, 3, 4}, []int{1, 2, 5, 4}, []int{2, 2, 5, 4}, "do not fit"},
		{[]int{1, 3, 3, 4}, []int{1, 2, 5, 4}, []int{1, 2, 5, 4}, "3 query heads are no multiple of 2 key heads"},
	} {
		optest.Fails(t, optest.Case{Config: std.AttentionConfig{}, In: values(optest.Rand(1, c.q...), optest.Rand(2, c.k...), optest.Rand(3, c.v...)), Refusal: c.want})
	}
}

// TestLarge: more elements than one thread takes at a time, moved and repeated along four axes.
func TestLarge(t *testing.T) {
	shape := []int{17, 13, 11, 9}
	ramp := make([]int64, 17*13*11*9)
	for i := range ramp {
		ramp[i] = int64(i)
	}
	at := func(i, j, k, l int) int { return ((i*13+j)*11+k)*9 + l }
	var turned, sum, flat []int64
	for k := range 11 {
		for i := range 17 {
			for l := range 9 {
				for j := range 13 {
					turned = append(turned, ramp[at(i, j, k, l)])
				}
			}
		}
	}
	small := make([]int64, 13*9)
	for i := range small {
		small[i] = int64(1000 * i)
	}
	for i := range 17 {
		for j := range 13 {
			for k := range 11 {
				for l := range 9 {
					sum, flat = append(sum, ramp[at(i, j, k, l)]+small[j*9+l]), append(flat, small[j*9+l])
				}
			}
		}
	}
	// Rows of two, each the seventh after the one before of 1300, in more than one block of indices.
	const rows = 1300
	list, rowsOf, added := make([]int64, rows), make([]int64, 2*rows), make([]int64, 2*rows)
	elements := make([]int64, 2*rows) // indices of the same for each element
	for i := range rows {
		k := 7 * i % rows
		list[i], elements[2*i], elements[2*i+1] = int64(k), int64(k), int64(k)
		for j := range 2 {
			rowsOf[2*i+j], added[2*k+j] = int64(2*k+j), int64(2*k+j)+int64(2*i+j)
		}
	}
	table, picks := optest.Tensor(ramp[:2*rows], rows, 2), optest.Tensor(list, rows, 1)
	x, y := optest.Tensor(ramp, shape...), optest.Tensor(small, 13, 1, 9)
	optest.Run(t,
		optest.Case{Name: "Transpose", Config: std.TransposeConfig{Perm: []int{2, 0, 3, 1}}, In: values(x), Want: values(optest.Tensor(turned, 11, 17, 9, 13)), NoCut: "many"},
		optest.Case{Name: "Add", Config: op.Plain("Add"), In: values(x, y), Want: values(optest.Tensor(sum, shape...)), NoCut: "many"},
		optest.Case{Name: "Expand", Config: op.Plain("Expand"), In: values(y, optest.Ints(17, 13, 11, 9)), Want: values(optest.Tensor(flat, shape...)), NoCut: "many"},
		optest.Case{Name: "GatherND", Config: std.GatherNDConfig{}, In: values(table, picks), Want: values(optest.Tensor(rowsOf, rows, 2)), NoCut: "many"},
		optest.Case{Name: "GatherElements", Config: std.GatherElementsConfig{}, In: values(table, optest.Tensor(elements, rows, 2)), Want: values(optest.Tensor(rowsOf, rows, 2)), NoCut: "many"},
		optest.Case{Name: "ScatterND", Config: std.ScatterNDConfig{}, In: values(table, picks, optest.Tensor(rowsOf, rows, 2)), Want: values(table), NoCut: "many"},
		optest.Case{Name: "ScatterND, sums", Config: std.ScatterNDConfig{Reduction: "add"}, In: values(table, picks, table), Want: values(optest.Tensor(added, rows, 2)), NoCut: "many"},
		optest.Case{Name: "ScatterElements, sums", Config: std.ScatterElementsConfig{Reduction: "add"}, In: values(table, optest.Tensor(elements, rows, 2), table), Want: values(optest.Tensor(added, rows, 2)), NoCut: "many"},
		optest.Case{Name: "ScatterND of floats, sums", Config: std.ScatterNDConfig{Reduction: "add"}, In: values(optest.As(dtype.Float64, table), picks, optest.As(dtype.Float64, table)), Want: values(optest.As(dtype.Float64, optest.Tensor(added, rows, 2))), NoCut: "many", NoGrad: "many"},
		optest.Case{Name: "ScatterND, largest", Config: std.ScatterNDConfig{Reduction: "max"}, In: values(table, picks, optest.Tensor(rowsOf, rows, 2)), Want: values(table), NoCut: "many"},
	)
}

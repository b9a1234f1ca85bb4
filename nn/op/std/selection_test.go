package std_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

func TestWhere(t *testing.T) {
	cond := optest.Tensor([]bool{true, false, true}, 3)
	s, _ := dtype.NewStrings([]string{"a", "b", "c"}, 3)
	r, _ := dtype.NewStrings([]string{"z"}, 1)
	w, _ := dtype.NewStrings([]string{"a", "z", "c"}, 3)
	optest.Run(t,
		optest.Case{Name: "same", Config: op.Plain("Where"), In: []dtype.Value{cond, optest.Rand(1, 3), optest.Rand(2, 3)}},
		optest.Case{Name: "broadcast", Config: op.Plain("Where"), In: []dtype.Value{cond, optest.Rand(1, 2, 1), optest.Rand(2)}},
		optest.Case{Name: "dims", Config: op.Plain("Where"), In: []dtype.Value{cond, optest.Ints(4, 5, 6), optest.Ints(7)}, Want: []dtype.Value{optest.Ints(4, 7, 6)}},
		optest.Case{Name: "strings", Config: op.Plain("Where"), In: []dtype.Value{cond, s, r}, Want: []dtype.Value{w}},
		optest.Case{Name: "bytes", Config: op.Plain("Where"), In: []dtype.Value{cond, optest.Tensor([]uint8{1, 2, 3}, 3), optest.Tensor([]uint8{9}, 1)}, Want: []dtype.Value{optest.Tensor([]uint8{1, 9, 3}, 3)}},
	)
}

func TestClip(t *testing.T) {
	x := optest.Rand(1, 3, 5)
	lo, hi := optest.Floats(nil, -0.83), optest.Floats(nil, 0.77)
	optest.Run(t,
		optest.Case{Name: "both", Config: op.Plain("Clip"), In: []dtype.Value{x, lo, hi}},
		optest.Case{Name: "min", Config: op.Plain("Clip"), In: []dtype.Value{x, lo}},
		optest.Case{Name: "max", Config: op.Plain("Clip"), In: []dtype.Value{x, nil, hi}},
		optest.Case{Name: "none", Config: op.Plain("Clip"), In: []dtype.Value{x}},
		optest.Case{Name: "attributes", Config: std.ClipConfig{Min: ptr(float32(-0.5)), Max: ptr(float32(0.4))}, Version: 6, In: []dtype.Value{x}},
		optest.Case{Name: "integers", Config: op.Plain("Clip"), In: []dtype.Value{optest.Tensor([]int8{-9, 1, 9}, 3), optest.Tensor([]int8{-2}), optest.Tensor([]int8{3})},
			Want: []dtype.Value{optest.Tensor([]int8{-2, 1, 3}, 3)}},
	)
	optest.Fails(t, optest.Case{Config: op.Plain("Clip"), In: []dtype.Value{x, optest.Rand(1, 2)}, Refusal: "input min: want one element, got float32[2]"})
}

func TestCast(t *testing.T) {
	x := optest.Rand(1, 2, 3)
	text, _ := dtype.NewStrings([]string{"1.5", "-2", "1e3"}, 3)
	words, _ := dtype.NewStrings([]string{"1.5", "-2.0", "1000.0"}, 3)
	f := optest.Floats([]int{3}, 1.5, -2, 1000)
	optest.Run(t,
		optest.Case{Name: "double", Config: std.CastConfig{To: dtype.Float64}, In: []dtype.Value{x}},
		optest.Case{Name: "float", Config: std.CastConfig{To: dtype.Float32}, In: []dtype.Value{x}, NoGrad: "differences in float32"},
		optest.Case{Name: "ints", Config: std.CastConfig{To: dtype.Int32}, In: []dtype.Value{f}, Want: []dtype.Value{optest.Tensor([]int32{1, -2, 1000}, 3)}},
		optest.Case{Name: "bool", Config: std.CastConfig{To: dtype.Bool}, In: []dtype.Value{optest.Floats([]int{2}, 0, 3)}, Want: []dtype.Value{optest.Tensor([]bool{false, true}, 2)}},
		optest.Case{Name: "dims", Config: std.CastConfig{To: dtype.Int64}, In: []dtype.Value{optest.Ints(2, 3)}, Want: []dtype.Value{optest.Ints(2, 3)}},
		optest.Case{Name: "from text", Config: std.CastConfig{To: dtype.Float32}, In: []dtype.Value{text}, Want: []dtype.Value{f}},
		optest.Case{Name: "to text", Config: std.CastConfig{To: dtype.String}, In: []dtype.Value{f}, Want: []dtype.Value{words}},
		optest.Case{Name: "no saturation", Config: std.CastConfig{To: dtype.Float8E4M3FN, Saturate: ptr(false)}, In: []dtype.Value{optest.Floats([]int{1}, 1e6)}, NoLow: "overflows", NoGrad: "rounds",
			Want: []dtype.Value{optest.As(dtype.Float8E4M3FN, optest.Floats([]int{1}, float32(math.NaN())))}},
		optest.Case{Name: "round mode", Config: std.CastConfig{To: dtype.Float8E8M0, RoundMode: "down"}, In: []dtype.Value{optest.Floats([]int{1}, 3)}, NoGrad: "rounds",
			Want: []dtype.Value{optest.As(dtype.Float8E8M0, optest.Floats([]int{1}, 2))}},
		optest.Case{Name: "like", Config: std.CastLikeConfig{}, In: []dtype.Value{x, optest.Tensor([]float64{1}, 1)}},
	)
	optest.Fails(t, optest.Case{Config: std.CastConfig{To: 99}, In: []dtype.Value{x}, Refusal: "there is no element type 99"})
	bad, _ := dtype.NewStrings([]string{"x"}, 1)
	optest.Fails(t, optest.Case{Config: std.CastConfig{To: dtype.Float32}, In: []dtype.Value{bad}, Refusal: "element 0 is \"x\", which is not a number"})
}

func TestDropout(t *testing.T) {
	x := optest.Rand(1, 40, 50)
	on := optest.Tensor([]bool{true})
	ratio := optest.Floats(nil, 0.25)
	key := [2]uint64{3, 4}
	optest.Run(t,
		optest.Case{Name: "off", Config: op.Plain("Dropout"), In: []dtype.Value{x}, Want: []dtype.Value{x}},
		optest.Case{Name: "training", Config: op.Plain("Dropout"), In: []dtype.Value{x}, Train: true, Key: key},
		optest.Case{Name: "inputs", Config: std.DropoutConfig{Seed: ptr(5)}, Constant: []int{1}, In: []dtype.Value{x, ratio, on}, Outputs: 2, Key: key},
		optest.Case{Name: "off by input", Config: op.Plain("Dropout"), In: []dtype.Value{x, ratio, optest.Tensor([]bool{false})}, Train: true, Want: []dtype.Value{x}},
		optest.Case{Name: "attribute", Config: std.DropoutConfig{Ratio: ptr(float32(0.2))}, Version: 10, Outputs: 2, Train: true, In: []dtype.Value{x}, Key: key},
		optest.Case{Name: "numbers as mask", Config: std.DropoutConfig{IsTest: true}, Version: 6, Outputs: 2, Train: true, In: []dtype.Value{x}, Key: key},
	)
	optest.Fails(t, optest.Case{Config: std.DropoutConfig{Ratio: ptr(float32(2))}, Version: 10, Train: true, In: []dtype.Value{x}, Refusal: "ratio is 2, want a number from 0 to 1"})
}

func TestDropoutStatistics(t *testing.T) {
	x := optest.As(dtype.Float32, optest.Tensor(make([]float32, 20000), 20000))
	for i := range dtype.Slice[float32](x) {
		dtype.Slice[float32](x)[i] = 1
	}
	draw := func(key [2]uint64) []float32 {
		out, err := optest.Forward(optest.Case{Config: op.Plain("Dropout"), In: []dtype.Value{x, optest.Floats(nil, 0.3)}, Train: true, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		return dtype.Slice[float32](out[0].(*tensor.Dense))
	}
	a, b := draw([2]uint64{1, 1}), draw([2]uint64{1, 2})
	sum, equal := 0.0, 0
	for i := range a {
		sum += float64(a[i])
		if a[i] == b[i] {
			equal++
		}
	}
	if m := sum / float64(len(a)); math.Abs(m-1) > 0.02 {
		t.Errorf("mean is %v, want about 1", m)
	}
	if f := float64(equal) / float64(len(a)); math.Abs(f-0.58) > 0.02 {
		t.Errorf("two steps agree in %v of the elements, want about 0.58", f)
	}
	if fmt.Sprint(a) != fmt.Sprint(draw([2]uint64{1, 1})) {
		t.Error("the same key drew other numbers")
	}
}

// TestDropoutDraws: what is known of mode and ratio decides whether random numbers are drawn outside of training.
func TestDropoutDraws(t *testing.T) {
	yes, no := op.Known{Value: dtype.Scalar(true)}, op.Known{Value: dtype.Scalar(false)}
	none, half := op.Known{Value: dtype.Scalar(float32(0))}, op.Known{Value: dtype.Scalar(float32(0.5))}
	x, ratio, mode := op.Shaped(dtype.Float32, 2), op.Shaped(dtype.Float32), op.Shaped(dtype.Bool)
	for _, test := range []struct {
		in    []op.Type
		known []op.Known
		want  bool
	}{
		{[]op.Type{x}, []op.Known{{}}, false},
		{[]op.Type{x, ratio, mode}, []op.Known{{}, half, no}, false},
		{[]op.Type{x, ratio, mode}, []op.Known{{}, half, yes}, true},
		{[]op.Type{x, ratio, mode}, []op.Known{{}, none, yes}, false},
		{[]op.Type{x, ratio, mode}, []op.Known{{}, {}, {}}, true},
		{[]op.Type{x, {}, mode}, []op.Known{{}, {}, yes}, true},
	} {
		c, err := std.Operators().NewCall(std.DropoutConfig{}, test.in...)
		if err != nil {
			t.Fatal(err)
		}
		c.Known = test.known
		if got := c.Draws(); got != test.want {
			t.Errorf("%v with %v: draws is %v", test.in, test.known, got)
		}
	}
}

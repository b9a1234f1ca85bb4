package std_test

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
)

func TestBatchNormalization(t *testing.T) {
	args := func(shape ...int) []dtype.Value {
		n := shape[1]
		return values(optest.Rand(1, shape...), optest.Rand(2, n), optest.Rand(3, n), optest.Rand(4, n), optest.Spread(5, 0.5, 2, n))
	}
	element := values(optest.Rand(1, 4, 2, 3), optest.Rand(2, 2, 3), optest.Rand(3, 2, 3), optest.Rand(4, 2, 3), optest.Spread(5, 0.5, 2, 2, 3))
	bn := std.BatchNormalizationConfig{Epsilon: number(1e-3)}
	training := std.BatchNormalizationConfig{TrainingMode: true, Momentum: number(0.75)}
	optest.Run(t,
		optest.Case{Name: "eval", Config: bn, In: args(2, 3, 4, 2)},
		optest.Case{Name: "eval matrix", Config: bn, In: args(4, 3)},
		optest.Case{Name: "train", Config: bn, In: args(3, 2, 4), Train: true, NoCut: "statistics"},
		optest.Case{Name: "training mode", Config: training, In: args(3, 2, 4), Outputs: 3, NoGrad: "running statistics have none", NoCut: "statistics"},
		optest.Case{Name: "training mode gradient", Config: training, In: args(3, 2, 4), NoCut: "statistics"},
		optest.Case{Name: "five outputs", Config: bn, In: args(2, 3, 4), Outputs: 5, Version: 9, NoGrad: "running statistics have none", NoCut: "statistics"},
		optest.Case{Name: "five outputs in a test", Config: std.BatchNormalizationConfig{IsTest: true}, In: args(2, 3, 4), Outputs: 5, Version: 6, NoGrad: "running statistics have none"},
		optest.Case{Name: "element", Config: std.BatchNormalizationConfig{Spatial: integer(0)}, In: element, Version: 7},
		optest.Case{Name: "element train", Config: std.BatchNormalizationConfig{Spatial: integer(0), IsTest: true, ConsumedInputs: []int{0}}, In: element, Version: 1, Train: true, NoCut: "statistics"},
		optest.Case{Name: "mixed", Config: bn, In: append(values(optest.As(dtype.Float16, optest.Rand(1, 2, 3, 2))), args(2, 3)[1:]...), NoLow: "is low", NoGrad: "float16", Tol: 2e-3},
	)
	c := optest.Case{Name: "scale", Config: bn, In: args(2, 3, 4), Refusal: "input scale: want float32[3], got float32[4]"}
	c.In[1] = optest.Rand(1, 4)
	optest.Fails(t, c)
	optest.Fails(t, optest.Case{Name: "outputs", Config: bn, In: args(2, 3, 4), Outputs: 5, Refusal: "has 5 outputs, want at most 3"})
}

// A batch without elements, of vectors or of planes, leaves the running statistics as they are.
func TestBatchNormalizationOfNothing(t *testing.T) {
	two := func(a, b float32) dtype.Value { return optest.Floats([]int{2}, a, b) }
	for _, shape := range [][]int{{0, 2}, {0, 2, 3}, {3, 2, 0}} {
		in := values(optest.Floats(shape), two(1, 2), two(3, 4), two(5, 6), two(7, 8))
		optest.Run(t, optest.Case{Name: fmt.Sprint(shape), Config: std.BatchNormalizationConfig{TrainingMode: true, Momentum: number(0.75)}, In: in, Outputs: 3,
			Want: values(optest.Floats(shape), two(5, 6), two(7, 8)), NoGrad: "no elements", NoCut: "statistics"})
	}
}

// TestBatchNormalizationOutputs: before version 14 five outputs mean training, as in ONNX Runtime.
func TestBatchNormalizationOutputs(t *testing.T) {
	channel := func(x float32) dtype.Value { return optest.Floats([]int{1}, x) }
	in := values(optest.Floats([]int{2, 1}, 1, 3), channel(2), channel(5), channel(10), channel(20))
	optest.Run(t, optest.Case{Config: std.BatchNormalizationConfig{Momentum: number(0.75)}, In: in, Outputs: 5, Version: 7, NoGrad: "no", NoCut: "statistics", Tol: 1e-4,
		Want: values(optest.Floats([]int{2, 1}, 3, 7), channel(8), channel(15.25), channel(2), channel(1))})
}

func TestBatchNormalizationState(t *testing.T) {
	in := values(optest.Floats([]int{2, 1}, 1, 3), optest.Floats([]int{1}, 1), optest.Floats([]int{1}, 0), optest.Floats([]int{1}, 10), optest.Floats([]int{1}, 20))
	c := optest.Case{Config: std.BatchNormalizationConfig{TrainingMode: true, Momentum: number(0.75)}, In: in, Outputs: 3,
		Want: values(nil, optest.Floats([]int{1}, 8), optest.Floats([]int{1}, 15.25)), NoGrad: "no", NoCut: "statistics"}
	optest.Run(t, c)
	types := make([]op.Type, len(in))
	for i, v := range in {
		types[i] = op.TypeOf(v)
	}
	call := newCall(t, std.BatchNormalizationConfig{Momentum: number(0.75)}, types...)
	if s := call.Op.State(call); s != nil {
		t.Errorf("inference updates state: %v", s)
	}
	call.Train = true
	if err := call.Resolve(); err != nil {
		t.Fatal(err)
	}
	g, nodes, args := gorgonia.NewGraph(), make(gorgonia.Nodes, len(in)), make([]gorgonia.Value, len(in))
	for i, v := range in {
		var err error
		if nodes[i], err = op.Input(g, string(rune('a'+i)), types[i], v); err != nil {
			t.Fatal(err)
		}
		args[i] = v
	}
	out, err := op.Emit(g, call, nodes)
	if err != nil {
		t.Fatal(err)
	}
	for i, u := range call.Op.State(call) {
		next, err := op.Sibling(out[0], u.Out)
		if err != nil {
			t.Fatal(err)
		}
		got, err := next.Op().Do(args...)
		if err != nil {
			t.Fatal(err)
		}
		if want := c.Want[i+1]; optest.Compare(got.(dtype.Value), want, 1e-6) != nil || u.In != i+3 {
			t.Errorf("next value of input %d is %v, want %v", u.In, got, want)
		}
	}
}

package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
)

func TestUnary(t *testing.T) {
	domains := map[string][2]float64{ // where it is not −2 … 2
		"Sqrt": {0.2, 4}, "Log": {0.2, 4}, "Acosh": {1.2, 4}, "Asin": {-0.9, 0.9}, "Acos": {-0.9, 0.9},
		"Atanh": {-0.9, 0.9}, "Tan": {-1.2, 1.2}, "HardSwish": {-4.3, 4.4}, "Reciprocal": {0.3, 2},
	}
	for _, name := range []string{
		"Abs", "Neg", "Reciprocal", "Sqrt", "Exp", "Log", "Erf", "Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "Mish", "HardSwish",
		"Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Sign", "Ceil", "Floor", "Round", "Identity", "IsNaN", "IsInf",
	} {
		x := optest.Rand(3, 2, 3, 4)
		if d, ok := domains[name]; ok {
			x = optest.Spread(3, d[0], d[1], 2, 3, 4)
		}
		c := optest.Case{Name: name, Config: op.Plain(name), In: []dtype.Value{x}}
		switch name {
		case "Ceil", "Floor", "Round":
			c.NoLow = "steps"
		}
		optest.Run(t, c)
	}
}

func TestUnaryShapes(t *testing.T) {
	for _, shape := range [][]int{{}, {0, 3}, {1}, {5000}} {
		optest.Run(t, optest.Case{Config: op.Plain("Sigmoid"), In: []dtype.Value{optest.Rand(1, shape...)}},
			optest.Case{Config: op.Plain("Softsign"), In: []dtype.Value{optest.Rand(1, shape...)}})
	}
}

func TestUnaryIntegers(t *testing.T) {
	i8 := func(v ...int8) dtype.Value { return optest.Tensor(v, len(v)) }
	u64 := func(v ...uint64) dtype.Value { return optest.Tensor(v, len(v)) }
	optest.Run(t,
		optest.Case{Config: op.Plain("Abs"), In: []dtype.Value{i8(-3, 4, -128)}, Want: []dtype.Value{i8(3, 4, -128)}},
		optest.Case{Config: op.Plain("Neg"), In: []dtype.Value{i8(-3, 4, -128)}, Want: []dtype.Value{i8(3, -4, -128)}},
		optest.Case{Config: op.Plain("Relu"), In: []dtype.Value{i8(-3, 4)}, Want: []dtype.Value{i8(0, 4)}},
		optest.Case{Config: op.Plain("Sign"), In: []dtype.Value{i8(-3, 0, 4)}, Want: []dtype.Value{i8(-1, 0, 1)}},
		optest.Case{Config: op.Plain("Abs"), In: []dtype.Value{u64(1<<63 + 5)}, Want: []dtype.Value{u64(1<<63 + 5)}},
		optest.Case{Config: op.Plain("Sign"), In: []dtype.Value{u64(1<<63+5, 0)}, Want: []dtype.Value{u64(1, 0)}},
		optest.Case{Config: op.Plain("BitwiseNot"), In: []dtype.Value{u64(0)}, Want: []dtype.Value{u64(1<<64 - 1)}},
		optest.Case{Config: op.Plain("Identity"), In: []dtype.Value{i8(1, 2)}, Want: []dtype.Value{i8(1, 2)}},
		optest.Case{Config: op.Plain("Not"), In: []dtype.Value{optest.Tensor([]bool{true, false}, 2)}, Want: []dtype.Value{optest.Tensor([]bool{false, true}, 2)}},
	)
}

func TestIdentityOfStrings(t *testing.T) {
	s, err := dtype.NewStrings([]string{"a", "b"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	optest.Run(t, optest.Case{Config: op.Plain("Identity"), In: []dtype.Value{s}, Want: []dtype.Value{s}})
}

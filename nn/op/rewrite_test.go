package op_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// TestTerms is what a matcher asks terms about.
func TestTerms(t *testing.T) {
	x := op.Anything("x")
	add, join := op.On(op.Plain("Add"), x, op.Num(0.5)), op.OnEach(op.Plain("Concat"), x)
	if got := op.Either(add, op.Either(join, add)).Roots(); !slices.Equal(got, []op.Name{{Name: "Add"}, {Name: "Concat"}}) {
		t.Errorf("a match ends in %v", got)
	}
	for _, test := range []struct {
		term   op.Term
		inputs int
		want   int
		ok     bool
	}{{add, 1, 2, false}, {add, 2, 2, true}, {add, 3, 2, true}, {join, 0, 0, false}, {join, 3, 3, true}} {
		if in, ok := test.term.Inputs(test.inputs); len(in) != test.want || ok != test.ok {
			t.Errorf("of %d inputs: %d terms, %v", test.inputs, len(in), ok)
		}
	}
	half, any := op.Num(0.1), op.AnyNumber("k")
	for _, test := range []struct {
		term op.Term
		x    float64
		d    op.DType
		want bool
	}{
		{half, float64(float32(0.1)), dtype.Float32, true}, {half, 0.10001, dtype.Float32, false},
		{half, 0.1003, dtype.Float16, true}, {half, 0.11, dtype.Float16, false}, {any, 7, dtype.Float32, true},
		{op.Num(0), 0, dtype.Float32, true}, {op.Num(0), 1e-30, dtype.Float32, false},
	} {
		if got := test.term.Admits(test.x, test.d); got != test.want {
			t.Errorf("%v of %v admits %v: %v", test.term, test.d, test.x, got)
		}
	}
	if _, ok := x.Operator(); ok || x.IsNumber() || !any.IsNumber() || any.Name() != "k" || add.Shared() || !add.AlsoRead().Shared() {
		t.Error("terms are not what they were made as")
	}
}

// TestSourceNumber: a number is one element of a vector at most.
func TestSourceNumber(t *testing.T) {
	matrix, err := dtype.FromSlice([]float32{3}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := dtype.FromSlice([]float32{3, 3}, 2)
	if err != nil {
		t.Fatal(err)
	}
	vector, err := dtype.FromSlice([]float32{3}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []dtype.Value{dtype.Scalar(float32(3)), vector} {
		if x, ok := op.Constant(v).Number(); x != 3 || !ok {
			t.Errorf("%v is %v, %v", op.TypeOf(v), x, ok)
		}
	}
	for _, s := range []op.Source{op.Constant(matrix), op.Constant(pair), {}, {Type: op.Shaped(dtype.Float32), Ref: 1}} {
		if x, ok := s.Number(); ok {
			t.Errorf("%v is the number %v", s.Type, x)
		}
	}
}

package std_test

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// operand is an input of shape arithmetic: its type and what is known of its value.
type operand struct {
	typ   op.Type
	known op.Known
}

// sym returns an int64 vector of which dimensions are known.
func sym(dims ...string) operand {
	list := make([]op.Dim, len(dims))
	for i, s := range dims {
		var err error
		if list[i], err = op.ParseDim(s); err != nil {
			panic(err)
		}
	}
	return operand{op.Shaped(dtype.Int64, len(dims)), op.Known{Dims: list}}
}

// single is sym for one number of rank 0.
func single(dim string) operand {
	o := sym(dim)
	o.typ = op.Shaped(dtype.Int64)
	return o
}

// value returns an input of which all is known.
func value(v *tensor.Dense) operand { return operand{op.TypeOf(v), op.Known{Value: v}} }

// unknown returns an input of which nothing but its type is.
func unknown(t op.Type) operand { return operand{typ: t} }

// exact are operands in which -1 is a number.
func exact(o operand) operand { o.known.Exact = true; return o }

// of are operands of another type.
func of(t op.DType, o operand) operand { o.typ.DType = t; return o }

// TestShapeArithmetic checks shape arithmetic on partly symbolic dimensions, as exporters write it,
// and whether a -1 in the result is a number (false if not stated). "" stands for an unknown value.
func TestShapeArithmetic(t *testing.T) {
	ints := func(n ...int64) operand { return value(optest.Ints(n...)) }
	null := unknown(op.Shaped(dtype.Int64, 2))
	matrix := unknown(op.Shaped(dtype.Int64, 2, 2))
	cond := func(b ...bool) operand { return value(optest.Tensor(b, len(b))) }
	for _, c := range []struct {
		config op.Config
		in     []operand
		want   string
	}{
		{op.Plain("Add"), []operand{sym("N", "3"), sym("2", "M")}, "[N+2 M+3]"},
		{op.Plain("Add"), []operand{sym("N", "3"), single("2")}, "[N+2 5]"},
		{op.Plain("Add"), []operand{single("2"), sym("N", "3")}, "[N+2 5]"},
		{op.Plain("Add"), []operand{sym("N", "3"), ints(-1)}, "[N-1 2]"},
		{op.Plain("Add"), []operand{sym("N", "3"), ints(0)}, "[N 3]"},
		{op.Plain("Add"), []operand{sym("N", "?"), sym("1")}, ""},
		{op.Plain("Add"), []operand{sym("1"), sym("N", "?")}, ""},
		{op.Plain("Add"), []operand{null, sym("1")}, ""},
		{op.Plain("Add"), []operand{sym("1"), null}, ""},
		{op.Plain("Add"), []operand{of(dtype.Int32, sym("N")), of(dtype.Int32, sym("1"))}, "[N+1]"},
		{op.Plain("Add"), []operand{of(dtype.Int8, sym("N")), of(dtype.Int8, sym("1"))}, ""},
		{op.Plain("Add"), []operand{sym(), single("1")}, "[]"},
		{op.Plain("Sub"), []operand{sym("N", "M"), sym("2", "M")}, "[N-2 0]"},
		{op.Plain("Sub"), []operand{sym("N"), ints(-1)}, ""},
		{op.Plain("Mul"), []operand{sym("N", "4"), single("2")}, "[2*N 8]"},
		{op.Plain("Mul"), []operand{sym("N", "0"), sym("N", "7")}, "[N*N 0]"},
		{op.Plain("Div"), []operand{sym("N", "7", "4*M"), single("2")}, "[floor(N,2) 3 2*M]"},
		{op.Plain("Max"), []operand{sym("3", "2"), sym("2", "5")}, "[3 5]"},
		{op.Plain("Max"), []operand{sym("3"), sym("2", "5")}, ""},
		{op.Plain("Max"), []operand{sym("3", "2"), sym("2", "5"), sym("1", "9")}, "[3 9]"},
		{op.Plain("Max"), []operand{sym("3", "2"), null}, ""},
		{op.Plain("Max"), []operand{null, sym("3", "2")}, ""},
		{op.Plain("Min"), []operand{sym("3", "2"), sym("2", "5")}, "[2 2]"},

		{std.ConcatConfig{}, []operand{sym("N"), sym("3", "?"), ints(-1)}, "[N 3 ? ?] false"},
		{std.ConcatConfig{}, []operand{sym("N"), ints(-1)}, "[N ?] true"},
		{std.ConcatConfig{}, []operand{sym("N"), null}, ""},
		{op.Plain("Identity"), []operand{exact(sym("N", "?"))}, "[N ?] true"},
		{std.CastConfig{To: dtype.Int32}, []operand{sym("N", "2")}, "[N 2] true"},
		{std.CastConfig{To: dtype.Int64}, []operand{exact(sym("?"))}, "[?] true"},
		{std.CastConfig{To: dtype.Float32}, []operand{sym("N", "2")}, ""},
		{std.CastConfig{To: dtype.Int8}, []operand{sym("N", "2")}, ""},
		{std.CastConfig{To: dtype.Int64}, []operand{null}, ""},
		{op.Plain("Unsqueeze"), []operand{single("N"), ints(0)}, "[N] true"},
		{op.Plain("Unsqueeze"), []operand{sym("N", "M"), ints(0)}, ""},
		{op.Plain("Squeeze"), []operand{sym("N"), ints(0)}, "[N] true"},
		{op.Plain("Reshape"), []operand{single("N"), ints(1)}, "[N] true"},
		{op.Plain("Reshape"), []operand{sym("N", "2"), ints(-1)}, "[N 2] true"},
		{op.Plain("Reshape"), []operand{sym("N", "2"), ints(1, 2)}, ""},
		{op.Plain("Transpose"), []operand{sym("N", "2")}, "[N 2] true"},
		{op.Plain("Transpose"), []operand{matrix}, ""},

		{op.Plain("Gather"), []operand{sym("N", "3", "M"), ints(2, 0, -2)}, "[M N 3]"},
		{op.Plain("Gather"), []operand{sym("N", "3", "M"), ints(-3)}, "[N]"},
		{op.Plain("Gather"), []operand{sym("N", "3", "M"), single("1")}, "[3]"},
		{op.Plain("Gather"), []operand{sym("N", "3", "M"), ints(3)}, ""},
		{op.Plain("Gather"), []operand{sym("N", "3", "M"), ints(-4)}, ""},
		{op.Plain("Gather"), []operand{sym("N", "3", "M"), unknown(op.Shaped(dtype.Int64, 1))}, ""},
		{op.Plain("Gather"), []operand{null, ints(0)}, ""},
		{op.Plain("Gather"), []operand{matrix, ints(0)}, ""},
		{op.Plain("Gather"), []operand{sym("N", "3"), value(optest.Tensor([]int64{0, 1}, 1, 2))}, ""},
		{op.Plain("Slice"), []operand{sym("N", "3", "M"), ints(1), ints(1 << 40)}, "[3 M]"},
		{op.Plain("Slice"), []operand{sym("N", "3", "M"), ints(-1), ints(-4), ints(0), ints(-1)}, "[M 3 N]"},
		{op.Plain("Slice"), []operand{sym("N", "3", "M", "4"), ints(1), ints(4), ints(0), ints(2)}, "[3 4]"},
		{op.Plain("Slice"), []operand{sym("N", "3"), ints(2), ints(2)}, "[]"},
		{op.Plain("Slice"), []operand{sym("N", "3"), sym("K"), ints(2)}, ""},
		{op.Plain("Slice"), []operand{null, ints(0), ints(1)}, ""},
		{op.Plain("Slice"), []operand{matrix, ints(0), ints(1)}, ""},

		{op.Plain("Shape"), []operand{unknown(op.T(dtype.Float32, op.Sym("N"), op.D(3)))}, "[N 3]"},
		{op.Plain("Shape"), []operand{unknown(op.T(dtype.Float32, op.Sym("N"), op.Unknown()))}, ""},
		{op.Plain("Shape"), []operand{unknown(op.Type{DType: dtype.Float32, Unranked: true})}, ""},
		{std.ShapeConfig{Start: -2}, []operand{unknown(op.T(dtype.Float32, op.Unknown(), op.Sym("N"), op.D(3)))}, "[N 3]"},
		{op.Plain("Size"), []operand{unknown(op.T(dtype.Float32, op.Sym("N"), op.D(3)))}, "[3*N]"},
		{op.Plain("Size"), []operand{unknown(op.T(dtype.Float32, op.Unknown(), op.D(3)))}, ""},

		{op.Plain("ReduceProd"), []operand{sym("N", "3", "N")}, "[3*N*N]"},
		{op.Plain("ReduceSum"), []operand{sym("N", "3", "N")}, "[2*N+3]"},
		{op.Plain("ReduceMax"), []operand{sym("7", "3")}, "[7]"},
		{op.Plain("ReduceMin"), []operand{sym("7", "3", "4")}, "[3]"},
		{op.Plain("ReduceMean"), []operand{sym("7", "3")}, ""},
		{op.Plain("ReduceProd"), []operand{null}, ""},
		{op.Plain("ReduceProd"), []operand{matrix}, ""},

		{op.Plain("Range"), []operand{single("2"), single("9"), single("3")}, "[2 5 8]"},
		{op.Plain("Range"), []operand{single("0"), single("64"), single("16")}, "[0 16 32 48]"},
		{op.Plain("Range"), []operand{single("0"), single("N"), single("1")}, ""},
		{op.Plain("Range"), []operand{single("0"), single("65"), single("1")}, ""},
		{op.Plain("ConstantOfShape"), []operand{ints(2)}, ""}, // floats
		{std.ConstantOfShapeConfig{Value: optest.Ints(7)}, []operand{ints(3)}, "[7 7 7]"},
		{std.ConstantOfShapeConfig{Value: optest.Ints(7)}, []operand{sym()}, "[7]"},
		{std.ConstantOfShapeConfig{Value: optest.Ints(-1)}, []operand{ints(2)}, "int64[2] [-1 -1]"},
		{std.ConstantOfShapeConfig{Value: optest.Ints(7)}, []operand{sym("N")}, ""},
		{std.ConstantOfShapeConfig{Value: optest.Ints(7)}, []operand{ints(65)}, ""},
		{std.ConstantOfShapeConfig{Value: optest.Ints(7)}, []operand{ints(1, 2)}, ""},
		{op.Plain("Expand"), []operand{sym("N"), ints(3)}, "[N N N]"},
		{op.Plain("Expand"), []operand{single("N"), ints(2)}, "[N N]"},
		{op.Plain("Expand"), []operand{sym("N", "2"), ints(1)}, "[N 2] true"},
		{op.Plain("Expand"), []operand{sym("N"), ints(65)}, ""},
		{op.Plain("Expand"), []operand{sym("N"), ints(2, 1)}, ""},
		{op.Plain("Where"), []operand{cond(true, false), sym("N", "2"), sym("3", "M")}, "[N M]"},
		{op.Plain("Where"), []operand{cond(false), sym("N", "2"), single("4")}, "[4 4]"},
		{op.Plain("Where"), []operand{cond(true, false, true), single("N"), sym("1", "2", "3")}, "[N 2 N]"},
		{op.Plain("Where"), []operand{unknown(op.Shaped(dtype.Bool, 2)), sym("N", "2"), sym("3", "M")}, ""},
		{op.Plain("Where"), []operand{cond(true, false), null, sym("3", "M")}, ""},
		{op.Plain("Where"), []operand{cond(true, false), sym("3", "M"), null}, ""},
		{op.Plain("Equal"), []operand{sym("N", "3"), sym("N", "4")}, "bool[2] [true false]"},
		{op.Plain("Equal"), []operand{sym("N", "3"), ints(-1)}, "bool[2] [false false]"},
		{op.Plain("Equal"), []operand{ints(-1), sym("N", "3")}, "bool[2] [false false]"},
		{op.Plain("Equal"), []operand{single("3"), single("3")}, "bool[] true"},
		{op.Plain("Equal"), []operand{sym("N-1"), ints(-1)}, ""},
		{op.Plain("Equal"), []operand{sym("N"), ints(1)}, ""},
		{op.Plain("Equal"), []operand{sym("?"), ints(-1)}, ""},
		{op.Plain("Equal"), []operand{exact(sym("?")), ints(-1)}, "bool[1] [true]"},
		{op.Plain("Equal"), []operand{null, sym("1", "2")}, ""},
	} {
		types := make([]op.Type, len(c.in))
		for i, o := range c.in {
			types[i] = o.typ
		}
		call := newCall(t, c.config, types...)
		for i, o := range c.in {
			call.Known[i] = o.known
		}
		if err := call.Resolve(); err != nil {
			if _, needs := op.Needs(err); !needs && c.want != "" {
				t.Errorf("%v: %v", c.config, err)
				continue
			}
		}
		if got := written(call.Op.Dims(call)); got != c.want && got != c.want+" false" {
			t.Errorf("%v of %v: got %q, want %q", c.config, c.in, got, c.want)
		}
	}
}

func written(k []op.Known) string {
	switch {
	case len(k) == 0:
		return ""
	case k[0].Value != nil && (k[0].Dims == nil || k[0].Dims[0] == op.Unknown()):
		v := k[0].Value.(*tensor.Dense)
		return fmt.Sprintf("%v %v", op.TypeOf(v), v.Data())
	}
	return fmt.Sprintf("%v %v", k[0].Dims, k[0].Exact)
}

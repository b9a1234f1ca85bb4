package conformance_test

import (
	"math"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// arithmeticSweeps: element by element, with broadcasting, and products of matrices.
var arithmeticSweeps = map[string]func(r *draw) trial{
	"Add":                binary("Add", 7, 13, 14),
	"Sub":                binary("Sub", 7, 13, 14),
	"Mul":                binary("Mul", 7, 13, 14),
	"Div":                division,
	"Mod":                modulo,
	"Pow":                power,
	"Max":                variadic("Max"),
	"Min":                variadic("Min"),
	"Sum":                variadic("Sum"),
	"Mean":               variadic("Mean"),
	"Equal":              binary("Equal", 7, 11, 13, 19),
	"Less":               binary("Less", 7, 9, 13),
	"Greater":            binary("Greater", 7, 9, 13),
	"LessOrEqual":        binary("LessOrEqual", 12, 16),
	"GreaterOrEqual":     binary("GreaterOrEqual", 12, 16),
	"And":                logical("And"),
	"Or":                 logical("Or"),
	"Xor":                logical("Xor"),
	"BitwiseAnd":         bitwise("BitwiseAnd"),
	"BitwiseOr":          bitwise("BitwiseOr"),
	"BitwiseXor":         bitwise("BitwiseXor"),
	"BitShift":           shift,
	"Where":              choose,
	"Expand":             expand,
	"PRelu":              prelu,
	"Clip":               clip,
	"Cast":               cast,
	"MatMul":             product,
	"MatMulInteger":      integerProduct,
	"Gemm":               gemm,
	"Einsum":             einsum,
	"unary":              unary,
	"activations":        activations,
	"IsInf":              infinite,
	"Range":              ranges,
	"DepthToSpace":       blocks,
	"Det":                determinant,
	"HardSwish and Mish": smooth,
}

// pair draws two shapes that broadcast, perhaps with an empty axis.
func pair(r *draw) (a, b []int) {
	full := r.maybeEmpty(r.between(0, 4), 1, 4)
	a, b = narrowed(r, full), narrowed(r, full)
	if r.flag() {
		a = full
	}
	return a, b
}

// narrowed draws a shape that broadcasts to full.
func narrowed(r *draw, full []int) []int {
	s := append([]int{}, full[r.between(0, len(full)):]...)
	for i := range s {
		if r.rarely(3) {
			s[i] = 1
		}
	}
	return s
}

// of draws numbers of a type that arithmetic takes.
func (r *draw) of(t dtype.DType, shape ...int) dtype.Value {
	if r.special && t != dtype.Float32 {
		return r.extremes(t, shape...)
	}
	switch t {
	case dtype.Float32:
		return r.floats(shape...)
	case dtype.Uint8, dtype.Uint32, dtype.Uint64:
		return r.numbers(t, 0, 200, shape...)
	case dtype.Bool:
		return r.bools(shape...)
	}
	return r.numbers(t, -100, 100, shape...)
}

// extremes draws numbers of a type, its smallest and largest among them.
func (r *draw) extremes(t dtype.DType, shape ...int) dtype.Value {
	v := dtype.New(t, shape...)
	if t == dtype.Float64 || t == dtype.Float16 || t == dtype.BFloat16 {
		must(v, dtype.Convert(v, r.floats(shape...).(*tensor.Dense)))
		return v
	}
	b := dtype.Bytes(v)
	size := t.Bits() / 8
	for i := 0; i+size <= len(b); i += size {
		e := b[i : i+size]
		switch e[0] = byte(r.IntN(9)); {
		case t == dtype.Bool:
			e[0] &= 1
		case r.rarely(3): // −1, the largest of the unsigned ones
			for k := range e {
				e[k] = 255
			}
		case r.rarely(2): // the smallest, or half of the range
			e[0], e[size-1] = 0, 128
		case r.rarely(2): // the largest, by the sign
			for k := range e {
				e[k] = 255
			}
			e[size-1] = 127
		}
	}
	return v
}

func binary(name string, opsets ...int) func(r *draw) trial {
	return func(r *draw) trial {
		t := pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64, dtype.Uint64, dtype.Int8, dtype.Uint8)
		a, b := pair(r)
		return trial{op: name, opset: pick(r, opsets...), in: r.with(fed(r.of(t, a...)), r.of(t, b...))}
	}
}

func division(r *draw) trial {
	t := pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64)
	a, b := pair(r)
	divisor := r.numbers(t, 1, 7, b...)
	if r.flag() && t != dtype.Float32 {
		divisor = r.numbers(t, -9, -1, b...)
	}
	return trial{op: "Div", opset: pick(r, 7, 13, 14), in: r.with(fed(r.of(t, a...)), divisor)}
}

func modulo(r *draw) trial {
	t := pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64, dtype.Int8, dtype.Uint8, dtype.Int16)
	a, b := pair(r)
	divisor := r.numbers(t, 1, 7, b...)
	if r.flag() && t != dtype.Uint8 {
		divisor = r.numbers(t, -9, -1, b...)
	}
	attrs := map[string]any{}
	if t == dtype.Float32 || t == dtype.Float64 || r.flag() {
		attrs["fmod"] = 1
	}
	return trial{op: "Mod", opset: pick(r, 10, 13), attrs: attrs, in: r.with(fed(r.of(t, a...)), divisor)}
}

func power(r *draw) trial {
	t, u := pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64), pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64)
	opset := pick(r, 7, 12, 13, 15)
	if opset == 7 {
		u = t
	}
	a, b := pair(r)
	return trial{op: "Pow", opset: opset, in: r.with(fed(r.numbers(t, 1, 9, a...)), r.numbers(u, 0, 3, b...)), rtol: 1e-3}
}

func variadic(name string) func(r *draw) trial {
	return func(r *draw) trial {
		t := pick(r, dtype.Float32, dtype.Float64)
		if name == "Max" || name == "Min" {
			t = pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64, dtype.Uint32, dtype.Int8, dtype.Uint8)
		}
		full, v := r.maybeEmpty(r.between(0, 4), 1, 4), []dtype.Value(nil)
		for range r.between(1, 4) {
			v = append(v, r.of(t, narrowed(r, full)...))
		}
		return trial{op: name, opset: pick(r, 8, 12, 13), in: r.with(nil, v...)[:len(v)]}
	}
}

func logical(name string) func(r *draw) trial {
	return func(r *draw) trial {
		a, b := pair(r)
		return trial{op: name, opset: 7, in: fed(r.bools(a...), r.bools(b...))}
	}
}

func bitwise(name string) func(r *draw) trial {
	return func(r *draw) trial {
		t := pick(r, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64)
		a, b := pair(r)
		return trial{op: name, opset: 18, in: fed(r.numbers(t, 0, 100, a...), r.numbers(t, 0, 100, b...))}
	}
}

func shift(r *draw) trial {
	t := pick(r, dtype.Uint8, dtype.Uint32, dtype.Uint64)
	a, b := pair(r)
	return trial{op: "BitShift", opset: 11, attrs: map[string]any{"direction": pick(r, "LEFT", "RIGHT")}, in: fed(r.numbers(t, 0, 200, a...), r.numbers(t, 0, 7, b...))}
}

func choose(r *draw) trial {
	a, b := pair(r)
	c, _ := pair(r)
	if r.flag() {
		c = a
	}
	if r.flag() {
		c = b
	}
	v := r.any(a...)
	w := r.likeType(v, b...)
	return trial{op: "Where", opset: pick(r, 9, 16), in: fed(r.bools(c...), v, w)}
}

// likeType draws a tensor of the element type of v.
func (r *draw) likeType(v dtype.Value, shape ...int) dtype.Value {
	switch t := dtype.DTypeOf(v); t {
	case dtype.Float32:
		return r.floats(shape...)
	case dtype.Bool:
		return r.bools(shape...)
	case dtype.String:
		return r.words(shape...)
	default:
		return r.numbers(t, 0, 9, shape...)
	}
}

func expand(r *draw) trial {
	a, b := pair(r)
	return trial{op: "Expand", opset: pick(r, 8, 13), in: r.with(fed(r.any(a...)), ints(b...))}
}

func prelu(r *draw) trial {
	full := r.shape(r.between(1, 4), 1, 4)
	slope := append([]int{}, full[r.between(0, len(full)):]...)
	for i := range slope {
		if r.rarely(3) {
			slope[i] = 1
		}
	}
	return trial{op: "PRelu", opset: pick(r, 7, 9, 16), in: r.with(fed(r.floats(full...)), r.floats(slope...))}
}

func clip(r *draw) trial {
	opset := pick(r, 6, 11, 12, 13)
	x := r.maybeEmpty(r.between(0, 3), 1, 4)
	if opset == 6 {
		attrs := map[string]any{}
		if r.flag() {
			attrs["min"] = -1.0
		}
		if r.flag() {
			attrs["max"] = float64(r.Float32()*4 - 2)
		}
		return trial{op: "Clip", opset: opset, attrs: attrs, in: fed(r.floats(x...))}
	}
	t := pick(r, dtype.Float32, dtype.Float64, dtype.Int8, dtype.Uint8, dtype.Int32, dtype.Int64, dtype.Uint64)
	if opset == 11 {
		t = dtype.Float32
	}
	a := fed(r.of(t, x...))
	lo, hi := argument{}, argument{}
	if r.flag() {
		lo = argument{r.numbers(t, 0, 5), r.flag()}
	}
	if r.flag() {
		hi = argument{r.numbers(t, 0, 50), r.flag()}
	}
	return trial{op: "Clip", opset: opset, in: append(a, lo, hi)}
}

func cast(r *draw) trial {
	kinds := []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64, dtype.Bool}
	to := pick(r, kinds...)
	x := r.maybeEmpty(r.between(0, 3), 1, 4)
	v := r.of(pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64, dtype.Uint8, dtype.Bool), x...)
	if to == dtype.Uint8 || to == dtype.Uint16 || to == dtype.Uint32 || to == dtype.Uint64 {
		v = r.numbers(pick(r, dtype.Float32, dtype.Int32, dtype.Uint8), 0, 100, x...)
	}
	if r.rarely(6) {
		return trial{op: "Cast", opset: pick(r, 9, 13), attrs: map[string]any{"to": int(pick(r, dtype.Float32, dtype.Int64, dtype.Float64))},
			in: fed(must(dtype.NewStrings([]string{pick(r, "1.5", "-3", "12"), pick(r, "7", "123456", "0")}, 2)))}
	}
	return trial{op: "Cast", opset: pick(r, 6, 9, 13, 19, 21), attrs: map[string]any{"to": int(to)}, in: fed(v)}
}

func product(r *draw) trial {
	m, k, n := r.between(1, 5), r.between(1, 5), r.between(1, 5)
	if r.rarely(8) { // a sum of no products is not always zero in ONNX Runtime
		*pick(r, &m, &n) = 0
	}
	a, b := pair(r)
	sa, sb := append(append([]int{}, a...), m, k), append(append([]int{}, b...), k, n)
	switch r.IntN(5) {
	case 0:
		sa = []int{k}
	case 1:
		sb = []int{k}
	}
	t := pick(r, dtype.Float32, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64)
	return trial{op: "MatMul", opset: pick(r, 9, 13), in: r.with(fed(r.of(t, sa...)), r.of(t, sb...))}
}

func integerProduct(r *draw) trial {
	m, k, n := r.between(1, 5), r.between(1, 5), r.between(1, 5)
	a := fed(r.numbers(dtype.Uint8, 0, 255, m, k), r.numbers(pick(r, dtype.Uint8, dtype.Int8), 0, 127, k, n))
	if r.flag() {
		a = append(a, argument{scalar(uint8(r.IntN(255))), true})
		if r.flag() {
			zero := r.likeType(a[1].value)
			if r.flag() {
				zero = r.likeType(a[1].value, n)
			}
			a = append(a, argument{zero, true})
		}
	}
	return trial{op: "MatMulInteger", opset: 10, in: a}
}

func gemm(r *draw) trial {
	m, k, n := r.between(1, 5), r.between(1, 5), r.between(1, 5)
	if r.rarely(8) {
		*pick(r, &m, &n) = 0
	}
	a, b, attrs := []int{m, k}, []int{k, n}, map[string]any{}
	if r.flag() {
		a, attrs["transA"] = []int{k, m}, 1
	}
	if r.flag() {
		b, attrs["transB"] = []int{n, k}, 1
	}
	if r.flag() {
		attrs["alpha"] = pick(r, 0, 0.5, 2)
	}
	if r.flag() {
		attrs["beta"] = pick(r, 0, 0.5, 2)
	}
	in := r.with(fed(r.floats(a...)), r.floats(b...))
	opset := pick(r, 7, 9, 11, 13)
	if opset < 11 || r.flag() {
		in = r.with(in, r.floats(pick(r, []int{n}, []int{m, n}, []int{1, n}, []int{m, 1}, []int{1}, []int{})...))
	}
	return trial{op: "Gemm", opset: opset, attrs: attrs, in: in}
}

func einsum(r *draw) trial {
	sizes := map[rune]int{'i': r.between(1, 4), 'j': r.between(1, 4), 'k': r.between(1, 4), 'b': r.between(1, 3)}
	equation := pick(r, "ij,jk->ik", "ij,jk", "bij,bjk->bik", "...ij,...jk->...ik", "ij->ji", "ii->i", "ii", "ij->", "ij,ij->", "i,j->ij",
		"bij,bkj->bik", "i j , j k -> k i", "ij,jk,ki->", "...i->...", "b...->...b", "bii->bi", "ij,j->i", "bi,bj,bk->ijk", "ij...->ji...")
	var in []argument
	terms := equation
	for i, c := range equation {
		if c == '-' {
			terms = equation[:i]
			break
		}
	}
	var shape []int
	for i := 0; i <= len(terms); i++ {
		if i == len(terms) || terms[i] == ',' {
			in = append(in, argument{value: r.floats(shape...)})
			shape = nil
			continue
		}
		switch c := rune(terms[i]); {
		case c == '.':
			shape, i = append(shape, 2, 3), i+2
		case sizes[c] > 0:
			shape = append(shape, sizes[c])
		}
	}
	return trial{op: "Einsum", opset: 12, attrs: map[string]any{"equation": equation}, in: in, atol: 1e-4}
}

func unary(r *draw) trial {
	name := pick(r, "Abs", "Neg", "Ceil", "Floor", "Exp", "Sigmoid", "Tanh", "Erf", "Sign", "Round", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "Softplus", "Softsign", "Relu", "Reciprocal", "IsNaN", "Sqrt", "Log", "Acos", "Asin", "Acosh", "Atanh", "Not", "BitwiseNot")
	x := r.maybeEmpty(r.between(0, 4), 1, 5)
	v := r.floats(x...)
	switch name {
	case "Abs", "Neg", "Sign", "Relu":
		v = r.of(pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64, dtype.Int8), x...)
	case "Not":
		v = r.bools(x...)
	case "BitwiseNot":
		v = r.numbers(pick(r, dtype.Int8, dtype.Uint8, dtype.Int64, dtype.Uint32), 0, 99, x...)
	}
	opset := pick(r, 9, 13, 17)
	if name == "BitwiseNot" || r.flag() {
		opset = pick(r, 18, 22)
	}
	if name == "Round" {
		opset = max(opset, 11)
	}
	if name == "Relu" && dtype.DTypeOf(v).IsInteger() {
		opset = max(opset, 14)
	}
	return trial{op: name, opset: opset, in: fed(v)}
}

func activations(r *draw) trial {
	name := pick(r, "Elu", "Selu", "LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Celu", "Shrink", "Gelu")
	attrs := map[string]any{}
	maybe := func(key string, v float64) {
		if r.flag() {
			attrs[key] = v
		}
	}
	switch name {
	case "Selu":
		maybe("alpha", 1.2)
		maybe("gamma", 0)
	case "HardSigmoid":
		maybe("alpha", 0.5)
		maybe("beta", 0)
	case "Shrink":
		maybe("lambd", 0)
		maybe("bias", 0.25)
	case "Gelu":
		if r.flag() {
			attrs["approximate"] = pick(r, "none", "tanh")
		}
	case "Celu":
		maybe("alpha", 0.3)
	default:
		maybe("alpha", pick(r, 0, 0.3, -1))
	}
	opset := pick(r, 12, 13, 16, 20, 22)
	if name == "Gelu" {
		opset = 20
	}
	return trial{op: name, opset: opset, attrs: attrs, in: fed(r.floats(r.maybeEmpty(r.between(0, 3), 1, 5)...)), rtol: 1e-3}
}

func smooth(r *draw) trial {
	if r.flag() {
		return trial{op: "Mish", opset: pick(r, 18, 22), in: fed(r.floats(r.shape(2, 1, 5)...))}
	}
	return trial{op: "HardSwish", opset: pick(r, 14, 22), in: fed(r.floats(r.shape(2, 1, 5)...))}
}

func infinite(r *draw) trial {
	attrs := map[string]any{}
	if r.flag() {
		attrs["detect_negative"] = r.IntN(2)
	}
	if r.flag() {
		attrs["detect_positive"] = r.IntN(2)
	}
	inf := float32(math.Inf(1))
	return trial{op: "IsInf", opset: pick(r, 10, 20), attrs: attrs, in: fed(list(1, inf, -inf, inf-inf))}
}

func ranges(r *draw) trial {
	t := pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64, dtype.Int16)
	delta := pick(r, -3, -1, 1, 2)
	return trial{op: "Range", opset: 11, in: r.with(nil, r.numbers(t, -5, 5), r.numbers(t, -9, 9), r.numbers(t, delta, delta))}
}

func blocks(r *draw) trial {
	b := r.between(1, 3)
	if r.flag() {
		return trial{op: "SpaceToDepth", opset: pick(r, 1, 13), attrs: map[string]any{"blocksize": b}, in: fed(r.floats(r.between(1, 2), r.between(1, 3), b*r.between(1, 3), b*r.between(1, 3)))}
	}
	attrs := map[string]any{"blocksize": b}
	opset := pick(r, 1, 11, 13)
	if opset > 1 && r.flag() {
		attrs["mode"] = pick(r, "DCR", "CRD")
	}
	return trial{op: "DepthToSpace", opset: opset, attrs: attrs, in: fed(r.floats(r.between(1, 2), b*b*r.between(1, 3), r.between(1, 3), r.between(1, 3)))}
}

func determinant(r *draw) trial {
	n := r.between(1, 4)
	return trial{op: "Det", opset: pick(r, 11, 22), in: fed(r.floats(append(r.shape(r.between(0, 2), 1, 3), n, n)...)), rtol: 1e-3, atol: 1e-4}
}

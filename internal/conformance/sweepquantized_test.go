package conformance_test

import "github.com/graft-ml/graft/nn/dtype"

// quantizedSweeps: integers with scales.
var quantizedSweeps = map[string]func(r *draw) trial{
	"QuantizeLinear":   func(r *draw) trial { return quantization(r, "QuantizeLinear") },
	"DequantizeLinear": func(r *draw) trial { return quantization(r, "DequantizeLinear") },
	"DynamicQuantizeLinear": func(r *draw) trial {
		return trial{op: "DynamicQuantizeLinear", opset: 11, in: fed(r.floats(r.shape(r.between(1, 3), 1, 5)...)), out: 3}
	},
	"QLinearMatMul": quantizedProduct,
}

func quantization(r *draw, name string) trial {
	shape := r.shape(r.between(1, 4), 2, 4)
	opset := pick(r, 10, 13, 19, 21)
	attrs := map[string]any{}
	scales := []int{}
	switch {
	case opset >= 21 && r.flag():
		axis, block := r.IntN(len(shape)), 2
		shape[axis] = 2 * r.between(1, 3)
		scales = append(scales, shape...)
		scales[axis] /= 2
		attrs["axis"], attrs["block_size"] = axis, block
	case opset >= 13 && r.flag():
		axis := r.axis(len(shape))
		attrs["axis"] = axis
		scales = []int{shape[(axis+len(shape))%len(shape)]}
	}
	t := pick(r, dtype.Uint8, dtype.Int8)
	if opset >= 21 && r.flag() {
		t = pick(r, dtype.Int16, dtype.Uint16)
	}
	s := make([]float32, elements(scales))
	for i := range s {
		s[i] = pick(r, float32(0.5), 0.25, 0.02, 1)
	}
	scale := must(dtype.FromSlice(s, scales...))
	if name == "DequantizeLinear" {
		x := r.numbers(t, 0, 100, shape...)
		in := r.with(fed(x), scale)
		if r.rarely(4) && opset < 21 {
			return trial{op: name, opset: opset, attrs: attrs, in: r.with(fed(r.numbers(dtype.Int32, -1000, 1000, shape...)), scale)}
		}
		if r.flag() {
			in = r.with(in, r.numbers(t, 0, 100, scales...))
		}
		return trial{op: name, opset: opset, attrs: attrs, in: in}
	}
	in := r.with(fed(r.floats(shape...)), scale)
	switch {
	case r.flag():
		in = r.with(in, r.numbers(t, 0, 100, scales...))
	case opset >= 21 && r.flag():
		attrs["output_dtype"] = int(t)
	}
	return trial{op: name, opset: opset, attrs: attrs, in: in, atol: 1e-6}
}

func quantizedProduct(r *draw) trial {
	m, k, n := r.between(1, 4), r.between(1, 5), r.between(1, 4)
	t := pick(r, dtype.Uint8, dtype.Int8)
	u := t
	if t == dtype.Uint8 && r.flag() {
		u = dtype.Int8
	}
	in := fed(r.numbers(t, 0, 127, m, k), scalar(float32(0.1)), r.numbers(t, 0, 9), r.numbers(u, 0, 127, k, n))
	for _, v := range []dtype.Value{scalar(float32(0.05)), r.numbers(u, 0, 9), scalar(float32(1.5)), r.numbers(t, 0, 9)} {
		in = append(in, argument{v, true})
	}
	return trial{op: "QLinearMatMul", opset: pick(r, 10, 21), in: in, atol: 1}
}

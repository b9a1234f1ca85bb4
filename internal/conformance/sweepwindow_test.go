package conformance_test

import "github.com/graft-ml/graft/nn/dtype"

// windowSweeps: convolutions and pools.
var windowSweeps = map[string]func(r *draw) trial{
	"Conv":              func(r *draw) trial { return convolution(r, "Conv") },
	"ConvTranspose":     func(r *draw) trial { return convolution(r, "ConvTranspose") },
	"ConvInteger":       integerConvolution,
	"QLinearConv":       quantizedConvolution,
	"MaxPool":           func(r *draw) trial { return pooling(r, "MaxPool") },
	"AveragePool":       func(r *draw) trial { return pooling(r, "AveragePool") },
	"LpPool":            func(r *draw) trial { return pooling(r, "LpPool") },
	"GlobalMaxPool":     globalPool("GlobalMaxPool"),
	"GlobalAveragePool": globalPool("GlobalAveragePool"),
	"GlobalLpPool":      globalPool("GlobalLpPool"),
	"MaxUnpool":         unpooling,
	"DeformConv":        deformable,
	"Col2Im":            columns,
}

// window draws the attributes that convolutions and pools share.
func window(r *draw, rank int, attrs map[string]any) (kernel, dilations []int) {
	kernel = r.shape(rank, 1, 3)
	dilations = make([]int, rank)
	for i := range dilations {
		dilations[i] = 1
	}
	attrs["kernel_shape"] = kernel
	strides := r.shape(rank, 1, 3)
	if r.flag() {
		attrs["strides"] = strides
	}
	if r.rarely(3) {
		dilations = r.shape(rank, 1, 2)
		attrs["dilations"] = dilations
	}
	switch r.IntN(4) {
	case 0:
		for i := range strides { // SAME leaves open where windows begin that do not reach one another
			strides[i] = min(strides[i], kernel[i])
		}
		attrs["auto_pad"] = pick(r, "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
	case 1, 2:
		pads := make([]int, 2*rank)
		for i := range pads {
			pads[i] = r.between(0, (kernel[i%rank]-1)*dilations[i%rank])
		}
		attrs["pads"] = pads
	}
	return kernel, dilations
}

func convolution(r *draw, name string) trial {
	rank, group := r.between(1, 3), pick(r, 1, 1, 2, 3)
	attrs := map[string]any{}
	kernel, _ := window(r, rank, attrs)
	in, out := group*r.between(1, 3), group*r.between(1, 3)
	if group > 1 || r.flag() {
		attrs["group"] = group
	}
	if r.rarely(3) {
		delete(attrs, "kernel_shape")
	}
	w := []int{out, in / group}
	if name == "ConvTranspose" {
		w = []int{in, out / group}
		transposed(r, rank, attrs)
	}
	x := append([]int{r.between(1, 2), in}, r.shape(rank, 5, 8)...)
	if r.rarely(10) {
		x[0] = 0
	}
	args := []argument{{value: r.floats(x...)}, {r.floats(append(w, kernel...)...), r.flag()}}
	if r.flag() {
		args = append(args, argument{r.floats(out), r.flag()})
	}
	return trial{op: name, opset: pick(r, 1, 9, 11, 17, 22), attrs: attrs, in: args, atol: 1e-4}
}

// transposed draws what only ConvTranspose has.
func transposed(r *draw, rank int, attrs map[string]any) {
	switch r.IntN(5) {
	case 0:
		delete(attrs, "pads")
		if attrs["auto_pad"] == "VALID" {
			delete(attrs, "auto_pad")
		}
		attrs["output_shape"] = r.shape(rank, 15, 18)
		attrs["strides"] = fill(rank, 2)
	case 1:
		attrs["strides"] = fill(rank, 2)
		attrs["output_padding"] = r.shape(rank, 0, 1)
	}
}

func fill(n, v int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = v
	}
	return s
}

func pooling(r *draw, name string) trial {
	rank, opset := r.between(1, 3), pick(r, 8, 10, 11, 12, 17, 18, 19, 22)
	attrs := map[string]any{}
	window(r, rank, attrs)
	opsetDilations := map[string]int{"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[name]
	if opset < opsetDilations {
		delete(attrs, "dilations")
	}
	if since := map[string]int{"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[name]; opset >= since && r.flag() {
		attrs["ceil_mode"] = r.IntN(2)
	}
	switch attrs["auto_pad"] {
	case "SAME_UPPER", "SAME_LOWER":
		delete(attrs, "dilations") // ONNX Runtime pads as if there were none
	case "VALID":
		delete(attrs, "ceil_mode") // ONNX Runtime rounds up; the specification's formula does not
	}
	if p, ok := attrs["pads"]; ok { // ONNX Runtime wants pads smaller than the window
		for i := range p.([]int) {
			p.([]int)[i] = min(p.([]int)[i], attrs["kernel_shape"].([]int)[i%rank]-1)
		}
	}
	out := 1
	switch name {
	case "AveragePool":
		if r.flag() {
			attrs["count_include_pad"] = r.IntN(2)
		}
	case "LpPool":
		if r.flag() {
			attrs["p"] = r.between(1, 3)
		}
	case "MaxPool":
		if r.flag() {
			attrs["storage_order"] = r.IntN(2)
		}
		out = r.between(1, 2)
	}
	x := append([]int{r.between(1, 2), r.between(1, 3)}, r.shape(rank, 5, 9)...)
	return trial{op: name, opset: opset, attrs: attrs, in: fed(r.distinct(x...)), out: out}
}

func globalPool(name string) func(r *draw) trial {
	return func(r *draw) trial {
		attrs := map[string]any{}
		if name == "GlobalLpPool" && r.flag() {
			attrs["p"] = r.between(1, 3)
		}
		return trial{op: name, opset: pick(r, 2, 11, 22), attrs: attrs, in: fed(r.floats(r.shape(r.between(3, 5), 1, 5)...))}
	}
}

func unpooling(r *draw) trial {
	n, h, w := r.between(1, 4), 2*r.between(1, 3), 2*r.between(1, 3)
	x := r.floats(1, n, h/2, w/2)
	index := make([]int64, n*h*w/4)
	for i := range index {
		c, y, k := i/(h/2*(w/2)), i/(w/2)%(h/2), i%(w/2)
		index[i] = int64(c*h*w + (2*y+r.IntN(2))*w + 2*k + r.IntN(2))
	}
	args := fed(x, must(dtype.FromSlice(index, 1, n, h/2, w/2)))
	if r.flag() {
		args = r.with(args, ints(1, n, h, w))
	}
	return trial{op: "MaxUnpool", opset: pick(r, 9, 11, 22), attrs: map[string]any{"kernel_shape": []int{2, 2}, "strides": []int{2, 2}}, in: args}
}

func integerConvolution(r *draw) trial {
	attrs := map[string]any{}
	kernel, _ := window(r, 2, attrs)
	in, out := r.between(1, 3), r.between(1, 3)
	args := fed(r.numbers(dtype.Uint8, 0, 255, append([]int{1, in}, r.shape(2, 5, 7)...)...), r.numbers(pick(r, dtype.Uint8, dtype.Int8), 0, 127, append([]int{out, in}, kernel...)...))
	if r.flag() {
		args = append(args, argument{value: scalar(uint8(r.IntN(200)))})
	}
	return trial{op: "ConvInteger", opset: 10, attrs: attrs, in: args}
}

func quantizedConvolution(r *draw) trial {
	attrs := map[string]any{}
	kernel, _ := window(r, 2, attrs)
	in, out := r.between(1, 3), r.between(1, 3)
	scale, zero := scalar(float32(0.02)), scalar(int8(0))
	if r.flag() {
		s, z := make([]float32, out), make([]int8, out)
		for i := range s {
			s[i] = 0.01 + r.Float32()/50
		}
		scale, zero = list(s...), list(z...)
	}
	args := fed(r.numbers(dtype.Uint8, 0, 255, append([]int{1, in}, r.shape(2, 5, 7)...)...), scalar(float32(0.05)), scalar(uint8(r.IntN(255))))
	for _, v := range []dtype.Value{r.numbers(dtype.Int8, -128, 127, append([]int{out, in}, kernel...)...), scale, zero, scalar(float32(0.3)), scalar(uint8(r.IntN(255)))} {
		args = append(args, argument{v, true})
	}
	if r.flag() {
		args = append(args, argument{r.numbers(dtype.Int32, -100, 100, out), true})
	}
	return trial{op: "QLinearConv", opset: 10, attrs: attrs, in: args, atol: 1}
}

func deformable(r *draw) trial {
	attrs := map[string]any{"kernel_shape": []int{2, 3}}
	group, offsets := pick(r, 1, 2), pick(r, 1, 2)
	in, out, pads, strides := 4, group*r.between(1, 2), r.shape(4, 0, 1), r.shape(2, 1, 2)
	attrs["group"], attrs["offset_group"], attrs["pads"], attrs["strides"] = group, offsets, pads, strides
	h, w := r.between(4, 6), r.between(4, 6)
	oh, ow := (h+pads[0]+pads[2]-2)/strides[0]+1, (w+pads[1]+pads[3]-3)/strides[1]+1
	args := fed(r.floats(1, in, h, w), r.floats(out, in/group, 2, 3), r.floats(1, offsets*12, oh, ow))
	args = append(args, argument{}, argument{})
	if r.flag() {
		args[3].value = r.floats(out)
	}
	if r.flag() {
		args[4].value = r.floats(1, offsets*6, oh, ow)
	}
	return trial{op: "DeformConv", opset: pick(r, 19, 22), attrs: attrs, in: args, atol: 1e-4}
}

func columns(r *draw) trial {
	rank := r.between(1, 3)
	image, block, strides, dilations, pads := r.shape(rank, 4, 6), r.shape(rank, 1, 3), r.shape(rank, 1, 2), r.shape(rank, 1, 2), r.shape(2*rank, 0, 1)
	if rank != 2 { // ONNX Runtime loses elements of dilated blocks elsewhere
		dilations = fill(rank, 1)
	}
	count := 1
	for i := range image {
		count *= (image[i]+pads[i]+pads[rank+i]-dilations[i]*(block[i]-1)-1)/strides[i] + 1
	}
	return trial{op: "Col2Im", opset: 18, attrs: map[string]any{"strides": strides, "dilations": dilations, "pads": pads},
		in: r.with(fed(r.floats(r.between(1, 2), 2*elements(block), count)), ints(image...), ints(block...))}
}

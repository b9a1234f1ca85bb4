package conformance_test

import "github.com/graft-ml/graft/nn/dtype"

// movementSweeps: elements change their places, not their values.
var movementSweeps = map[string]func(r *draw) trial{
	"Slice":           slicing,
	"Pad":             padding,
	"Concat":          concatenation,
	"Split":           splitting,
	"Transpose":       permutation,
	"Reshape":         reshaping,
	"Flatten":         flattening,
	"Squeeze":         squeezing,
	"Unsqueeze":       unsqueezing,
	"Tile":            tiling,
	"ReverseSequence": reversal,
	"Trilu":           triangle,
	"EyeLike":         eye,
	"CenterCropPad":   cropping,
	"Shape":           shapes,
	"Identity": func(r *draw) trial {
		return trial{op: "Identity", opset: pick(r, 1, 13, 14, 16, 19), in: fed(r.any(r.maybeEmpty(r.between(0, 4), 1, 4)...))}
	},
	"ConstantOfShape": func(r *draw) trial {
		return trial{op: "ConstantOfShape", opset: pick(r, 9, 20), in: r.with(nil, ints(r.shape(r.between(0, 4), 0, 3)...))}
	},
}

func slicing(r *draw) trial {
	shape := r.maybeEmpty(r.between(1, 4), 1, 6)
	opset := pick(r, 1, 10, 11, 13)
	axes := r.subset(len(shape))
	starts, ends, steps := make([]int, len(axes)), make([]int, len(axes)), make([]int, len(axes))
	for i := range axes {
		starts[i], ends[i] = pick(r, r.between(-8, 8), 0, 1, 1<<40, -1<<40), pick(r, r.between(-8, 8), 1<<62, -1<<62)
		steps[i] = pick(r, 1, 1, 2, -1, -2, 7, -7)
	}
	x := r.any(shape...)
	if opset == 1 {
		attrs := map[string]any{"starts": starts, "ends": ends}
		if len(axes) < len(shape) || r.flag() {
			attrs["axes"] = axes
		}
		return trial{op: "Slice", opset: 1, attrs: attrs, in: fed(x)}
	}
	in := r.with(fed(x), ints(starts...), ints(ends...))
	switch r.IntN(4) {
	case 0:
		if len(axes) == len(shape) {
			break
		}
		fallthrough
	case 1:
		in = r.with(in, ints(axes...))
	default:
		in = r.with(in, ints(axes...), ints(steps...))
	}
	return trial{op: "Slice", opset: opset, in: in}
}

func padding(r *draw) trial {
	opset := pick(r, 2, 11, 13, 18, 19, 21)
	mode := pick(r, "constant", "edge", "reflect")
	if opset >= 19 && r.rarely(4) {
		mode = "wrap"
	}
	shape := r.shape(r.between(1, 4), 3, 5)
	if mode == "constant" && r.rarely(6) {
		shape[0] = 0
	}
	pads := make([]int, 2*len(shape))
	for i := range pads {
		pads[i] = r.between(-1, 2)
	}
	attrs := map[string]any{}
	if mode != "constant" || r.flag() {
		attrs["mode"] = mode
	}
	if shape[0] == 0 || mode == "wrap" {
		for i, p := range pads {
			pads[i] = max(p, 0)
		}
	}
	if opset == 2 {
		attrs["pads"] = pads
		if r.flag() {
			attrs["value"] = 1.5
		}
		return trial{op: "Pad", opset: 2, attrs: attrs, in: fed(r.floats(shape...))}
	}
	x := pick(r, r.floats(shape...), r.numbers(dtype.Int64, 0, 9, shape...), r.numbers(dtype.Int32, 0, 9, shape...), r.bools(shape...))
	if opset < 13 {
		x = r.floats(shape...)
	}
	var axes []int
	if opset >= 18 && r.flag() {
		axes = r.subset(len(shape))
		some := make([]int, 2*len(axes))
		for i, a := range axes {
			a = (a + len(shape)) % len(shape)
			some[i], some[len(axes)+i] = pads[a], pads[len(shape)+a]
		}
		pads = some
	}
	in := r.with(fed(x), ints(pads...))
	if r.flag() {
		in = r.with(in, r.likeType(x))
	} else if axes != nil {
		in = append(in, argument{})
	}
	if axes != nil {
		in = r.with(in, ints(axes...))
	}
	return trial{op: "Pad", opset: opset, attrs: attrs, in: in}
}

func concatenation(r *draw) trial {
	shape := r.shape(r.between(1, 4), 1, 4)
	axis := r.axis(len(shape))
	x := r.any(shape...)
	in := fed(x)
	for range r.IntN(3) {
		s := append([]int{}, shape...)
		s[(axis+len(s))%len(s)] = r.between(0, 3)
		in = r.with(in, r.likeType(x, s...))
	}
	opset := pick(r, 4, 11, 13)
	if opset == 4 {
		axis = (axis + len(shape)) % len(shape)
	}
	return trial{op: "Concat", opset: opset, attrs: map[string]any{"axis": axis}, in: in}
}

func splitting(r *draw) trial {
	shape := r.shape(r.between(1, 3), 2, 7)
	axis, opset, parts := r.axis(len(shape)), pick(r, 2, 11, 13, 18), r.between(1, 3)
	if opset == 2 {
		axis = (axis + len(shape)) % len(shape)
	}
	at := (axis + len(shape)) % len(shape)
	attrs := map[string]any{"axis": axis}
	c := trial{op: "Split", opset: opset, attrs: attrs, out: parts}
	if r.flag() {
		sizes := make([]int, parts)
		left := shape[at]
		for i := range sizes[1:] {
			sizes[i] = r.between(0, left)
			left -= sizes[i]
		}
		sizes[parts-1] = left
		if opset < 13 {
			attrs["split"] = sizes
			c.in = fed(r.any(shape...))
		} else {
			c.in = r.with(fed(r.any(shape...)), ints(sizes...))
		}
		return c
	}
	if opset < 18 || r.flag() {
		shape[at] = parts * r.between(1, 2)
	} else if (shape[at]+parts-1)/parts*(parts-1) >= shape[at] {
		shape[at] = parts + 1
		if parts == 3 {
			shape[at] = 5
		}
	}
	if opset >= 18 {
		attrs["num_outputs"] = parts
	}
	c.in = fed(r.any(shape...))
	return c
}

func permutation(r *draw) trial {
	shape := r.maybeEmpty(r.between(0, 5), 1, 4)
	attrs := map[string]any{}
	if len(shape) > 0 && r.flag() {
		attrs["perm"] = r.Perm(len(shape))
	}
	return trial{op: "Transpose", opset: pick(r, 1, 13, 21), attrs: attrs, in: fed(r.any(shape...))}
}

func reshaping(r *draw) trial {
	shape := r.shape(r.between(1, 4), 1, 4)
	opset := pick(r, 5, 13, 14, 19, 21)
	to := append([]int{}, shape...)
	if r.flag() {
		to = append([]int{1}, to...)
	}
	attrs := map[string]any{}
	switch r.IntN(5) {
	case 0:
		to = []int{-1}
	case 1:
		to = append(to[:0:0], 0, -1)
	case 2:
		to[r.IntN(len(to))] = -1
	case 3:
		shape[0] = 0
		to = pick(r, []int{0, -1}, []int{0}, []int{-1, 1})
		if opset >= 14 {
			to = []int{3, 0}
			attrs["allowzero"] = 1
		}
	}
	return trial{op: "Reshape", opset: opset, attrs: attrs, in: r.with(fed(r.any(shape...)), ints(to...))}
}

func flattening(r *draw) trial {
	shape := r.maybeEmpty(r.between(0, 4), 1, 4)
	attrs := map[string]any{}
	if r.flag() || len(shape) == 0 {
		attrs["axis"] = r.between(-len(shape), len(shape))
	}
	return trial{op: "Flatten", opset: pick(r, 11, 13, 21), attrs: attrs, in: fed(r.any(shape...))}
}

func squeezing(r *draw) trial {
	shape := r.shape(r.between(1, 4), 1, 3)
	axes := r.subset(len(shape))
	for _, a := range axes {
		shape[(a+len(shape))%len(shape)] = 1
	}
	opset := pick(r, 1, 11, 13, 21)
	all := r.rarely(3)
	if opset == 1 {
		for i, a := range axes {
			axes[i] = (a + len(shape)) % len(shape)
		}
	}
	switch {
	case all:
		return trial{op: "Squeeze", opset: opset, in: fed(r.any(shape...))}
	case opset < 13:
		return trial{op: "Squeeze", opset: opset, attrs: map[string]any{"axes": axes}, in: fed(r.any(shape...))}
	}
	return trial{op: "Squeeze", opset: opset, in: r.with(fed(r.any(shape...)), ints(axes...))}
}

func unsqueezing(r *draw) trial {
	shape, more := r.maybeEmpty(r.between(0, 3), 1, 3), r.between(1, 3)
	axes := r.Perm(len(shape) + more)[:more]
	opset := pick(r, 1, 11, 13, 21)
	for i := range axes {
		if opset > 1 && r.rarely(3) {
			axes[i] -= len(shape) + more
		}
	}
	if opset < 13 {
		return trial{op: "Unsqueeze", opset: opset, attrs: map[string]any{"axes": axes}, in: fed(r.any(shape...))}
	}
	return trial{op: "Unsqueeze", opset: opset, in: r.with(fed(r.any(shape...)), ints(axes...))}
}

func tiling(r *draw) trial {
	shape := r.maybeEmpty(r.between(0, 4), 1, 3)
	return trial{op: "Tile", opset: pick(r, 6, 13), in: r.with(fed(r.any(shape...)), ints(r.shape(len(shape), 0, 3)...))}
}

func reversal(r *draw) trial {
	time, batch := r.between(1, 5), r.between(1, 4)
	shape, attrs := append([]int{time, batch}, r.shape(r.between(0, 2), 1, 3)...), map[string]any{}
	if r.flag() {
		shape[0], shape[1] = batch, time
		attrs["batch_axis"], attrs["time_axis"] = 0, 1
	}
	return trial{op: "ReverseSequence", opset: 10, attrs: attrs, in: fed(r.any(shape...), r.numbers(dtype.Int64, 0, time, batch))}
}

func triangle(r *draw) trial {
	c := trial{op: "Trilu", opset: 14, attrs: map[string]any{}, in: fed(r.any(r.maybeEmpty(r.between(2, 4), 1, 4)...))}
	if r.flag() {
		c.attrs["upper"] = r.IntN(2)
	}
	if r.flag() {
		c.in = r.with(c.in, scalar(int64(r.between(-6, 6))))
	}
	return c
}

func eye(r *draw) trial {
	c := trial{op: "EyeLike", opset: pick(r, 9, 22), attrs: map[string]any{}, in: fed(r.of(pick(r, dtype.Float32, dtype.Int64, dtype.Int32, dtype.Float64), r.shape(2, 1, 4)...))}
	if r.flag() {
		c.attrs["k"] = r.between(-5, 5)
	}
	if r.flag() {
		c.attrs["dtype"] = int(pick(r, dtype.Float32, dtype.Int64, dtype.Uint64))
	}
	return c
}

func cropping(r *draw) trial {
	shape := r.shape(r.between(1, 4), 1, 5)
	if r.flag() {
		axes := r.subset(len(shape))
		return trial{op: "CenterCropPad", opset: 18, attrs: map[string]any{"axes": axes}, in: r.with(fed(r.floats(shape...)), ints(r.shape(len(axes), 1, 7)...))}
	}
	return trial{op: "CenterCropPad", opset: 18, in: r.with(fed(r.floats(shape...)), ints(r.shape(len(shape), 1, 7)...))}
}

func shapes(r *draw) trial {
	shape := r.maybeEmpty(r.between(0, 4), 1, 4)
	attrs := map[string]any{}
	if r.rarely(4) {
		return trial{op: "Size", opset: pick(r, 1, 13, 19), in: fed(r.any(shape...))}
	}
	opset := pick(r, 1, 13, 15, 19, 21)
	if opset >= 15 && r.flag() {
		attrs["start"] = r.between(-6, 6)
	}
	if opset >= 15 && r.flag() {
		attrs["end"] = r.between(-6, 6)
	}
	return trial{op: "Shape", opset: opset, attrs: attrs, in: fed(r.any(shape...))}
}

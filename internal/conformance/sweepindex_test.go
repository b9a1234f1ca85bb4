package conformance_test

import "github.com/graft-ml/graft/nn/dtype"

// indexSweeps: elements found by numbers, and numbers found by elements.
var indexSweeps = map[string]func(r *draw) trial{
	"Gather":          gathering,
	"GatherElements":  gatheringElements,
	"GatherND":        gatheringSlices,
	"Scatter":         func(r *draw) trial { return scattering(r, "Scatter", 9) },
	"ScatterElements": func(r *draw) trial { return scattering(r, "ScatterElements", pick(r, 11, 13, 16, 18)) },
	"ScatterND":       scatteringSlices,
	"TopK":            largest,
	"ArgMax":          func(r *draw) trial { return extreme(r, "ArgMax") },
	"ArgMin":          func(r *draw) trial { return extreme(r, "ArgMin") },
	"OneHot":          hot,
	"NonZero":         nonzero,
	"Unique":          unique,
	"Compress":        compression,
	"CumSum":          cumulative,
	"Hardmax":         hardmax,
	"TensorScatter":   cacheUpdate,
}

// index draws positions of an axis of length n, counted from either end.
func (r *draw) index(t dtype.DType, n int, shape ...int) dtype.Value {
	return r.numbers(t, -n, n-1, shape...)
}

func gathering(r *draw) trial {
	shape := r.shape(r.between(1, 4), 1, 4)
	axis := r.axis(len(shape))
	n := shape[(axis+len(shape))%len(shape)]
	x, index := r.any(shape...), r.index(pick(r, dtype.Int32, dtype.Int64), n, r.maybeEmpty(r.between(0, 2), 1, 3)...)
	if dtype.DTypeOf(x) == dtype.String { // ONNX Runtime loses some of the strings
		x = r.floats(shape...)
	}
	return trial{op: "Gather", opset: pick(r, 11, 13), attrs: map[string]any{"axis": axis}, in: r.with(fed(x), index)}
}

func gatheringElements(r *draw) trial {
	shape := r.shape(r.between(1, 4), 1, 4)
	axis := r.axis(len(shape))
	at := (axis + len(shape)) % len(shape)
	picks := make([]int, len(shape))
	for i, n := range shape {
		picks[i] = r.between(1, n)
	}
	picks[at] = r.between(0, 5)
	return trial{op: "GatherElements", opset: pick(r, 11, 13), attrs: map[string]any{"axis": axis}, in: r.with(fed(r.any(shape...)), r.index(pick(r, dtype.Int32, dtype.Int64), shape[at], picks...))}
}

// coordinates draws an int64 tensor whose last axis addresses the axes from `first` on.
func (r *draw) coordinates(shape []int, first, depth int, lead []int) dtype.Value {
	v := make([]int, 0)
	for range elements(lead) {
		for k := range depth {
			n := shape[first+k]
			v = append(v, r.between(-n, n-1))
		}
	}
	return must(dtype.FromInts(dtype.Int64, v, append(append([]int{}, lead...), depth)...))
}

func gatheringSlices(r *draw) trial {
	shape := r.shape(r.between(1, 4), 1, 4)
	opset, batch := pick(r, 11, 12, 13), 0
	attrs := map[string]any{}
	if opset >= 12 {
		batch = r.IntN(len(shape))
		attrs["batch_dims"] = batch
	}
	depth := r.between(1, len(shape)-batch)
	lead := append(append([]int{}, shape[:batch]...), r.shape(r.between(0, 2), 1, 3)...)
	return trial{op: "GatherND", opset: opset, attrs: attrs, in: fed(r.any(shape...), r.coordinates(shape, batch, depth, lead))}
}

func scattering(r *draw, name string, opset int) trial {
	shape := r.shape(r.between(1, 3), 1, 5)
	axis := r.axis(len(shape))
	if name == "Scatter" {
		axis = (axis + len(shape)) % len(shape)
	}
	at := (axis + len(shape)) % len(shape)
	picks := make([]int, len(shape))
	for i, n := range shape {
		picks[i] = r.between(1, n)
	}
	attrs := map[string]any{"axis": axis}
	x := r.any(shape...)
	reduction := "none"
	if opset >= 16 && r.flag() {
		x = pick(r, r.floats(shape...), r.numbers(dtype.Int64, 0, 9, shape...), r.numbers(dtype.Int32, -9, 9, shape...))
		if reduction = pick(r, "add", "mul"); opset >= 18 {
			reduction = pick(r, "add", "mul", "max", "min")
		}
		attrs["reduction"] = reduction
	}
	if reduction == "none" {
		// Without a reduction, equal indices leave open which update stays: each lane takes different ones.
		return trial{op: name, opset: opset, attrs: attrs, in: fed(x, r.permuted(shape, picks, at), r.likeType(x, picks...))}
	}
	return trial{op: name, opset: opset, attrs: attrs, in: fed(x, r.index(pick(r, dtype.Int32, dtype.Int64), shape[at], picks...), r.likeType(x, picks...))}
}

// permuted draws indices along an axis that differ within each lane.
func (r *draw) permuted(shape, picks []int, at int) dtype.Value {
	inner := elements(picks[at+1:])
	v := make([]int, elements(picks))
	for o := range elements(picks[:at]) {
		for i := range inner {
			for k, p := range r.Perm(shape[at])[:picks[at]] {
				if r.flag() {
					p -= shape[at]
				}
				v[(o*picks[at]+k)*inner+i] = p
			}
		}
	}
	return must(dtype.FromInts(dtype.Int64, v, picks...))
}

func scatteringSlices(r *draw) trial {
	shape := r.shape(r.between(1, 3), 2, 4)
	opset, depth := pick(r, 11, 13, 16, 18), r.between(1, len(shape))
	x, attrs := r.any(shape...), map[string]any{}
	lead := []int{1}
	if opset >= 16 && r.flag() {
		x, lead = pick(r, r.floats(shape...), r.numbers(dtype.Int64, 0, 9, shape...)), r.shape(r.between(1, 2), 1, 3)
		attrs["reduction"] = pick(r, "add", "mul")
		if opset >= 18 {
			attrs["reduction"] = pick(r, "add", "mul", "max", "min")
		}
	}
	return trial{op: "ScatterND", opset: opset, attrs: attrs, in: fed(x, r.coordinates(shape, 0, depth, lead), r.likeType(x, append(append([]int{}, lead...), shape[depth:]...)...))}
}

func largest(r *draw) trial {
	shape := r.shape(r.between(1, 4), 1, 6)
	axis, opset := r.axis(len(shape)), pick(r, 1, 10, 11)
	if opset < 11 {
		axis = (axis + len(shape)) % len(shape)
	}
	k := r.between(0, shape[(axis+len(shape))%len(shape)])
	attrs := map[string]any{"axis": axis}
	x := r.distinct(shape...)
	if opset == 11 {
		if r.flag() {
			attrs["largest"] = r.IntN(2)
		}
		attrs["sorted"] = 1
		if r.flag() {
			x = r.of(pick(r, dtype.Float64, dtype.Int64, dtype.Int32), shape...)
		}
	}
	if opset == 1 {
		attrs["k"] = max(k, 1)
		return trial{op: "TopK", opset: 1, attrs: attrs, in: fed(x), out: 2}
	}
	return trial{op: "TopK", opset: opset, attrs: attrs, in: r.with(fed(x), ints(k)), out: 2}
}

func extreme(r *draw, name string) trial {
	shape := r.shape(r.between(1, 4), 1, 4)
	opset := pick(r, 11, 12, 13)
	attrs := map[string]any{"axis": r.axis(len(shape))}
	if r.flag() {
		attrs["keepdims"] = r.IntN(2)
	}
	if opset >= 12 && r.flag() {
		attrs["select_last_index"] = r.IntN(2)
	}
	return trial{op: name, opset: opset, attrs: attrs, in: fed(pick(r, r.floats(shape...), r.numbers(dtype.Int32, 0, 3, shape...)))}
}

func hot(r *draw) trial {
	shape, depth := r.maybeEmpty(r.between(0, 3), 1, 3), r.between(1, 5)
	opset := pick(r, 9, 11)
	attrs := map[string]any{}
	if r.flag() {
		attrs["axis"] = r.between(-len(shape)-1, len(shape))
	}
	low := -depth
	if opset == 9 {
		low = 0
		if a, ok := attrs["axis"]; ok && a.(int) < -1 {
			attrs["axis"] = -1
		}
	}
	values := pick(r, list[float32](0.5, 2), list[int64](3, 7))
	return trial{op: "OneHot", opset: opset, attrs: attrs, in: r.with(fed(r.numbers(dtype.Int64, low, depth, shape...)), pick(r, scalar(int64(depth)), ints(depth)), values)}
}

func nonzero(r *draw) trial {
	shape := r.maybeEmpty(r.between(0, 3), 1, 4)
	return trial{op: "NonZero", opset: pick(r, 9, 13), in: fed(pick(r, r.bools(shape...), r.numbers(dtype.Int64, 0, 1, shape...), r.numbers(dtype.Float32, 0, 1, shape...)))}
}

func unique(r *draw) trial {
	shape := r.shape(r.between(1, 3), 1, 4)
	attrs := map[string]any{}
	if r.flag() {
		attrs["axis"] = r.axis(len(shape))
	}
	if r.flag() {
		attrs["sorted"] = r.IntN(2)
	}
	return trial{op: "Unique", opset: 11, attrs: attrs, in: fed(pick(r, r.numbers(dtype.Float32, 0, 3, shape...), r.numbers(dtype.Int64, 0, 2, shape...), r.words(shape...))), out: r.between(1, 4)}
}

func compression(r *draw) trial {
	shape := r.shape(r.between(1, 3), 1, 5)
	x, attrs := r.any(shape...), map[string]any{}
	n := elements(shape)
	if r.flag() {
		axis := r.axis(len(shape))
		attrs["axis"], n = axis, shape[(axis+len(shape))%len(shape)]
	}
	opset := pick(r, 9, 11)
	if a, ok := attrs["axis"]; ok && opset == 9 {
		attrs["axis"] = (a.(int) + len(shape)) % len(shape)
	}
	return trial{op: "Compress", opset: opset, attrs: attrs, in: fed(x, r.bools(r.between(1, n)))}
}

func cumulative(r *draw) trial {
	shape := r.shape(r.between(1, 3), 1, 5)
	return trial{op: "CumSum", opset: pick(r, 11, 14), attrs: map[string]any{"exclusive": r.IntN(2), "reverse": r.IntN(2)},
		in: r.with(fed(r.of(pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64), shape...)), r.index(pick(r, dtype.Int32, dtype.Int64), len(shape)))}
}

func hardmax(r *draw) trial {
	shape := r.maybeEmpty(r.between(1, 4), 1, 4)
	attrs := map[string]any{}
	if r.flag() {
		attrs["axis"] = r.axis(len(shape))
	}
	return trial{op: "Hardmax", opset: pick(r, 11, 13), attrs: attrs, in: fed(r.distinct(shape...))}
}

func cacheUpdate(r *draw) trial {
	batch, heads, length, width, added := r.between(1, 3), r.between(1, 2), r.between(4, 6), r.between(1, 3), r.between(1, 3)
	c := trial{op: "TensorScatter", opset: 24, attrs: map[string]any{}, in: fed(r.floats(batch, heads, length, width), r.floats(batch, heads, added, width))}
	top := length - added
	if r.flag() {
		c.attrs["mode"], top = "circular", length-1
	}
	if r.flag() {
		c.in = append(c.in, argument{value: r.numbers(dtype.Int64, 0, top, batch)})
	}
	return c
}

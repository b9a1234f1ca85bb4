package conformance_test

import "github.com/graft-ml/graft/nn/dtype"

// normalizationSweeps: normalizations, dropout and attention.
var normalizationSweeps = map[string]func(r *draw) trial{
	"BatchNormalization":        batchNormalization,
	"InstanceNormalization":     instanceNormalization,
	"LayerNormalization":        layerNormalization,
	"RMSNormalization":          rmsNormalization,
	"GroupNormalization":        groupNormalization,
	"LpNormalization":           lpNormalization,
	"LRN":                       localResponse,
	"MeanVarianceNormalization": meanVariance,
	"Dropout":                   dropping,
	"Attention":                 attending,
	"RotaryEmbedding":           rotating,
}

func batchNormalization(r *draw) trial {
	opset := pick(r, 7, 9, 14, 15)
	n := r.between(1, 4)
	x := append([]int{r.between(1, 3), n}, r.shape(r.between(0, 3), 1, 4)...)
	attrs := map[string]any{}
	if r.flag() {
		attrs["epsilon"] = 0.01
	}
	out := 1
	if opset >= 14 && r.rarely(3) {
		attrs["training_mode"], out = 1, 3
	}
	return trial{op: "BatchNormalization", opset: opset, attrs: attrs, out: out, atol: 1e-4, rtol: 1e-3,
		in: r.with(fed(r.floats(x...)), r.floats(n), r.floats(n), r.floats(n), r.numbers(dtype.Float32, 1, 4, n))}
}

func instanceNormalization(r *draw) trial {
	n := r.between(1, 4)
	return trial{op: "InstanceNormalization", opset: pick(r, 6, 22), attrs: map[string]any{"epsilon": 0.01}, atol: 1e-3,
		in: r.with(fed(r.floats(append([]int{r.between(1, 3), n}, r.shape(r.between(1, 3), 2, 4)...)...)), r.floats(n), r.floats(n))}
}

func layerNormalization(r *draw) trial {
	shape := r.shape(r.between(1, 4), 1, 5)
	axis := r.axis(len(shape))
	tail := shape[(axis+len(shape))%len(shape):]
	in := r.with(fed(r.floats(shape...)), r.floats(tail...))
	if r.flag() {
		in = r.with(in, r.floats(tail...))
	}
	return trial{op: "LayerNormalization", opset: 17, attrs: map[string]any{"axis": axis, "epsilon": 0.01}, in: in, out: r.between(1, 3), atol: 1e-4, rtol: 1e-3}
}

func rmsNormalization(r *draw) trial {
	shape := r.shape(r.between(1, 4), 1, 5)
	axis := r.axis(len(shape))
	return trial{op: "RMSNormalization", opset: 23, attrs: map[string]any{"axis": axis, "epsilon": 0.01}, in: r.with(fed(r.floats(shape...)), r.floats(shape[(axis+len(shape))%len(shape):]...)), atol: 1e-4}
}

func groupNormalization(r *draw) trial {
	groups, opset := r.between(1, 3), pick(r, 18, 21)
	n := groups * r.between(1, 3)
	scales := n
	if opset == 18 {
		scales = groups
	}
	return trial{op: "GroupNormalization", opset: opset, attrs: map[string]any{"num_groups": groups, "epsilon": 0.01}, atol: 1e-4, rtol: 1e-3,
		in: r.with(fed(r.floats(append([]int{r.between(1, 3), n}, r.shape(r.between(1, 2), 1, 4)...)...)), r.floats(scales), r.floats(scales))}
}

func lpNormalization(r *draw) trial {
	shape := r.shape(r.between(1, 4), 1, 4)
	return trial{op: "LpNormalization", opset: pick(r, 1, 22), attrs: map[string]any{"axis": r.axis(len(shape)), "p": r.between(1, 2)}, in: fed(r.floats(shape...))}
}

func localResponse(r *draw) trial {
	return trial{op: "LRN", opset: pick(r, 1, 13), attrs: map[string]any{"size": pick(r, 1, 3, 5), "alpha": 0.1, "beta": 0.6, "bias": 1.5}, in: fed(r.floats(append([]int{1, r.between(1, 6)}, r.shape(2, 1, 3)...)...))}
}

func meanVariance(r *draw) trial {
	attrs := map[string]any{}
	if r.flag() {
		attrs["axes"] = pick(r, []int{0, 2, 3}, []int{2, 3}, []int{0, 1, 2, 3})
	}
	return trial{op: "MeanVarianceNormalization", opset: pick(r, 9, 13), attrs: attrs, in: fed(r.floats(r.shape(4, 2, 4)...)), atol: 1e-3}
}

func dropping(r *draw) trial {
	opset := pick(r, 7, 10, 12, 13)
	x := r.floats(r.maybeEmpty(r.between(0, 3), 1, 4)...)
	if opset < 12 {
		return trial{op: "Dropout", opset: opset, attrs: map[string]any{"ratio": 0.4}, in: fed(x)} // the mask of a Dropout that drops nothing was not defined yet
	}
	in := fed(x)
	if r.flag() {
		in = r.with(in, scalar(float32(0.3)))
		if r.flag() {
			in = append(in, argument{scalar(false), true})
		}
	}
	return trial{op: "Dropout", opset: opset, in: in, out: r.between(1, 2)}
}

func attending(r *draw) trial {
	batch, heads, width, queries, keys := r.between(1, 2), r.between(1, 2), 2*r.between(1, 3), r.between(1, 4), r.between(1, 5)
	group := r.between(1, 2)
	attrs := map[string]any{}
	var in []argument
	if r.flag() {
		in = fed(r.floats(batch, heads*group, queries, width), r.floats(batch, heads, keys, width), r.floats(batch, heads, keys, width))
	} else {
		attrs["q_num_heads"], attrs["kv_num_heads"] = heads*group, heads
		in = fed(r.floats(batch, queries, heads*group*width), r.floats(batch, keys, heads*width), r.floats(batch, keys, heads*width))
	}
	past, out := 0, 1
	in = append(in, make([]argument, 3)...)
	if r.rarely(3) {
		past, out = r.between(1, 3), 3
		in[4], in[5] = argument{value: r.floats(batch, heads, past, width)}, argument{value: r.floats(batch, heads, past, width)}
	}
	if r.flag() {
		mask := pick(r, []int{queries, keys + past}, []int{1, 1, queries, keys + past}, []int{batch, 1, queries, keys + past})
		in[3] = argument{value: r.floats(mask...)}
		if r.flag() {
			in[3] = argument{value: r.bools(mask...)}
		}
	}
	if past == 0 && r.flag() { // with a past, ONNX Runtime lets the first query see the first key only
		attrs["is_causal"] = 1
	}
	if r.flag() {
		attrs["scale"] = 0.3
	}
	if r.rarely(3) {
		attrs["softcap"] = 2.0
	}
	for len(in) > 3 && in[len(in)-1].value == nil {
		in = in[:len(in)-1]
	}
	return trial{op: "Attention", opset: pick(r, 23, 24), attrs: attrs, in: in, out: out, atol: 1e-4, rtol: 1e-3}
}

func rotating(r *draw) trial {
	batch, heads, length, width := r.between(1, 2), r.between(1, 3), r.between(1, 4), 2*r.between(1, 3)
	attrs := map[string]any{"interleaved": r.IntN(2)}
	x := r.floats(batch, heads, length, width)
	if r.flag() {
		x, attrs["num_heads"] = r.floats(batch, length, heads*width), heads
	}
	half := width / 2
	if width > 2 && r.rarely(3) {
		attrs["rotary_embedding_dim"], half = width-2, width/2-1
		attrs["num_heads"] = heads
	}
	if r.flag() {
		return trial{op: "RotaryEmbedding", opset: 23, attrs: attrs, in: fed(x, r.floats(batch, length, half), r.floats(batch, length, half))}
	}
	return trial{op: "RotaryEmbedding", opset: 23, attrs: attrs, in: fed(x, r.floats(7, half), r.floats(7, half), r.numbers(dtype.Int64, 0, 6, batch, length))}
}

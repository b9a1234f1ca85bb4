package conformance_test

import "github.com/graft-ml/graft/nn/dtype"

// spectralSweeps: Fourier transforms and windows.
var spectralSweeps = map[string]func(r *draw) trial{
	"DFT":     fourier,
	"STFT":    shortTime,
	"windows": taper,
}

func fourier(r *draw) trial {
	parts, n := r.between(1, 2), r.between(1, 9)
	shape := append(append([]int{r.between(1, 2)}, r.shape(r.between(0, 1), 1, 4)...), n)
	at := len(shape) - 1
	if r.rarely(3) {
		at = len(shape) - r.between(1, len(shape)-1)
	}
	shape = append(shape, parts)
	attrs := map[string]any{}
	switch r.IntN(3) {
	case 0:
		attrs["inverse"] = 1
		if parts == 1 {
			shape[len(shape)-1] = 2
		}
	case 1:
		if parts == 1 {
			attrs["onesided"] = 1
		}
	}
	in := fed(r.floats(shape...))
	length := argument{}
	if r.rarely(3) {
		length = argument{scalar(int64(r.between(1, 10))), r.flag()}
	}
	axis := at
	if r.flag() {
		axis -= len(shape)
	}
	if r.flag() {
		attrs["axis"] = axis
		if length.value != nil {
			in = append(in, length)
		}
		return trial{op: "DFT", opset: 17, attrs: attrs, in: in, atol: 1e-4}
	}
	return trial{op: "DFT", opset: 20, attrs: attrs, in: append(in, length, argument{scalar(int64(axis)), r.flag()}), atol: 1e-4}
}

func shortTime(r *draw) trial {
	batch, n, size, step := r.between(1, 2), r.between(12, 20), r.between(3, 8), r.between(1, 4)
	c := trial{op: "STFT", opset: 17, attrs: map[string]any{}, in: append(fed(r.floats(batch, n, 1)), argument{scalar(int64(step)), true}, argument{}, argument{}), atol: 1e-4}
	if r.flag() {
		c.attrs["onesided"] = r.IntN(2)
	}
	if r.flag() {
		c.in[2] = argument{r.floats(size), r.flag()}
	}
	if r.flag() || c.in[2].value == nil {
		c.in[3] = argument{scalar(int64(size)), true}
	} else {
		c.in = c.in[:3]
	}
	return c
}

func taper(r *draw) trial {
	attrs := map[string]any{}
	if r.flag() {
		attrs["periodic"] = r.IntN(2)
	}
	if r.flag() {
		attrs["output_datatype"] = int(pick(r, dtype.Float32, dtype.Float64))
	}
	if r.rarely(3) {
		return trial{op: "MelWeightMatrix", opset: 17, in: r.with(nil, scalar(int64(r.between(2, 8))), scalar(int64(16)), scalar(int64(8000)), scalar(float32(20)), scalar(float32(3900)))}
	}
	return trial{op: pick(r, "HannWindow", "HammingWindow", "BlackmanWindow"), opset: 17, attrs: attrs, in: r.with(nil, scalar(int64(r.between(2, 10))))}
}

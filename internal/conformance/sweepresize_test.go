package conformance_test

import (
	"math"

	"github.com/graft-ml/graft/nn/dtype"
)

// resizeSweeps: resampling.
var resizeSweeps = map[string]func(r *draw) trial{
	"Resize":     resizing,
	"Upsample":   upsampling,
	"GridSample": sampling,
	"AffineGrid": affine,
	"RoiAlign":   regions,
	"MaxRoiPool": regionMaxima,
}

// scale draws a factor. For the nearest element it is one of which every quotient that is a whole number or a half is exact in float32: ONNX Runtime rounds
// positions to that, ONNX's reference, which TestSweepTorch follows, to float64.
// It is none that keeps a length, which ONNX Runtime takes for 1.
func (r *draw) scale(mode string, n int) float32 {
	s := pick(r, float32(0.5), 0.37, 0.6, 0.9, 1, 1.1, 1.37, 1.5, 2, 2.3, 3.3, 1./3, 4./3)
	if mode == "nearest" {
		s = pick(r, float32(0.5), 0.625, 0.75, 1, 1.25, 1.5, 2, 3.25)
	}
	if int(float32(n)*s) == n {
		return 1
	}
	return s
}

func resizing(r *draw) trial {
	opset := pick(r, 10, 11, 13, 18, 19)
	if opset == 10 {
		x, mode := r.shape(4, 1, 6), pick(r, "nearest", "linear")
		return trial{op: "Resize", opset: 10, attrs: map[string]any{"mode": mode}, in: r.with(fed(r.floats(x...)), list(1, 1, r.scale(mode, x[2]), r.scale(mode, x[3])))}
	}
	mode := pick(r, "nearest", "linear", "cubic")
	attrs := map[string]any{"mode": mode}
	attrs["coordinate_transformation_mode"] = pick(r, "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")
	if opset >= 19 && mode != "nearest" && r.rarely(5) {
		attrs["coordinate_transformation_mode"] = "half_pixel_symmetric"
	}
	if mode == "nearest" {
		attrs["nearest_mode"] = pick(r, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
	}
	if mode == "cubic" {
		if r.flag() {
			attrs["cubic_coeff_a"] = -0.5
		}
		if r.flag() {
			attrs["exclude_outside"] = 1
		}
	}
	if opset >= 18 && mode != "nearest" && r.rarely(3) {
		attrs["antialias"] = 1
	}
	spatial := 2
	if mode == "linear" && r.rarely(4) && attrs["antialias"] == nil {
		spatial = pick(r, 1, 3)
	}
	x := append([]int{r.between(1, 2), r.between(1, 2)}, r.shape(spatial, 1, 9)...)
	scales, sizes := make([]float32, len(x)), make([]int, len(x))
	for i, n := range x {
		if scales[i], sizes[i] = 1, n; i >= 2 {
			scales[i], sizes[i] = r.scale(mode, n), r.between(1, 13)
			if mode == "nearest" {
				sizes[i] = n * r.between(1, 3)
			}
		}
		// ONNX Runtime rounds the length that these two divide by, and leaves an axis of scale 1 as it is.
		if m := attrs["coordinate_transformation_mode"]; i >= 2 && (m == "align_corners" || m == "tf_crop_and_resize") {
			scales[i], sizes[i] = pick(r, float32(2), 3), n+r.between(1, 4)
		}
	}
	var axes []int
	if opset >= 18 && r.rarely(3) {
		for i := range spatial {
			axes = append(axes, 2+i)
		}
		attrs["axes"] = axes
		scales, sizes = scales[2:], sizes[2:]
	}
	roi := argument{}
	if attrs["coordinate_transformation_mode"] == "tf_crop_and_resize" {
		box := make([]float32, 2*len(scales))
		for i := range scales {
			box[i], box[len(scales)+i] = float32(r.between(-2, 3))/8, float32(r.between(4, 10))/8
			if axes == nil && i < 2 {
				box[i], box[len(scales)+i] = 0, 1
			}
		}
		roi = argument{list(box...), true}
		attrs["extrapolation_value"] = 3.0
		delete(attrs, "antialias")
	} else if opset == 11 {
		roi = argument{list[float32](), true}
	}
	in := append(fed(r.floats(x...)), roi)
	if r.flag() {
		return trial{op: "Resize", opset: opset, attrs: attrs, in: r.with(in, list(scales...)), atol: 1e-4}
	}
	if opset >= 18 && spatial == 2 && r.flag() {
		attrs["keep_aspect_ratio_policy"] = pick(r, "stretch", "not_larger", "not_smaller")
		if last := sizes[len(sizes)-2:]; attrs["keep_aspect_ratio_policy"] != "stretch" {
			attrs["axes"], sizes, in[1] = []int{2, 3}, last, argument{}
			attrs["coordinate_transformation_mode"] = pick(r, "half_pixel", "asymmetric")
			factor := min(float64(last[0])/float64(x[2]), float64(last[1])/float64(x[3]))
			if attrs["keep_aspect_ratio_policy"] == "not_smaller" {
				factor = max(float64(last[0])/float64(x[2]), float64(last[1])/float64(x[3]))
			}
			if same := func(n int) bool { return math.Round(float64(n)*factor) == float64(n) }; same(x[2]) || same(x[3]) || mode == "nearest" {
				attrs["keep_aspect_ratio_policy"] = "stretch" // see scale
			}
		}
	}
	if opset == 11 {
		in = append(in, argument{list[float32](), true})
	} else {
		in = append(in, argument{})
	}
	return trial{op: "Resize", opset: opset, attrs: attrs, in: r.with(in, ints(sizes...)), atol: 1e-4}
}

func upsampling(r *draw) trial {
	opset := pick(r, 7, 9)
	scales := []float32{1, 1, pick(r, float32(1), 1.5, 2, 3), pick(r, float32(1), 2, 2.5)}
	c := trial{op: "Upsample", opset: opset, attrs: map[string]any{"mode": pick(r, "nearest", "linear")}, in: fed(r.floats(r.shape(4, 1, 5)...))}
	if opset == 7 {
		c.attrs["scales"] = scales
	} else {
		c.in = r.with(c.in, list(scales...))
	}
	return c
}

func sampling(r *draw) trial {
	opset := pick(r, 16, 20, 22)
	mode := pick(r, "bilinear", "nearest", "bicubic")
	spatial := 2
	if opset >= 20 {
		mode = pick(r, "linear", "nearest", "cubic")
		if mode != "cubic" {
			spatial = pick(r, 2, 3)
		}
	}
	n, c := r.between(1, 2), r.between(1, 3)
	grid := append(append([]int{n}, r.shape(spatial, 1, 5)...), spatial)
	g := make([]float32, elements(grid))
	for i := range g {
		g[i] = r.Float32()*3 - 1.5
	}
	return trial{op: "GridSample", opset: opset, attrs: map[string]any{"mode": mode, "padding_mode": pick(r, "zeros", "border", "reflection"), "align_corners": r.IntN(2)},
		in: fed(r.floats(append([]int{n, c}, r.shape(spatial, 2, 5)...)...), must(dtype.FromSlice(g, grid...))), atol: 1e-4}
}

func affine(r *draw) trial {
	n, spatial := r.between(1, 3), r.between(2, 3)
	size := append([]int{n, r.between(1, 3)}, r.shape(spatial, 2, 5)...)
	return trial{op: "AffineGrid", opset: 20, attrs: map[string]any{"align_corners": r.IntN(2)}, in: r.with(fed(r.floats(n, spatial, spatial+1)), ints(size...))}
}

func regions(r *draw) trial {
	opset, n := pick(r, 10, 16, 22), r.between(0, 3)
	boxes, batch := make([]float32, 4*n), make([]int64, n)
	for i := range n {
		x, y := r.Float32()*6, r.Float32()*6
		boxes[4*i], boxes[4*i+1], boxes[4*i+2], boxes[4*i+3] = x, y, x+r.Float32()*6, y+r.Float32()*6
		batch[i] = int64(r.IntN(2))
	}
	attrs := map[string]any{"mode": pick(r, "avg", "max"), "output_height": r.between(1, 3), "output_width": r.between(1, 3), "sampling_ratio": r.between(0, 2), "spatial_scale": pick(r, 1.0, 0.5)}
	if attrs["mode"] == "max" { // ONNX Runtime takes the maximum of weighted corners, not of samples
		attrs["mode"] = "avg"
	}
	if opset >= 16 && r.flag() {
		attrs["coordinate_transformation_mode"] = pick(r, "half_pixel", "output_half_pixel")
	}
	return trial{op: "RoiAlign", opset: opset, attrs: attrs, in: fed(r.floats(2, r.between(1, 3), 8, 9), must(dtype.FromSlice(boxes, n, 4)), must(dtype.FromSlice(batch, n))), atol: 1e-4}
}

func regionMaxima(r *draw) trial {
	n := r.between(1, 3)
	boxes := make([]float32, 5*n)
	for i := range n {
		x, y := r.between(0, 4), r.between(0, 4)
		boxes[5*i], boxes[5*i+1], boxes[5*i+2] = float32(r.IntN(2)), float32(x), float32(y)
		boxes[5*i+3], boxes[5*i+4] = float32(x+r.between(0, 4)), float32(y+r.between(0, 4))
	}
	attrs := map[string]any{"pooled_shape": r.shape(2, 1, 3)}
	if r.flag() {
		attrs["spatial_scale"] = math.Pow(2, -float64(r.IntN(2)))
	}
	return trial{op: "MaxRoiPool", opset: pick(r, 1, 22), attrs: attrs, in: fed(r.floats(2, 2, 9, 9), must(dtype.FromSlice(boxes, n, 5)))}
}

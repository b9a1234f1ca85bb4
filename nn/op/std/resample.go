package std

import (
	"math"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// resampling has the parameters of Resize and Upsample: for every axis its scale and its new length.
type resampling struct {
	ResizeConfig
	in, out []op.Dim
	scale   []float64
	given   []bool       // the length was given: it is exactly scale times the old one
	roi     [][2]float64 // begin and end of each axis, as parts of it
	floor10 bool         // version 10: nearest takes floor when growing, ceil when shrinking
}

func resampleOf(c *op.Call) (*resampling, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return nil, err
	}
	r := &resampling{in: c.In[0].Shape, out: append([]op.Dim(nil), c.In[0].Shape...)}
	for range rank {
		r.scale, r.given, r.roi = append(r.scale, 1), append(r.given, false), append(r.roi, [2]float64{0, 1})
	}
	if up, ok := c.Config.(UpsampleConfig); ok {
		return r, r.upsample(c, up)
	}
	r.ResizeConfig = c.Config.(ResizeConfig)
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	if r.Axes != nil {
		if _, err := c.Axes(r.Axes, rank); err != nil {
			return nil, err
		}
		axes = axes[:0]
		for _, a := range r.Axes {
			a, _ = c.Axis(a, rank)
			axes = append(axes, a)
		}
	}
	if c.Version == 10 {
		r.Coordinates, r.floor10 = "asymmetric", true
		return r, r.byScales(c, 1, axes)
	}
	if err := r.crop(c, axes); err != nil {
		return nil, err
	}
	switch {
	case hasElements(c, 3):
		return r, r.bySizes(c, axes)
	case hasElements(c, 2):
		return r, r.byScales(c, 2, axes)
	}
	return nil, c.Errorf("has neither scales nor sizes")
}

// hasElements reports whether an input is present and not empty; an empty input counts as absent.
func hasElements(c *op.Call, i int) bool {
	return c.Has(i) && !(c.In[i].Static() && c.In[i].Elements() == 0)
}

func (r *resampling) upsample(c *op.Call, up UpsampleConfig) error {
	r.ResizeConfig = ResizeConfig{Mode: up.Mode, Coordinates: "asymmetric", Nearest: "floor"}
	if r.Mode == "bilinear" {
		r.Mode = "linear"
	}
	rank := len(r.in)
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	if c.Has(1) {
		return r.byScales(c, 1, axes)
	}
	scales := up.Scales
	if up.Scales == nil && rank == 4 {
		scales = []float32{1, 1, up.HeightScale, up.WidthScale}
	}
	return r.setScales(c, scales, axes)
}

// floatsOf returns the elements of input i.
func floatsOf(c *op.Call, i int) ([]float32, error) {
	v, err := c.Value(i)
	if err != nil {
		return nil, err
	}
	d, ok := v.(*tensor.Dense)
	if !ok {
		return nil, c.Mismatch(i, "numbers", op.TypeOf(v))
	}
	f, err := dtype.Float64s(d)
	if err != nil {
		return nil, c.Mismatch(i, "numbers", op.TypeOf(v))
	}
	s := make([]float32, len(f))
	for k, x := range f {
		s[k] = float32(x)
	}
	return s, nil
}

func (r *resampling) byScales(c *op.Call, i int, axes []int) error {
	scales, err := floatsOf(c, i)
	if err != nil {
		return err
	}
	return r.setScales(c, scales, axes)
}

func (r *resampling) setScales(c *op.Call, scales []float32, axes []int) error {
	if len(scales) != len(axes) {
		return c.Errorf("has %d scales for %d axes", len(scales), len(axes))
	}
	for i, a := range axes {
		s := float64(scales[i])
		if !(s > 0) || math.IsInf(s, 0) {
			return c.Errorf("scale %v of axis %d is not positive", s, a)
		}
		r.scale[a] = s
		r.out[a] = scaleDim(r.in[a], s)
	}
	return nil
}

// scaledLength returns ⌊x⌋, limited to a number that is too large for an axis.
func scaledLength(x float64) int { return int(math.Floor(min(x, 2*maxMapped))) }

// scaleDim is ⌊d·s⌋; the expression of a symbolic length takes s as a fraction.
func scaleDim(d op.Dim, s float64) op.Dim {
	out := op.Unknown()
	if d.Known() {
		out.Size = scaledLength(float64(d.Size) * s)
	}
	if d.Sym == "" {
		return out
	}
	for q := 1; q <= 64; q++ {
		p := math.Round(s * float64(q))
		if p > 0 && math.Abs(p/float64(q)-s) < 1e-7*s {
			out.Sym = op.Sym(d.Sym).Mul(op.D(int(p))).Div(op.D(q)).Sym
			break
		}
	}
	return out
}

func (r *resampling) bySizes(c *op.Call, axes []int) error {
	sizes, err := c.Dims(3)
	if err != nil {
		return err
	}
	if len(sizes) != len(axes) {
		return c.Errorf("has %d sizes for %d axes", len(sizes), len(axes))
	}
	if err := noNegative(c, 3, sizes); err != nil {
		return err
	}
	pick, known := math.Inf(1), true
	for i, a := range axes {
		r.out[a], r.given[a] = sizes[i], true
		if !sizes[i].Known() || !r.in[a].Known() {
			known = false
			continue
		}
		r.scale[a] = float64(sizes[i].Size) / float64(r.in[a].Size)
		if i == 0 {
			pick = r.scale[a]
		} else if r.KeepAspectRatio == "not_larger" {
			pick = min(pick, r.scale[a])
		} else {
			pick = max(pick, r.scale[a])
		}
	}
	if r.KeepAspectRatio == "stretch" {
		return nil
	}
	for _, a := range axes {
		r.scale[a], r.given[a] = pick, false
		if r.out[a] = op.Unknown(); known {
			r.out[a] = op.D(scaledLength(pick*float64(r.in[a].Size) + 0.5))
		}
	}
	return nil
}

func (r *resampling) crop(c *op.Call, axes []int) error {
	if r.Coordinates != "tf_crop_and_resize" {
		return nil
	}
	roi, err := floatsOf(c, 1)
	if err != nil {
		return err
	}
	if len(roi) != 2*len(axes) {
		return c.Errorf("has %d numbers in roi for %d axes", len(roi), len(axes))
	}
	for i, a := range axes {
		r.roi[a] = [2]float64{float64(roi[i]), float64(roi[len(axes)+i])}
	}
	return nil
}

// same reports whether an axis is unchanged.
func (r *resampling) same(a int) bool {
	return r.scale[a] == 1 && r.in[a].Same(r.out[a]) && r.roi[a] == [2]float64{0, 1}
}

// axisTaps lists for each index of the new axis the n elements of the old one, with their weights,
// from which it is computed. Resizing several axes is resizing one after the other.
type axisTaps struct {
	Axis    int
	N       int // elements for each new index; 0: the axis stays
	Index   []int
	Weight  []float64
	Outside []bool // new indices that are outside of the old axis and take the extrapolation value
}

// taps returns those of every axis that changes. They are charged to the memory limit.
func (r *resampling) taps(p *kernel.Pool) ([]*axisTaps, error) {
	var list []*axisTaps
	for a := range r.in {
		if r.same(a) {
			continue
		}
		n := r.tapCount(a)
		t, err := budget.Made(int64(r.out[a].Size)*int64(1+16*n), func() *axisTaps { return r.axisTaps(p, a, n) })
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// axisTaps returns the taps of an axis, n of each index.
func (r *resampling) axisTaps(p *kernel.Pool, a, n int) *axisTaps {
	length, count := r.in[a].Size, r.out[a].Size
	t := &axisTaps{Axis: a, N: n, Index: kernel.Uncleared[int](count * n)[:0], Weight: kernel.Uncleared[float64](count * n)[:0]}
	if r.Coordinates == "tf_crop_and_resize" {
		t.Outside = kernel.Uncleared[bool](count)
	}
	pace := p.Pace()
	for o := range count {
		pace.Did(64)
		at := r.position(a, o)
		if t.Outside != nil {
			t.Outside[o] = at < 0 || at > float64(length-1)
		}
		var first int
		first, t.Weight = r.weights(&pace, a, at, t.Weight)
		if r.ExcludeOutside {
			excludeOutside(&pace, t.Weight[o*n:], first, length)
		}
		for i := range n {
			pace.Did(2)
			t.Index = append(t.Index, min(max(first+i, 0), length-1))
		}
	}
	return t
}

func excludeOutside(pace *kernel.Pace, w []float64, first, length int) {
	sum := 0.0
	for i := range w {
		pace.Did(2)
		if first+i < 0 || first+i >= length {
			w[i] = 0
		}
		sum += w[i]
	}
	if sum == 0 {
		return
	}
	for i := range w {
		w[i] /= sum
	}
}

// position returns the position of new index o on the old axis.
func (r *resampling) position(a, o int) float64 {
	scale, old, x := r.scale[a], float64(r.in[a].Size), float64(o)
	length := scale * old // before rounding
	if r.given[a] {
		length = float64(r.out[a].Size)
	}
	on := func(x float64) float64 {
		if r.given[a] {
			return x * old / length
		}
		return x / scale
	}
	center := on(x+0.5) - 0.5
	switch r.Coordinates {
	case "align_corners":
		if length == 1 {
			return 0
		}
		return x * (old - 1) / (length - 1)
	case "asymmetric":
		return on(x)
	case "tf_crop_and_resize":
		begin, end := r.roi[a][0], r.roi[a][1]
		if length == 1 {
			return (begin + end) * (old - 1) / 2
		}
		return begin*(old-1) + x*(end-begin)*(old-1)/(length-1)
	case "tf_half_pixel_for_nn":
		return center + 0.5
	case "pytorch_half_pixel":
		if r.out[a].Size <= 1 {
			return 0
		}
	case "half_pixel_symmetric":
		return center + old/2*(1-float64(r.out[a].Size)/length)
	}
	return center
}

// weights appends to w those of the old elements from first on, for position at. There are equally many for all positions.
func (r *resampling) weights(pace *kernel.Pace, a int, at float64, w []float64) (first int, _ []float64) {
	low := math.Floor(at)
	frac := at - low
	switch r.Mode {
	case "nearest":
		return r.nearest(a, at, frac), append(w, 1)
	case "linear":
		return filter(pace, w, int(low), frac, r.width(a), 1, func(x float64) float64 { return max(0, 1-math.Abs(x)) })
	}
	k := -0.75
	if r.CubicA != nil {
		k = float64(*r.CubicA)
	}
	return filter(pace, w, int(low), frac, r.width(a), 2, func(x float64) float64 { return cubic(k, math.Abs(x)) })
}

// tapCount is the number of weights for a position.
func (r *resampling) tapCount(a int) int {
	switch r.Mode {
	case "nearest":
		return 1
	case "linear":
		return 2 - 2*filterBegin(r.width(a), 1)
	}
	return 2 - 2*filterBegin(r.width(a), 2)
}

// filterBegin is the first element that filter evaluates, seen from the element below the position.
func filterBegin(scale, radius float64) int { return int(math.Floor(-radius/scale)) + 1 }

// width returns the scale of the filter: below 1 it spreads over more elements.
func (r *resampling) width(a int) float64 {
	if r.Antialias {
		return min(r.scale[a], 1)
	}
	return 1
}

func (r *resampling) nearest(a int, at, frac float64) int {
	low := int(math.Floor(at))
	if frac == 0 {
		return low
	}
	mode := r.Nearest
	if r.floor10 {
		if mode = "floor"; r.scale[a] < 1 {
			mode = "ceil"
		}
	}
	switch {
	case mode == "floor", mode == "round_prefer_floor" && frac <= 0.5, mode == "round_prefer_ceil" && frac < 0.5:
		return low
	}
	return low + 1
}

// filter evaluates a filter that reaches as far as radius, widened by 1/scale, norms it, and appends it to w.
func filter(pace *kernel.Pace, w []float64, low int, frac, scale, radius float64, f func(x float64) float64) (first int, _ []float64) {
	from, begin := filterBegin(scale, radius), len(w)
	sum := 0.0
	for i := from; i < 2-from; i++ {
		pace.Did(8)
		v := f((float64(i) - frac) * scale)
		w = append(w, v)
		sum += v
	}
	if scale != 1 {
		for i := begin; i < len(w); i++ {
			pace.Did(2)
			w[i] /= sum
		}
	}
	return low + from, w
}

// cubic returns the convolution kernel of Keys with parameter a, at x ≥ 0.
func cubic(a, x float64) float64 {
	switch {
	case x <= 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return ((a*x-5*a)*x+8*a)*x - 4*a
	}
	return 0
}

package op

import (
	"slices"

	"gorgonia.org/gorgonia"
)

// ResizeConfig has the attributes of Resize.
type ResizeConfig struct {
	Mode            string   `onnx:"mode,default=nearest"`                                       // nearest, linear, cubic
	Coordinates     string   `onnx:"coordinate_transformation_mode,default=half_pixel,since=11"` // how output positions map to input positions
	Nearest         string   `onnx:"nearest_mode,default=round_prefer_floor,since=11"`           // round_prefer_floor, round_prefer_ceil, floor, ceil
	CubicA          *float32 `onnx:"cubic_coeff_a,since=11"`                                     // nil: -0.75
	ExcludeOutside  bool     `onnx:"exclude_outside,since=11"`                                   // weights beyond the edge count as 0
	Extrapolation   float32  `onnx:"extrapolation_value,default=0,since=11"`                     // outside, for tf_crop_and_resize
	Antialias       bool     `onnx:"antialias,since=18"`                                         // widen the filter when shrinking
	Axes            []int    `onnx:"axes,since=18"`                                              // that roi, scales and sizes are about; nil: all
	KeepAspectRatio string   `onnx:"keep_aspect_ratio_policy,default=stretch,since=18"`          // stretch, not_larger, not_smaller
}

// Operator makes ResizeConfig a Config.
func (ResizeConfig) Operator() Name { return Name{Name: "Resize"} }

// UpsampleConfig has the attributes of Upsample. From version 9 on the scales are an input.
type UpsampleConfig struct {
	Mode        string    `onnx:"mode,default=nearest"` // nearest, linear
	Scales      []float32 `onnx:"scales,since=7,until=8"`
	HeightScale float32   `onnx:"height_scale,until=6"`
	WidthScale  float32   `onnx:"width_scale,until=6"`
}

// Operator makes UpsampleConfig a Config.
func (UpsampleConfig) Operator() Name { return Name{Name: "Upsample"} }

func resize() *Op {
	return &Op{
		Name: "Resize", Since: []int{10, 11, 13, 18, 19},
		Doc: "Resamples a tensor to another size.",
		// In version 10 the second input is the scales.
		In: "X T, roi? any shape, scales? any shape, sizes? int64 shape", Out: "Y T", Attrs: ResizeConfig{},
		Check: checkResize, Infer: inferResize, Kernel: resampleKernel, Strings: moveStrings,
		Grad: resampleGrad, Couple: coupleResize,
		Traits: Traits{Zero: ZeroFirst, Channels: ChannelsFirst, Resize: resizeSizes},
	}
}

func upsample() *Op {
	return &Op{
		Name: "Upsample", Since: []int{1, 7, 9, 10},
		Doc: "The older form of Resize.",
		In:  "X T, scales? float32 shape", Out: "Y T", Attrs: UpsampleConfig{},
		Check: func(c *Call) error {
			if m := c.Config.(UpsampleConfig).Mode; !slices.Contains([]string{"nearest", "linear", "bilinear"}, m) {
				return c.Errorf("mode %q is unknown", m)
			}
			return nil
		},
		Infer: inferResize, Kernel: resampleKernel, Strings: moveStrings, Grad: resampleGrad, Couple: coupleResize,
		Traits: Traits{Zero: ZeroFirst, Channels: ChannelsFirst},
	}
}

func checkResize(c *Call) error {
	cfg := c.Config.(ResizeConfig)
	for _, k := range []struct {
		what, value string
		known       []string
	}{
		{"mode", cfg.Mode, []string{"nearest", "linear", "cubic"}},
		{"coordinate transformation mode", cfg.Coordinates, []string{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"}},
		{"nearest mode", cfg.Nearest, []string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
		{"policy", cfg.KeepAspectRatio, []string{"stretch", "not_larger", "not_smaller"}},
	} {
		if !slices.Contains(k.known, k.value) {
			return c.Errorf("%s %q is unknown", k.what, k.value)
		}
	}
	return nil
}

func inferResize(c *Call) ([]Type, error) {
	if c.In[0].Unranked {
		return []Type{c.In[0]}, nil
	}
	r, err := resampleOf(c)
	if err != nil {
		return []Type{c.In[0].With(anyDims(len(c.In[0].Shape))...)}, err
	}
	for a, d := range r.out {
		if d.Size > 0 && r.in[a].Size == 0 && !r.in[a].Symbolic() {
			return nil, c.Errorf("cannot make %v elements of none on axis %d", d, a)
		}
		if d.Size > maxMapped && !r.same(a) {
			return nil, c.Errorf("makes axis %d %v long, at most %d is possible", a, d.Size, maxMapped)
		}
	}
	return []Type{c.In[0].With(r.out...)}, nil
}

func resampleGrad(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	r, err := resampleOf(c)
	if err != nil {
		return nil, err
	}
	d, err := c.Apply1(resampleGradConfig{c.In[0].Shape, r.taps()}, dout[0])
	return gorgonia.Nodes{d}, err
}

// coupleResize ties the axes that keep their length.
func coupleResize(c *Call) []Coupling {
	r, err := resampleOf(c)
	if err != nil {
		return nil
	}
	var list []Coupling
	for a := range c.In[0].Shape {
		if r.same(a) {
			list = append(list, Couple(InAxis(0, a), OutAxis(0, a)))
		}
	}
	return list
}

// resizeSizes sets sizes on axes that indices leave or join; the others are sizes of pictures.
func resizeSizes(r *Resizing) error {
	now, ok := r.Ints(3)
	want := r.Out[0].New
	if !ok || want == nil {
		return nil
	}
	next := slices.Clone(now)
	for k := range next {
		axis := k
		if axes := r.Call.Config.(ResizeConfig).Axes; k < len(axes) {
			axis = axes[k]
		}
		if axis < 0 {
			axis += len(want)
		}
		if r.Out[0].KeptOn(axis) != nil {
			next[k] = want[axis]
		}
	}
	r.set(3, next)
	return nil
}

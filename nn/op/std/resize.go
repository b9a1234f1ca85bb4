package std

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
)

// ResizeConfig has the attributes of Resize.
type ResizeConfig struct {
	Mode            string   `onnx:"mode,default=nearest"`                                       // nearest, linear or cubic
	Coordinates     string   `onnx:"coordinate_transformation_mode,default=half_pixel,since=11"` // half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric or tf_crop_and_resize
	Nearest         string   `onnx:"nearest_mode,default=round_prefer_floor,since=11"`           // round_prefer_floor, round_prefer_ceil, floor or ceil
	CubicA          *float32 `onnx:"cubic_coeff_a,since=11,nil=-0.75"`                           // coefficient a of the cubic kernel; nil: -0.75
	ExcludeOutside  bool     `onnx:"exclude_outside,since=11"`                                   // positions outside of the input get weight 0; the others are renormalized
	Extrapolation   float32  `onnx:"extrapolation_value,default=0,since=11"`                     // value outside of the input, in tf_crop_and_resize
	Antialias       bool     `onnx:"antialias,since=18"`                                         // widen the filter when downsampling
	Axes            []int    `onnx:"axes,since=18"`                                              // that roi, scales and sizes refer to; nil: all
	KeepAspectRatio string   `onnx:"keep_aspect_ratio_policy,default=stretch,since=18"`          // how sizes are read: stretch, not_larger or not_smaller
}

// Operator makes ResizeConfig a Config.
func (ResizeConfig) Operator() op.Name { return op.Name{Name: "Resize"} }

// UpsampleConfig has the attributes of Upsample. From version 9 on the scales are an input.
type UpsampleConfig struct {
	Mode        string    `onnx:"mode,default=nearest"`   // nearest or linear (bilinear in version 1)
	Scales      []float32 `onnx:"scales,since=7,until=8"` // one per axis
	HeightScale float32   `onnx:"height_scale,until=6"`   // of version 1
	WidthScale  float32   `onnx:"width_scale,until=6"`    // of version 1
}

// Operator makes UpsampleConfig a Config.
func (UpsampleConfig) Operator() op.Name { return op.Name{Name: "Upsample"} }

func resize() *op.Op {
	return &op.Op{
		Name: "Resize", Since: []int{10, 11, 13, 18, 19}, Versions: resizeVersions(),
		Doc: "Resamples a tensor to another size.",
		// In version 10 the second input is the scales.
		In: "X T, roi? any shape, scales? any shape, sizes? int64 shape", Out: "Y T", Attrs: ResizeConfig{},
		Check: checkResize, Infer: inferResize, Kernel: resampleKernel, Strings: moveStrings,
		Grad: resampleGrad, Couple: coupleResize,
		Traits: op.Traits{Zero: op.ZeroFirst, Layout: trait.ChannelsFirst, Resize: resizeSizes},
	}
}

func upsample() *op.Op {
	return &op.Op{
		Name: "Upsample", Since: []int{1, 7, 9, 10}, Versions: upsampleVersions(),
		Doc: "The older form of Resize.",
		In:  "X T, scales? float32 shape", Out: "Y T", Attrs: UpsampleConfig{},
		Check: func(c *op.Call) error {
			if m := c.Config.(UpsampleConfig).Mode; !slices.Contains([]string{"nearest", "linear", "bilinear"}, m) {
				return c.Errorf("mode %q is unknown", m)
			}
			return nil
		},
		Infer: inferResize, Kernel: resampleKernel, Strings: moveStrings, Grad: resampleGrad, Couple: coupleResize,
		Traits: op.Traits{Zero: op.ZeroFirst, Layout: trait.ChannelsFirst},
	}
}

func checkResize(c *op.Call) error {
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

func inferResize(c *op.Call) ([]op.Type, error) {
	if c.In[0].Unranked {
		return []op.Type{c.In[0]}, nil
	}
	r, err := resampleOf(c)
	if err != nil {
		return []op.Type{c.In[0].With(anyDims(len(c.In[0].Shape))...)}, err
	}
	for a, d := range r.out {
		if d.Size > 0 && r.in[a].Size == 0 && !r.in[a].Symbolic() {
			return nil, c.Errorf("cannot make %v elements of none on axis %d", d, a)
		}
		if d.Size > maxMapped && !r.same(a) {
			if !r.given[a] {
				return nil, c.Errorf("scale %v makes axis %d longer than the %d elements that are possible", float32(r.scale[a]), a, maxMapped)
			}
			return nil, c.Errorf("makes axis %d %v long, at most %d is possible", a, d.Size, maxMapped)
		}
	}
	return []op.Type{c.In[0].With(r.out...)}, nil
}

func resampleGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	r, err := resampleOf(c)
	if err != nil {
		return nil, err
	}
	d, err := c.Apply1(resampleGradConfig{c.In[0].Shape, r}, dout[0])
	return gorgonia.Nodes{d}, err
}

// coupleResize ties the axes that keep their length.
func coupleResize(c *op.Call) []coupling.Coupling {
	r, err := resampleOf(c)
	if err != nil {
		return nil
	}
	var list []coupling.Coupling
	for a := range c.In[0].Shape {
		if r.same(a) {
			list = append(list, op.Couple(coupling.In(0, a), coupling.Out(0, a)))
		}
	}
	return list
}

// resizeSizes sets sizes on axes that indices leave or join; the others are sizes of images.
func resizeSizes(r *op.Resizing) error {
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
	r.Put(3, next)
	return nil
}

// Conversions between Upsample and Resize for versions that lack one of them. Upsample 9 and Resize 10
// compute the same, as does Resize 11 with the coordinates "asymmetric" and the nearest mode "floor".

func upsampleVersions() []op.Version {
	old := op.Refuse("version 7 reads its scales differently")
	up := op.OnConfig(func(n *op.Spelling, c *UpsampleConfig) error {
		d, err := dtype.FromSlice(slices.Clone(c.Scales), len(c.Scales))
		if err != nil {
			return err
		}
		c.Scales = nil
		n.Put(1, n.Tensor("scales", d))
		return nil
	})
	down := op.OnConfig(func(n *op.Spelling, c *UpsampleConfig) error {
		d, err := n.Constant(1)
		if err != nil {
			return err
		}
		if d == nil || dtype.Of(d.Dtype()) != dtype.Float32 {
			return errors.New("it has no scales")
		}
		c.Scales = slices.Clone(dtype.Slice[float32](d))
		n.Cut(1)
		return nil
	})
	renamed := func(n *op.Spelling) error {
		mode := n.Config.(UpsampleConfig).Mode
		if mode == "bilinear" {
			mode = "linear"
		}
		n.Config = op.Fill(ResizeConfig{Mode: mode})
		return nil
	}
	return []op.Version{{At: 7, Up: old, Down: old}, {At: 9, Up: up, Down: down}, {At: 10, Up: renamed}}
}

func resizeVersions() []op.Version {
	renamed := func(n *op.Spelling) error {
		n.Config = op.Fill(UpsampleConfig{Mode: n.Config.(ResizeConfig).Mode})
		return nil
	}
	up := op.OnConfig(func(n *op.Spelling, c *ResizeConfig) error {
		c.Coordinates, c.Nearest = "asymmetric", "floor"
		n.In = []*op.Operand{n.In[0], nil, n.In[1]}
		return resizeEmpty(n)
	})
	down := op.OnConfig(func(n *op.Spelling, c *ResizeConfig) error {
		if c.Coordinates != "asymmetric" || c.Mode == "nearest" && c.Nearest != "floor" || c.Mode == "cubic" {
			return fmt.Errorf("that version does not have mode %q with coordinates %q and nearest mode %q", c.Mode, c.Coordinates, c.Nearest)
		}
		if n.Has(3) || !n.Has(2) {
			return errors.New("it has no scales")
		}
		*c = op.Fill(ResizeConfig{Mode: c.Mode}).(ResizeConfig)
		n.In = []*op.Operand{n.In[0], n.In[2]}
		return nil
	})
	symmetric := op.OnConfig(func(n *op.Spelling, c *ResizeConfig) error { return without(c.Coordinates, "half_pixel_symmetric") })
	return []op.Version{{At: 10, Down: renamed}, {At: 11, Up: up, Down: down}, {At: 13, Down: resizeEmpty}, {At: 19, Down: symmetric}}
}

// resizeEmpty: before version 13 regions and scales that are absent are tensors without elements.
func resizeEmpty(n *op.Spelling) error {
	for i := 1; i < 3; i++ {
		if !n.Has(i) {
			n.Put(i, n.Tensor("none", dtype.New(dtype.Float32, 0)))
		}
	}
	return nil
}

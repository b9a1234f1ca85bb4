package legacy

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
)

// ImageScalerConfig has the attributes of ImageScaler: scale·x + bias, a bias for each channel.
type ImageScalerConfig struct {
	Bias  []float32 `onnx:"bias"`  // nil: none
	Scale *float32  `onnx:"scale"` // nil: 1
}

// Operator names the operator.
func (ImageScalerConfig) Operator() op.Name { return op.Name{Name: "ImageScaler"} }

// CropConfig has the attributes of Crop.
type CropConfig struct {
	Border []int `onnx:"border,required"` // left, top, right, bottom
	Scale  []int `onnx:"scale"`           // height and width of the output, taken from the left and top border on; nil: the right and bottom border end it
}

// Operator names the operator.
func (CropConfig) Operator() op.Name { return op.Name{Name: "Crop"} }

func images() []*op.Op {
	floats := op.Where{"T": op.Floats()}
	return []*op.Op{
		{Name: "ImageScaler", Since: []int{1}, Doc: "scale·x + bias, of images with a bias for each channel.",
			In: "input T", Out: "output T", Where: floats, Attrs: ImageScalerConfig{}, Infer: inferImageScaler, Lower: lowerImageScaler,
			Couple: func(c *op.Call) (list []coupling.Coupling) {
				for _, k := range op.CoupleAll(c, 0) {
					if k.To.Axis != 1 || len(c.Config.(ImageScalerConfig).Bias) == 0 { // the attribute does not follow a cut
						list = append(list, k)
					}
				}
				return list
			}},
		{Name: "Crop", Since: []int{1}, Doc: "Leaves out the borders of images.",
			In: "input T", Out: "output T", Where: floats, Attrs: CropConfig{}, Infer: inferCrop, Lower: lowerCrop,
			Couple: func(c *op.Call) []coupling.Coupling { return op.CoupleAll(c, 0)[:2] }},
	}
}

func inferImageScaler(c *op.Call) ([]op.Type, error) {
	x, bias := c.In[0], c.Config.(ImageScalerConfig).Bias
	if x.Unranked || bias == nil {
		return []op.Type{x}, nil
	}
	if len(x.Shape) < 2 || x.Shape[1].Differ(op.D(len(bias))) {
		return nil, c.Errorf("input is %v, but bias has %d numbers, one for each channel", x, len(bias))
	}
	return []op.Type{x}, nil
}

func lowerImageScaler(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	cfg, e := c.Config.(ImageScalerConfig), &expression{c: c}
	y := e.times(e.do(op.Plain("Identity"), in[0]), or1(cfg.Scale))
	if cfg.Bias != nil && e.err == nil {
		numbers, shape := make([]float64, len(cfg.Bias)), make([]int, len(c.In[0].Shape)-1)
		for i, b := range cfg.Bias {
			numbers[i] = float64(b)
		}
		for i := range shape {
			shape[i] = 1
		}
		shape[0] = len(numbers)
		y = e.do(op.Plain("Add"), y, e.constant(y, numbers, shape...))
	}
	return e.result(y)
}

func inferCrop(c *op.Call) ([]op.Type, error) {
	x, cfg := c.In[0], c.Config.(CropConfig)
	if len(cfg.Border) != 4 {
		return nil, c.Errorf("border has %d numbers, want left, top, right and bottom", len(cfg.Border))
	}
	if len(cfg.Scale) != 0 && len(cfg.Scale) != 2 {
		return nil, c.Errorf("scale has %d numbers, want a height and a width", len(cfg.Scale))
	}
	for _, b := range append(append([]int{}, cfg.Border...), cfg.Scale...) {
		if b < 0 {
			return nil, c.Errorf("border %v or scale %v is negative", cfg.Border, cfg.Scale)
		}
	}
	if x.Unranked {
		return []op.Type{x}, nil
	}
	if len(x.Shape) != 4 {
		return nil, c.Errorf("input is %v, want [batch, channels, height, width]", x)
	}
	size := []op.Dim{x.Shape[0], x.Shape[1], {}, {}}
	for i := range 2 {
		begin, end, length := cfg.Border[1-i], cfg.Border[3-i], x.Shape[2+i]
		rest := length.Sub(op.D(begin + end))
		if len(cfg.Scale) == 2 {
			rest, end = op.D(cfg.Scale[i]), 0
		}
		if length.Known() && (rest.Size <= 0 || begin+rest.Size > length.Size) {
			return nil, c.Errorf("cannot crop %v with border %v and scale %v: %s", x, cfg.Border, cfg.Scale, []string{"the height", "the width"}[i])
		}
		size[2+i] = rest
	}
	return []op.Type{x.With(size...)}, nil
}

func lowerCrop(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	e, border, size := &expression{c: c}, c.Config.(CropConfig).Border, c.Out[0].Sizes()
	return e.result(e.do(std.SliceConfig{}, in[0], e.ints(in[0], border[1], border[0]), e.ints(in[0], border[1]+size[2], border[0]+size[3]), e.ints(in[0], 2, 3)))
}

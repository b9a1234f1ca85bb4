package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MaxRoiPoolConfig has the attributes of MaxRoiPool.
type MaxRoiPoolConfig struct {
	Shape []int    `onnx:"pooled_shape,required"` // height and width of the output
	Scale *float32 `onnx:"spatial_scale,nil=1"`   // factor from coordinates of rois to those of X; nil: 1
}

// Operator makes MaxRoiPoolConfig a Config.
func (MaxRoiPoolConfig) Operator() op.Name { return op.Name{Name: "MaxRoiPool"} }

func maxRoiPool() *op.Op {
	return &op.Op{
		Name: "MaxRoiPool", Since: []int{1, 22}, Doc: "Maxima over the cells of regions of images.",
		In: "X T, rois T given", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: MaxRoiPoolConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			s := c.Config.(MaxRoiPoolConfig).Shape
			if len(s) != 2 || s[0] < 1 || s[1] < 1 || s[0] > maxExtent || s[1] > maxExtent {
				return nil, c.Errorf("pooled_shape %v: want two positive numbers", s)
			}
			return inferRois(c, 5, s[0], s[1])
		},
		// The hidden output has the index of each maximum, −1 for an empty cell.
		Hidden: func(c *op.Call) []op.Type { return []op.Type{c.Out[0].Of(dtype.Int64)} },
		Kernel: func(c *op.Call) (op.Kernel, error) {
			return floatKernel(c, maxRoiPoolKernel[float32](c), maxRoiPoolKernel[float64](c)), nil
		},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.Apply1(flatSumConfig{c.In[0].Shape}, dout[0], out[1])
			return gorgonia.Nodes{d}, err
		},
		Couple: func(c *op.Call) []coupling.Coupling {
			return []coupling.Coupling{op.Couple(coupling.In(0, 1), coupling.Out(0, 1))}
		},
	}
}

func maxRoiPoolKernel[T kernel.Float](c *op.Call) op.Kernel {
	cfg, s := c.Config.(MaxRoiPoolConfig), c.In[0].Sizes()
	scale, oh, ow := orFloat(cfg.Scale, 1), cfg.Shape[0], cfg.Shape[1]
	// span is which pixels cell o of n covers; none where the region's bounds are not numbers.
	span := func(from, length float64, o, n, limit int) (int, int) {
		size := length / float64(n)
		lo := math.Floor(float64(o)*size) + from
		hi := math.Ceil(float64(o+1)*size) + from
		l := float64(limit)
		if math.IsNaN(lo) || math.IsNaN(hi) {
			return 0, 0
		}
		return int(math.Min(math.Max(lo, 0), l)), int(math.Min(math.Max(hi, 0), l))
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		img, regions := dtype.Slice[T](in[0]), dtype.Slice[T](in[1])
		y, index := dtype.Elems[T](out[0]), dtype.ElemsAt[int64](out, 1)
		pace := pool(x).Pace()
		for n := range len(regions) / 5 {
			r := regions[5*n : 5*n+5]
			if i := float64(r[0]); !(i >= 0 && i < float64(s[0])) {
				return c.Errorf("region %d belongs to image %v of %d", n, r[0], s[0])
			}
			at := func(v T) float64 { return math.Round(float64(v) * scale) }
			x0, y0 := at(r[1]), at(r[2])
			w, h := math.Max(at(r[3])-x0+1, 1), math.Max(at(r[4])-y0+1, 1)
			for k := range s[1] * oh * ow {
				ch, oy, ox := k/(oh*ow), k/ow%oh, k%ow
				base := (int(r[0])*s[1] + ch) * s[2] * s[3]
				ya, yb := span(y0, h, oy, oh, s[2])
				xa, xb := span(x0, w, ox, ow, s[3])
				pace.Did(16)
				best := -1
				for py := ya; py < yb; py++ {
					pace.Did(xb - xa)
					for px := xa; px < xb; px++ {
						if p := base + py*s[3] + px; best < 0 || img[p] > img[best] {
							best = p
						}
					}
				}
				o := n*s[1]*oh*ow + k
				if index != nil {
					index[o] = int64(best)
				}
				if y == nil {
					continue
				}
				if y[o] = 0; best >= 0 {
					y[o] = img[best]
				}
			}
		}
		return nil
	}
}

// flatSumConfig adds elements up at positions of a tensor of that shape.
type flatSumConfig struct{ Shape []op.Dim }

func (flatSumConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "FlatSum"} }

func flatSum() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "FlatSum", Since: []int{1}, Doc: "Adds elements up at positions counted through the whole result; −1 is nowhere.",
		In: "dY T, at int64", Out: "dX T", Where: op.Where{"T": op.Floats()}, Attrs: flatSumConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{c.In[0].With(c.Config.(flatSumConfig).Shape...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			return floatKernel(c, flatSumKernel[float32], flatSumKernel[float64]), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

func flatSumKernel[T kernel.Float](x *op.Exec, out, in []*tensor.Dense) error {
	dy, at, dx := dtype.Slice[T](in[0]), dtype.Slice[int64](in[1]), dtype.Slice[T](out[0])
	kernel.Clear(pool(x), dx)
	pace := pool(x).Pace()
	for i, k := range at {
		pace.Did(1)
		if k >= 0 {
			dx[k] += dy[i]
		}
	}
	return nil
}

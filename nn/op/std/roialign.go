package std

import (
	"fmt"
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// RoiAlignConfig has the attributes of RoiAlign.
type RoiAlignConfig struct {
	Coordinates string   `onnx:"coordinate_transformation_mode,default=half_pixel,since=16"` // half_pixel or output_half_pixel, the behavior before version 16
	Mode        string   `onnx:"mode,default=avg"`                                           // over the sampling points: avg or max
	Height      int      `onnx:"output_height,default=1"`                                    // of the output
	Width       int      `onnx:"output_width,default=1"`                                     // of the output
	Sampling    int      `onnx:"sampling_ratio,default=0"`                                   // sampling points per axis of an output element; 0: ⌈region size / output size⌉
	Scale       *float32 `onnx:"spatial_scale,nil=1"`                                        // factor from coordinates of rois to those of X; nil: 1
}

// Operator makes RoiAlignConfig a Config.
func (RoiAlignConfig) Operator() op.Name { return op.Name{Name: "RoiAlign"} }

func roiAlign() *op.Op {
	return &op.Op{
		Name: "RoiAlign", Since: []int{10, 16, 22}, Versions: roiAlignVersions(), Doc: "Pools regions of images to one size, sampling between the pixels.",
		In: "X T1, rois T1 given, batch_indices int64", Out: "Y T1", Where: op.Where{"T1": op.Floats()}, Attrs: RoiAlignConfig{},
		Check: func(c *op.Call) error {
			cfg := c.Config.(RoiAlignConfig)
			switch {
			case cfg.Mode != "avg" && cfg.Mode != "max" || cfg.Coordinates != "half_pixel" && cfg.Coordinates != "output_half_pixel":
				return c.Errorf("mode %q or coordinate transformation mode %q is unknown", cfg.Mode, cfg.Coordinates)
			case cfg.Height < 1 || cfg.Width < 1 || cfg.Height > maxExtent || cfg.Width > maxExtent || cfg.Sampling < 0 || cfg.Sampling > 1<<10:
				return c.Errorf("output %d×%d or sampling ratio %d is out of range", cfg.Height, cfg.Width, cfg.Sampling)
			}
			return nil
		},
		Infer: func(c *op.Call) ([]op.Type, error) {
			cfg := c.Config.(RoiAlignConfig)
			return inferRois(c, 4, cfg.Height, cfg.Width)
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			r := roisOf(c)
			return floatKernel(c, roiAlignKernel[float32](c, r), roiAlignKernel[float64](c, r)), nil
		},
		// The regions get no gradient: proposals are taken as given.
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.Apply1(roiAlignGradConfig{roisOf(c), c.In[0].Shape}, dout[0], in[0], in[1], in[2])
			return gorgonia.Nodes{d}, err
		},
		Couple: func(c *op.Call) []coupling.Coupling {
			return []coupling.Coupling{op.Couple(coupling.In(0, 1), coupling.Out(0, 1))}
		},
	}
}

// inferRois returns the shape of pooled regions: [regions, channels, height, width].
func inferRois(c *op.Call, columns, height, width int) ([]op.Type, error) {
	x, rois := c.In[0], c.In[1]
	if x.Unranked || rois.Unranked {
		return []op.Type{x}, nil
	}
	if len(x.Shape) != 4 {
		return nil, c.Mismatch(0, "batch, channels and two spatial axes", x)
	}
	if len(rois.Shape) != 2 || rois.Shape[1].Differ(op.D(columns)) {
		return nil, c.Mismatch(1, op.T(x.DType, op.Sym("regions"), op.D(columns)), rois)
	}
	if c.Has(2) && !c.In[2].Unranked && (len(c.In[2].Shape) != 1 || c.In[2].Shape[0].Differ(rois.Shape[0])) {
		return nil, c.Mismatch(2, op.T(dtype.Int64, rois.Shape[0]), c.In[2])
	}
	return convOutput(c, []op.Dim{rois.Shape[0], x.Shape[1], op.D(height), op.D(width)})
}

// rois is the geometry of RoiAlign.
type rois struct {
	N, C, H, W, OH, OW int
	Sampling           int
	Scale              float64
	Half, Max          bool
}

func roisOf(c *op.Call) rois {
	cfg, s := c.Config.(RoiAlignConfig), c.In[0].Sizes()
	return rois{N: s[0], C: s[1], H: s[2], W: s[3], OH: cfg.Height, OW: cfg.Width, Sampling: cfg.Sampling,
		Scale: orFloat(cfg.Scale, 1), Half: c.Version >= 16 && cfg.Coordinates == "half_pixel", Max: cfg.Mode == "max"}
}

// cell calls f for every sampling point of output cell (oy, ox) of a region with the four pixels around it
// and their weights, unless f is nil; count is the number of points.
func (r *rois) cell(pace *kernel.Pace, roi [4]float64, oy, ox int, f func(at [4]int, w [4]float64)) (count int) {
	shift := 0.0
	if r.Half {
		shift = 0.5
	}
	x0, y0 := roi[0]*r.Scale-shift, roi[1]*r.Scale-shift
	w, h := roi[2]*r.Scale-shift-x0, roi[3]*r.Scale-shift-y0
	if !r.Half {
		w, h = math.Max(w, 1), math.Max(h, 1)
	}
	ch, cw := h/float64(r.OH), w/float64(r.OW)
	ny, nx := r.Sampling, r.Sampling
	if r.Sampling == 0 {
		ny, nx = points(ch), points(cw)
	}
	if f == nil {
		return max(ny*nx, 1)
	}
	for iy := range ny {
		pace.Did(10 * nx)
		y := y0 + float64(oy)*ch + (float64(iy)+0.5)*ch/float64(ny)
		for ix := range nx {
			x := x0 + float64(ox)*cw + (float64(ix)+0.5)*cw/float64(nx)
			if !(y >= -1 && y <= float64(r.H) && x >= -1 && x <= float64(r.W)) || r.H == 0 || r.W == 0 {
				continue
			}
			ya, yb, fy := between(y, r.H)
			xa, xb, fx := between(x, r.W)
			f([4]int{ya*r.W + xa, ya*r.W + xb, yb*r.W + xa, yb*r.W + xb},
				[4]float64{(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx})
		}
	}
	return max(ny*nx, 1)
}

// points returns the number of sampling points for a cell of the given length, within limits.
func points(length float64) int {
	return int(math.Min(math.Max(math.Ceil(length), 0), 1<<10))
}

// between returns the two pixels around coordinate x and how far x is after the first.
func between(x float64, n int) (a, b int, f float64) {
	x = math.Max(x, 0)
	if a = int(x); a >= n-1 {
		return n - 1, n - 1, 0
	}
	return a, a + 1, x - float64(a)
}

func regionOf[T kernel.Float](v []T, k int) (roi [4]float64) {
	for i := range roi {
		roi[i] = float64(v[4*k+i])
	}
	return roi
}

func (r *rois) image(c *op.Call, index []int64) error {
	for k, i := range index {
		if i < 0 || i >= int64(r.N) {
			return c.Errorf("region %d belongs to image %d of %d", k, i, r.N)
		}
	}
	return nil
}

func roiAlignKernel[T kernel.Float](c *op.Call, r rois) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		img, regions, index, y := dtype.Slice[T](in[0]), dtype.Slice[T](in[1]), dtype.Slice[int64](in[2]), dtype.Slice[T](out[0])
		if err := r.image(c, index); err != nil {
			return err
		}
		plane, cells := r.H*r.W, r.OH*r.OW
		pool(x).Range(len(index)*cells, 16, func(lo, hi int) {
			pace := pool(x).Pace()
			for k := lo; k < hi; k++ {
				n, p := k/cells, k%cells
				roi := regionOf(regions, n)
				for ch := range r.C {
					src := img[(int(index[n])*r.C+ch)*plane:][:plane]
					sum, top, some := T(0), T(0), false
					count := r.cell(&pace, roi, p/r.OW, p%r.OW, func(at [4]int, w [4]float64) {
						for i, a := range at {
							v := T(w[i]) * src[a]
							sum += v
							if !some || v > top {
								top, some = v, true
							}
						}
					})
					if r.Max {
						y[(n*r.C+ch)*cells+p] = top
					} else {
						y[(n*r.C+ch)*cells+p] = sum / T(count)
					}
				}
			}
		})
		return nil
	}
}

type roiAlignGradConfig struct {
	Rois  rois
	Shape []op.Dim
}

func (roiAlignGradConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "RoiAlignGrad"}
}

func roiAlignGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "RoiAlignGrad", Since: []int{1}, Doc: "Gradient of RoiAlign.",
		In: "dY T, X T, rois T, batch_indices int64", Out: "dX T", Where: op.Where{"T": op.Floats()}, Attrs: roiAlignGradConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[1]}, nil },
		Kernel: func(c *op.Call) (op.Kernel, error) {
			r := c.Config.(roiAlignGradConfig).Rois
			return floatKernel(c, roiAlignBack[float32](c, r), roiAlignBack[float64](c, r)), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

func roiAlignBack[T kernel.Float](c *op.Call, r rois) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dy, img, regions, index := dtype.Slice[T](in[0]), dtype.Slice[T](in[1]), dtype.Slice[T](in[2]), dtype.Slice[int64](in[3])
		dx := dtype.Slice[T](out[0])
		p := pool(x)
		kernel.Clear(p, dx)
		if err := r.image(c, index); err != nil {
			return err
		}
		plane, cells := r.H*r.W, r.OH*r.OW
		p.Run(r.C, func(_, ch int) { // regions may overlap, channels do not
			pace := p.Pace()
			for k := range len(index) * cells {
				n, o := k/cells, k%cells
				base := (int(index[n])*r.C + ch) * plane
				g := dy[(n*r.C+ch)*cells+o]
				roi := regionOf(regions, n)
				if !r.Max {
					count := r.cell(&pace, roi, o/r.OW, o%r.OW, nil)
					r.cell(&pace, roi, o/r.OW, o%r.OW, func(at [4]int, w [4]float64) {
						for i, a := range at {
							dx[base+a] += g * T(w[i]) / T(count)
						}
					})
					continue
				}
				best, weight, top := -1, T(0), T(0)
				r.cell(&pace, roi, o/r.OW, o%r.OW, func(at [4]int, w [4]float64) {
					for i, a := range at {
						if v := T(w[i]) * img[base+a]; best < 0 || v > top {
							best, weight, top = a, T(w[i]), v
						}
					}
				})
				if best >= 0 {
					dx[base+best] += g * weight
				}
			}
		})
		return nil
	}
}

// roiAlignVersions: before version 16 regions were not moved by half a pixel, and there was no attribute to say so.
func roiAlignVersions() []op.Version {
	up := op.OnConfig(func(n *op.Spelling, c *RoiAlignConfig) error {
		c.Coordinates = "output_half_pixel"
		return nil
	})
	down := op.OnConfig(func(n *op.Spelling, c *RoiAlignConfig) error {
		if c.Coordinates != "output_half_pixel" {
			return fmt.Errorf("that version does not have coordinates %q", c.Coordinates)
		}
		c.Coordinates = "half_pixel" // the default of an attribute that is not there
		return nil
	})
	return []op.Version{{At: 16, Up: up, Down: down}}
}

package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// GridSampleConfig has the attributes of GridSample. Mode is linear, cubic or nearest; before
// version 20 the first two are called bilinear and bicubic.
type GridSampleConfig struct {
	AlignCorners bool   `onnx:"align_corners"`              // −1 and 1 are the centers of the outermost pixels, not their outer edges
	Mode         string `onnx:"mode"`                       // linear, cubic or nearest; "": linear
	Padding      string `onnx:"padding_mode,default=zeros"` // outside of the image: zeros, border or reflection
}

// Operator makes GridSampleConfig a Config.
func (GridSampleConfig) Operator() op.Name { return op.Name{Name: "GridSample"} }

func gridSample() *op.Op {
	return &op.Op{
		Name: "GridSample", Since: []int{16, 20, 22}, Versions: gridSampleVersions(), Doc: "Samples images at positions between −1 and 1.",
		In: "X T1, grid T2", Out: "Y T1", Where: op.Where{"T1": append([]op.DType{dtype.Bool}, op.Numeric()...), "T2": op.Floats()}, Attrs: GridSampleConfig{},
		Check: func(c *op.Call) error {
			cfg := c.Config.(GridSampleConfig)
			if !slices.Contains([]string{"", "linear", "bilinear", "cubic", "bicubic", "nearest"}, cfg.Mode) || !slices.Contains([]string{"zeros", "border", "reflection"}, cfg.Padding) {
				return c.Errorf("mode %q or padding mode %q is unknown", cfg.Mode, cfg.Padding)
			}
			return nil
		},
		Infer: inferGridSample,
		Kernel: func(c *op.Call) (op.Kernel, error) {
			s, err := sampleOf(c)
			if err != nil {
				return nil, err
			}
			if c.In[0].DType == dtype.Float32 && c.In[1].DType == dtype.Float32 {
				return gridSampleKernel[float32](s), nil
			}
			return inDouble(gridSampleKernel[float64](s)), nil
		},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			s, err := sampleOf(c)
			if err != nil {
				return nil, err
			}
			return c.ApplyN(2, gridSampleGradConfig{s}, dout[0], in[0], in[1])
		},
		Couple: func(c *op.Call) []coupling.Coupling {
			list := []coupling.Coupling{op.Couple(coupling.In(0, 1), coupling.Out(0, 1))}
			for a := 1; a < len(c.In[1].Shape)-1; a++ {
				list = append(list, op.Couple(coupling.In(1, a), coupling.Out(0, a+1)))
			}
			return list
		},
	}
}

func inferGridSample(c *op.Call) ([]op.Type, error) {
	x, g := c.In[0], c.In[1]
	if x.Unranked || g.Unranked {
		return []op.Type{{DType: x.DType, Unranked: true}}, nil
	}
	n := len(x.Shape) - 2
	if n < 1 || n > 3 {
		return nil, c.Mismatch(0, "batch, channels and 1 to 3 spatial axes", x)
	}
	if len(g.Shape) != n+2 || g.Shape[n+1].Differ(op.D(n)) || g.Shape[0].Differ(x.Shape[0]) {
		return nil, c.Mismatch(1, "a position for every output point", g)
	}
	return []op.Type{x.With(append([]op.Dim{x.Shape[0], x.Shape[1]}, g.Shape[1:n+1]...)...)}, nil
}

// inDouble runs a float64 kernel on other element types.
func inDouble(k op.Kernel) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		args, res := slices.Clone(in), slices.Clone(out)
		for i, d := range in {
			if d == nil || dtype.Of(d.Dtype()) == dtype.Int64 && i > 1 { // indices
				continue
			}
			var err error
			if args[i], err = convertTo(pool(x), dtype.Float64, d); err != nil {
				return err
			}
		}
		for i, d := range out {
			if d != nil {
				res[i] = dtype.New(dtype.Float64, d.Shape()...)
			}
		}
		if err := k(x, res, args); err != nil {
			return err
		}
		for i, d := range out {
			if d != nil {
				if err := convert(pool(x), dtype.Cast{}, d, res[i]); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// sample is the geometry of GridSample: images of C channels of space In, Points positions each.
type sample struct {
	N, C, Points  int
	In            []int
	Mode, Padding string
	Corners       bool
}

func sampleOf(c *op.Call) (sample, error) {
	cfg := c.Config.(GridSampleConfig)
	s := c.In[0].Sizes()
	g := c.In[1].Sizes()
	r := sample{N: s[0], C: s[1], In: s[2:], Points: dtype.Product(g[1 : len(g)-1]), Mode: "linear", Padding: cfg.Padding, Corners: cfg.AlignCorners}
	switch cfg.Mode {
	case "nearest":
		r.Mode = "nearest"
	case "cubic", "bicubic":
		r.Mode = "cubic"
	}
	if dtype.Product(r.In) == 0 && r.Points > 0 && r.Padding != "zeros" {
		return r, c.Mismatch(0, "pixels", c.In[0])
	}
	return r, nil
}

// tap is what is read along one axis: up to four pixels (−1: zero) with their weights and the derivatives
// of these with respect to the coordinate of the grid.
type tap struct {
	n     int
	at    [4]int
	w, dw [4]float64
}

// corner is one pixel that a position reads, with its weight and the weight's derivatives.
type corner struct {
	at int
	w  float64
	dw [3]float64
}

// corners returns the pixels that position p, x first, reads.
func (s *sample) corners(p []float64, buf []corner) []corner {
	n := len(s.In)
	var taps [3]tap
	for a := range n {
		taps[a] = s.tap(p[n-1-a], s.In[a])
	}
	list := append(buf[:0], corner{w: 1, dw: [3]float64{1, 1, 1}})
	for a := range n {
		old := len(list)
		t := &taps[a]
		for range t.n - 1 {
			list = append(list, list[:old]...)
		}
		for k := range t.n {
			for i := k * old; i < (k+1)*old; i++ {
				c := &list[i]
				if c.at >= 0 {
					if c.at = c.at*s.In[a] + t.at[k]; t.at[k] < 0 {
						c.at = -1
					}
				}
				c.w *= t.w[k]
				for d := range n {
					if d == a {
						c.dw[d] *= t.dw[k]
					} else {
						c.dw[d] *= t.w[k]
					}
				}
			}
		}
	}
	return list
}

func gridSampleKernel[T kernel.Float](s sample) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		img, grid, y := dtype.Slice[T](in[0]), dtype.Slice[T](in[1]), dtype.Slice[T](out[0])
		n, size := len(s.In), dtype.Product(s.In)
		pool(x).Range(s.N*s.Points, 64, func(lo, hi int) {
			var buf [64]corner
			var p [3]float64
			pace := pool(x).Pace()
			for k := lo; k < hi; k++ {
				for a := range n {
					p[a] = float64(grid[k*n+a])
				}
				list := s.corners(p[:n], buf[:])
				base := k / s.Points * s.C
				pace.Did(10 * len(list))
				for ch := range s.C {
					pace.Did(len(list))
					sum, src := T(0), img[(base+ch)*size:(base+ch+1)*size]
					for i := range list {
						if list[i].at >= 0 && list[i].w != 0 {
							sum += T(list[i].w) * src[list[i].at]
						}
					}
					y[(base+ch)*s.Points+k%s.Points] = sum
				}
			}
		})
		return nil
	}
}

type gridSampleGradConfig struct{ Sample sample }

func (gridSampleGradConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "GridSampleGrad"}
}

func gridSampleGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "GridSampleGrad", Since: []int{1}, Doc: "Gradient of GridSample.",
		In: "dY T, X T, grid T2", Out: "dX T, dgrid T2", Where: op.Where{"T": op.Floats(), "T2": op.Floats()}, Attrs: gridSampleGradConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[1], c.In[2]}, nil },
		Kernel: func(c *op.Call) (op.Kernel, error) {
			s := c.Config.(gridSampleGradConfig).Sample
			return mixedPrecision(c, gridSampleBack[float32](s), gridSampleBack[float64](s)), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

func gridSampleBack[T kernel.Float](s sample) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dy, img, grid := dtype.Slice[T](in[0]), dtype.Slice[T](in[1]), dtype.Slice[T](in[2])
		dx, dgrid := dtype.Elems[T](out[0]), dtype.ElemsAt[T](out, 1)
		p := pool(x)
		kernel.Clear(p, dx)
		n, size := len(s.In), dtype.Product(s.In)
		p.Run(s.N, func(_, img0 int) { // positions of one image may share a pixel
			var buf [64]corner
			var at [3]float64
			pace := p.Pace()
			for k := img0 * s.Points; k < (img0+1)*s.Points; k++ {
				for a := range n {
					at[a] = float64(grid[k*n+a])
				}
				list := s.corners(at[:n], buf[:])
				pace.Did(10 * len(list))
				var dp [3]float64
				for ch := range s.C {
					pace.Did(len(list))
					plane := (img0*s.C + ch) * size
					g := dy[(img0*s.C+ch)*s.Points+k%s.Points]
					for i := range list {
						if list[i].at < 0 {
							continue
						}
						if dx != nil {
							dx[plane+list[i].at] += g * T(list[i].w)
						}
						for a := range n {
							dp[a] += float64(g*img[plane+list[i].at]) * list[i].dw[a]
						}
					}
				}
				if dgrid != nil {
					for a := range n {
						dgrid[k*n+n-1-a] = T(dp[a])
					}
				}
			}
		})
		return nil
	}
}

// gridSampleVersions: version 20 gave the modes the names that Resize has for them.
func gridSampleVersions() []op.Version {
	rename := func(names map[string]string) func(*op.Spelling) error {
		return op.OnConfig(func(n *op.Spelling, c *GridSampleConfig) error {
			if name, ok := names[c.Mode]; ok {
				c.Mode = name
			}
			return nil
		})
	}
	return []op.Version{{At: 20, Up: rename(map[string]string{"bilinear": "linear", "bicubic": "cubic"}), Down: rename(map[string]string{"linear": "bilinear", "cubic": "bicubic"})}}
}

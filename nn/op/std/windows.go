package std

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// HannWindowConfig has the attributes of HannWindow. Periodic is true when nil.
type HannWindowConfig struct {
	Output   op.DType `onnx:"output_datatype,default=float32"` // type of the output
	Periodic *bool    `onnx:"periodic,nil=true"`               // the first size points of the symmetric window of size+1; nil: true
}

// Operator makes HannWindowConfig a Config.
func (HannWindowConfig) Operator() op.Name { return op.Name{Name: "HannWindow"} }

// HammingWindowConfig has the attributes of HammingWindow, which are those of HannWindow.
type HammingWindowConfig HannWindowConfig

// Operator makes HammingWindowConfig a Config.
func (HammingWindowConfig) Operator() op.Name { return op.Name{Name: "HammingWindow"} }

// BlackmanWindowConfig has the attributes of BlackmanWindow, which are those of HannWindow.
type BlackmanWindowConfig HannWindowConfig

// Operator makes BlackmanWindowConfig a Config.
func (BlackmanWindowConfig) Operator() op.Name { return op.Name{Name: "BlackmanWindow"} }

// cosineWindows are sums of cosines.
func cosineWindows() []*op.Op {
	window := func(name string, attrs op.Config, terms ...float64) *op.Op {
		of := func(c *op.Call) (n int, t op.DType, periodic bool, err error) {
			var cfg HannWindowConfig
			switch k := c.Config.(type) {
			case HannWindowConfig:
				cfg = k
			case HammingWindowConfig:
				cfg = HannWindowConfig(k)
			case BlackmanWindowConfig:
				cfg = HannWindowConfig(k)
			}
			if !cfg.Output.IsNumeric() {
				return 0, 0, false, c.Errorf("output_datatype %v is not numeric", cfg.Output)
			}
			size, err := c.Ints(0)
			if err != nil {
				return 0, cfg.Output, false, err
			}
			if len(size) != 1 || size[0] < 0 || size[0] > op.MaxElements/16 {
				return 0, 0, false, c.Errorf("size %v: want one number from 0 to %d", size, op.MaxElements/16)
			}
			return size[0], cfg.Output, cfg.Periodic == nil || *cfg.Periodic, nil
		}
		return &op.Op{
			Name: name, Since: []int{17}, Doc: "A " + name[:len(name)-6] + " window.",
			In: "size T1 shape", Out: "output T2", Where: op.Where{"T1": op.Indices(), "T2": op.Numeric()}, Attrs: attrs,
			Infer: func(c *op.Call) ([]op.Type, error) {
				n, t, _, err := of(c)
				if err != nil {
					return []op.Type{op.T(t, op.Unknown())}, err
				}
				return []op.Type{op.Shaped(t, n)}, nil
			},
			Kernel: valueFunction(func(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
				n, t, periodic, err := of(c)
				if err != nil {
					return nil, err
				}
				length := float64(n - 1)
				if periodic {
					length++
				}
				return func(p *kernel.Pool, _ []dtype.Value) ([]dtype.Value, error) {
					v := make([]float64, n)
					for i := range v {
						checkAt(p, i)
						for k, a := range slices.Backward(terms) { // the small ones first: the middle is 1, for integers too
							v[i] += a * math.Cos(2*math.Pi*float64(k)*float64(i)/math.Max(length, 1))
						}
					}
					d, err := tensorOf(p, t, v, n)
					return []dtype.Value{d}, err
				}, nil
			}).kernel,
			NoGrad: "constant", Pinned: "the elements are points in time",
		}
	}
	return []*op.Op{
		window("HannWindow", HannWindowConfig{}, 0.5, -0.5),
		window("HammingWindow", HammingWindowConfig{}, 25.0/46, -21.0/46),
		window("BlackmanWindow", BlackmanWindowConfig{}, 0.42, -0.5, 0.08),
	}
}

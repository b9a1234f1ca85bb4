package op

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
)

// HannWindowConfig has the attributes of HannWindow. Periodic is true when nil.
type HannWindowConfig struct {
	Output   DType `onnx:"output_datatype,default=float32"`
	Periodic *bool `onnx:"periodic"` // the window of one more element, without its last
}

// Operator makes HannWindowConfig a Config.
func (HannWindowConfig) Operator() Name { return Name{Name: "HannWindow"} }

// HammingWindowConfig has the attributes of HammingWindow, which are those of HannWindow.
type HammingWindowConfig HannWindowConfig

// Operator makes HammingWindowConfig a Config.
func (HammingWindowConfig) Operator() Name { return Name{Name: "HammingWindow"} }

// BlackmanWindowConfig has the attributes of BlackmanWindow, which are those of HannWindow.
type BlackmanWindowConfig HannWindowConfig

// Operator makes BlackmanWindowConfig a Config.
func (BlackmanWindowConfig) Operator() Name { return Name{Name: "BlackmanWindow"} }

// cosineWindows are sums of cosines.
func cosineWindows() []*Op {
	window := func(name string, attrs Config, terms ...float64) *Op {
		of := func(c *Call) (n int, t DType, periodic bool, err error) {
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
			if len(size) != 1 || size[0] < 0 || size[0] > maxElements/16 {
				return 0, 0, false, c.Errorf("size %v: want one number that is not negative", size)
			}
			return size[0], cfg.Output, cfg.Periodic == nil || *cfg.Periodic, nil
		}
		return &Op{
			Name: name, Since: []int{17}, Doc: "A " + name[:len(name)-6] + " window.",
			In: "size T1 shape", Out: "output T2", Where: Where{"T1": Indices, "T2": Numeric}, Attrs: attrs,
			Infer: func(c *Call) ([]Type, error) {
				n, t, _, err := of(c)
				if err != nil {
					return []Type{T(t, Unknown)}, err
				}
				return []Type{Shaped(t, n)}, nil
			},
			Kernel: valued(func(c *Call) (func([]dtype.Value) ([]dtype.Value, error), error) {
				n, t, periodic, err := of(c)
				if err != nil {
					return nil, err
				}
				length := float64(n - 1)
				if periodic {
					length++
				}
				v := make([]float64, n)
				for i := range v {
					for k, a := range slices.Backward(terms) { // the small ones first: the middle is 1, for integers too
						v[i] += a * math.Cos(2*math.Pi*float64(k)*float64(i)/math.Max(length, 1))
					}
				}
				return func([]dtype.Value) ([]dtype.Value, error) {
					d, err := tensorOf(t, v, n)
					return []dtype.Value{d}, err
				}, nil
			}).kernel,
			NoGrad: "constant", Pinned: "the elements are points in time",
		}
	}
	return []*Op{
		window("HannWindow", HannWindowConfig{}, 0.5, -0.5),
		window("HammingWindow", HammingWindowConfig{}, 25.0/46, -21.0/46),
		window("BlackmanWindow", BlackmanWindowConfig{}, 0.42, -0.5, 0.08),
	}
}

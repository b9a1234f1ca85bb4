package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/vector"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// RMSNormalizationConfig has the attributes of RMSNormalization. Axis is -1 when nil: the first of
// the axes that are normalized over.
type RMSNormalizationConfig struct {
	Axis      *int     `onnx:"axis,nil=-1"`                // first axis of the normalized ones; −1 when nil
	Epsilon   *float32 `onnx:"epsilon,nil=1e-05"`          // 1e-5 when nil
	StashType op.DType `onnx:"stash_type,default=float32"` // type to compute in; at least float32 is always used
}

// Operator makes RMSNormalizationConfig a Config.
func (RMSNormalizationConfig) Operator() op.Name { return op.Name{Name: "RMSNormalization"} }

func rmsNormalization() *op.Op {
	return &op.Op{
		Name: "RMSNormalization", Since: []int{23}, Decompose: decomposeRMSNorm, Expose: spelled(exposeRMSNorm),
		Doc: "Divides by the root of the mean square over the last axes, then scales.",
		In:  "X T, scale V weight", Out: "Y V", Where: op.Where{"T": op.Floats(), "V": op.Floats()},
		Attrs: RMSNormalizationConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			_, err := lastAxes(c, c.Config.(RMSNormalizationConfig).Axis, 1)
			return []op.Type{c.In[0].Of(c.In[1].DType)}, err
		},
		// The hidden output is 1/root of each row.
		Hidden: func(c *op.Call) []op.Type {
			l, _ := rmsOf(c)
			return []op.Type{op.Shaped(computed(c.In[0].DType), l.Rows)}
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			l, err := rmsOf(c)
			return mixedPrecision(c, rmsNormed[float32](l), rmsNormed[float64](l)), err
		},
		Grad: rmsGradNodes,
		Couple: func(c *op.Call) []coupling.Coupling {
			axis, err := lastAxes(c, c.Config.(RMSNormalizationConfig).Axis)
			if err != nil {
				return nil
			}
			return coupleAffine(c, axis)
		},
		Traits: normalizedLast(),
	}
}

func rmsOf(c *op.Call) (layer, error) {
	cfg := c.Config.(RMSNormalizationConfig)
	axis, err := lastAxes(c, cfg.Axis, 1)
	if err != nil {
		return layer{}, err
	}
	return newLayer(c, axis, float32(orFloat(cfg.Epsilon, 1e-5))), nil
}

func rmsNormed[T kernel.Float](l layer) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		a, y, keep := dtype.Elems[T](in[0]), dtype.Elems[T](out[0]), dtype.ElemsAt[T](out, 1)
		scale := expanded[T](x, l, in[1], l.Scale)
		pool(x).Range(l.Rows, 1+4096/max(l.Cols, 1), func(lo, hi int) {
			for r := lo; r < hi; r++ {
				row := a[r*l.Cols : (r+1)*l.Cols]
				inv := T(1 / math.Sqrt(float64(vector.SumSq(pool(x).Serial(), row))/float64(l.Cols)+l.Eps))
				if keep != nil {
					keep[r] = inv
				}
				if y == nil {
					continue
				}
				pool(x).InParts(l.Cols, func(lo, hi int) {
					for i := lo; i < hi; i++ {
						y[r*l.Cols+i] = row[i] * inv * scale[i]
					}
				})
			}
		})
		return nil
	}
}

// rmsGrad is the configuration of RMSNormalizationGrad.
type rmsGrad struct{ Layer layer }

func (rmsGrad) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "RMSNormalizationGrad"} }

func rmsNormalizationGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "RMSNormalizationGrad", Since: []int{1}, Decompose: spelled(spellRMSNormGrad), Doc: "Gradient of RMSNormalization.",
		In: "dY V, X T, scale V, inv U", Out: "dX T, dscale V", Where: op.Where{"T": op.Floats(), "V": op.Floats()},
		Attrs: rmsGrad{}, GradMissing: op.NotTwice, Pinned: "gradient",
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{c.In[1], c.In[0].With(op.Dims(c.Config.(rmsGrad).Layer.Norm...)...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			l := c.Config.(rmsGrad).Layer
			return mixedPrecision(c, rmsBack[float32](l), rmsBack[float64](l)), nil
		},
	}
}

// rmsBack: with x̂ = x·inv and g = dy·scale, dx = inv·(g − x̂·mean(g·x̂)) and dscale = Σ dy·x̂.
func rmsBack[T kernel.Float](l layer) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dy, a, inv := dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](in[3])
		scale := expanded[T](x, l, in[2], l.Scale)
		if dx := dtype.Elems[T](out[0]); dx != nil {
			pool(x).Range(l.Rows, 1+4096/max(l.Cols, 1), func(lo, hi int) {
				for r := lo; r < hi; r++ {
					at, dot := r*l.Cols, T(0)
					pool(x).InParts(l.Cols, func(lo, hi int) {
						for i := lo; i < hi; i++ {
							dot += dy[at+i] * scale[i] * a[at+i]
						}
					})
					k := dot * inv[r] * inv[r] / T(l.Cols)
					pool(x).InParts(l.Cols, func(lo, hi int) {
						for i := lo; i < hi; i++ {
							dx[at+i] = inv[r] * (dy[at+i]*scale[i] - a[at+i]*k)
						}
					})
				}
			})
		}
		if ds := dtype.ElemsAt[T](out, 1); ds != nil {
			pool(x).Range(l.Cols, 1+4096/max(l.Rows, 1), func(lo, hi int) {
				clear(ds[lo:hi])
				pace := pool(x).Pace()
				for r := range l.Rows {
					pace.Did(hi - lo)
					for i := lo; i < hi; i++ {
						ds[i] += dy[r*l.Cols+i] * a[r*l.Cols+i] * inv[r]
					}
				}
			})
		}
		return nil
	}
}

func rmsGradNodes(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	l, err := rmsOf(c)
	if err != nil {
		return nil, err
	}
	g, err := c.ApplyN(2, rmsGrad{l}, dout[0], in[0], in[1], out[1])
	if err != nil {
		return nil, err
	}
	g[1], err = sumAffine(c, g[1], l.Norm, c.In[1].Shape)
	return g, err
}

// decomposeRMSNorm computes in the stash type, as ONNX's function does, but no less precisely than the input is.
func decomposeRMSNorm(n *op.Spelling) error {
	c := n.Config.(RMSNormalizationConfig)
	axes, err := axesFrom(n, orInt(c.Axis, -1))
	if err != nil {
		return err
	}
	wide := n.DType(0)
	if wide.Bits() < c.StashType.Bits() {
		wide = c.StashType
	}
	x := castTo(n, wide, n.In[0])
	deviation, err := deviation(n, x, axes, wide, float32(orFloat(c.Epsilon, 1e-5)))
	if err != nil {
		return err
	}
	y := castTo(n, n.DType(1), n.Before("normal", op.Plain("Div"), x, deviation))
	n.Give(0, n.Before("", op.Plain("Mul"), y, n.In[1]))
	return nil
}

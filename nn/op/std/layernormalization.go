package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/norm"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LayerNormalizationConfig has the attributes of LayerNormalization. Axis is -1 when nil: the
// first of the axes that are normalized over.
type LayerNormalizationConfig struct {
	Axis      *int     `onnx:"axis,nil=-1"`                // first axis of the normalized ones; −1 when nil
	Epsilon   *float32 `onnx:"epsilon,nil=1e-05"`          // 1e-5 when nil
	StashType op.DType `onnx:"stash_type,default=float32"` // element type of Mean and InvStdDev
}

// Operator makes LayerNormalizationConfig a Config.
func (LayerNormalizationConfig) Operator() op.Name { return op.Name{Name: "LayerNormalization"} }

func layerNormalization() *op.Op {
	return &op.Op{
		Name: "LayerNormalization", Since: []int{17}, Decompose: decomposeLayerNorm, Expose: spelled(exposeLayerNorm),
		Doc: "Normalizes over the last axes, then scales and shifts.",
		In:  "X T, Scale T weight, B? T weight", Out: "Y T, Mean? U, InvStdDev? U", Where: op.Where{"T": op.Floats()},
		Attrs:      LayerNormalizationConfig{},
		Scheduling: op.Scheduling{InPlace: []int{0}, Rows: layerNormRows}, Infer: inferLayerNorm, Hidden: layerNormHidden, Kernel: layerNormKernel, Grad: layerNormGrad, Couple: coupleLayerNorm,
		Traits: normalizedLast(),
	}
}

// lastAxes returns the first normalized axis, after checking that input i (if there) broadcasts to the normalized shape.
func lastAxes(c *op.Call, attr *int, affine ...int) (int, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return 0, err
	}
	axis, err := c.Axis(orInt(attr, -1), rank)
	if err != nil {
		return 0, err
	}
	normalized := c.In[0].Shape[axis:]
	for _, i := range affine {
		if !c.Has(i) || c.In[i].Unranked {
			continue
		}
		s := c.In[i].Shape
		for len(s) > len(normalized) && s[0].Size == 1 {
			s = s[1:]
		}
		for k, d := range s {
			if len(s) > len(normalized) || d.Size != 1 && d.Differ(normalized[k+len(normalized)-len(s)]) {
				return 0, c.Mismatch(i, c.In[0].With(normalized...), c.In[i])
			}
		}
	}
	return axis, nil
}

func inferLayerNorm(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(LayerNormalizationConfig)
	axis, err := lastAxes(c, cfg.Axis, 1, 2)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(op.Floats(), cfg.StashType) {
		return nil, c.Errorf("stash_type %v is not a floating-point type", cfg.StashType)
	}
	stat := slices.Clone(c.In[0].Shape)
	for i := axis; i < len(stat); i++ {
		stat[i] = op.D(1)
	}
	return []op.Type{c.In[0], op.T(cfg.StashType, stat...), op.T(cfg.StashType, stat...)}, nil
}

// layerNormHidden are mean and 1/deviation of each row in the precision of the computation.
func layerNormHidden(c *op.Call) []op.Type {
	l, _ := layerNormOf(c)
	t := op.Shaped(computed(c.In[0].DType), l.Rows)
	return []op.Type{t, t}
}

// layer is the geometry of a normalization over the last axes. Scale and Bias are the shapes of
// those inputs, which broadcast to Norm; nil where absent.
type layer struct {
	Rows, Cols        int
	Norm, Scale, Bias []int
	Eps               float64
}

func newLayer(c *op.Call, axis int, eps float32) layer {
	s := c.In[0].Sizes()
	l := layer{Rows: dtype.Product(s[:axis]), Cols: dtype.Product(s[axis:]), Norm: s[axis:], Eps: float64(eps)}
	shape := func(i int) []int {
		if !c.Has(i) {
			return nil
		}
		v := c.In[i].Sizes()
		return v[max(len(v)-len(l.Norm), 0):]
	}
	l.Scale, l.Bias = shape(1), shape(2)
	return l
}

func layerNormOf(c *op.Call) (layer, error) {
	cfg := c.Config.(LayerNormalizationConfig)
	axis, err := lastAxes(c, cfg.Axis, 1, 2)
	if err != nil {
		return layer{}, err
	}
	return newLayer(c, axis, float32(orFloat(cfg.Epsilon, 1e-5))), nil
}

func layerNormKernel(c *op.Call) (op.Kernel, error) {
	l, err := layerNormOf(c)
	return mixedPrecision(c, layerNormed[float32](l), layerNormed[float64](l)), err
}

// expanded is v, of shape from, broadcast to the normalized shape.
func expanded[T kernel.Float](x *op.Exec, l layer, v *tensor.Dense, from []int) []T {
	if v == nil || v.Shape().TotalSize() == l.Cols {
		return dtype.Elems[T](v)
	}
	src, dst := dtype.Elems[T](v), scratch[T](x)(l.Cols)
	pool(x).Range(len(dst), kernel.ElementGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			at, stride, rest := 0, 1, i
			for a := len(l.Norm) - 1; a >= 0; a-- {
				k := rest % l.Norm[a]
				rest /= l.Norm[a]
				if f := a - len(l.Norm) + len(from); f >= 0 {
					if from[f] != 1 {
						at += k * stride
					}
					stride *= from[f]
				}
			}
			dst[i] = src[at]
		}
	})
	return dst
}

// copyIf copies src unless dst is nil.
func copyIf[T kernel.Float](x *op.Exec, dst, src []T) {
	if dst != nil {
		kernel.Copy(pool(x), dst, src)
	}
}

func optional(list []*tensor.Dense, i int) *tensor.Dense {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func layerNormed[T kernel.Float](l layer) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		scratch := scratch[T](x)
		take := func(hidden, formal int) []T {
			if v := dtype.ElemsAt[T](out, hidden); v != nil {
				return v
			}
			if v := dtype.ElemsAt[T](out, formal); v != nil {
				return v
			}
			return scratch(l.Rows)
		}
		mean, inv, y := take(3, 1), take(4, 2), dtype.Elems[T](out[0])
		if y == nil {
			y = scratch(l.Rows * l.Cols)
		}
		norm.LayerNorm(pool(x), l.Rows, l.Cols, T(l.Eps), dtype.Elems[T](in[0]),
			expanded[T](x, l, in[1], l.Scale), expanded[T](x, l, optional(in, 2), l.Bias), y, mean, inv)
		copyIf(x, dtype.ElemsAt[T](out, 1), mean)
		copyIf(x, dtype.ElemsAt[T](out, 2), inv)
		return nil
	}
}

// layerGrad is the configuration of LayerNormalizationGrad.
type layerGrad struct{ Layer layer }

func (layerGrad) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "LayerNormalizationGrad"}
}

func layerNormalizationGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "LayerNormalizationGrad", Since: []int{1}, Decompose: spelled(spellLayerNormGrad), Doc: "Gradient of LayerNormalization.",
		In: "X T, scale T, mean U, invstd U, dY? T, dMean? V, dInvStdDev? V", Out: "dX T, dscale T, dB T", Where: op.Where{"T": op.Floats()},
		Attrs: layerGrad{}, GradMissing: op.NotTwice, Pinned: "gradient",
		Infer: func(c *op.Call) ([]op.Type, error) {
			full := c.In[0].With(op.Dims(c.Config.(layerGrad).Layer.Norm...)...)
			return []op.Type{c.In[0], full, full}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			l := c.Config.(layerGrad).Layer
			return mixedPrecision(c, layerNormBack[float32](l, epilogue.List{}), layerNormBack[float64](l, epilogue.List{})), nil
		},
		Scheduling: op.Scheduling{Patterns: layerNormGradPatterns},
	}
}

// layerNormGradPatterns: the gradient of a shortcut around the normalization is added to the result.
func layerNormGradPatterns(c *op.Call) []op.Pattern {
	l, t := c.Config.(layerGrad).Layer, c.In[0].DType
	return []op.Pattern{&epilogue.Host{DType: t, SumOnly: true, Kernel: func(e epilogue.List) op.Kernel {
		return perPrecision(t, layerNormBack[float32](l, e), layerNormBack[float64](l, e))
	}}}
}

func layerNormBack[T kernel.Float](l layer, e epilogue.List) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		scratch := scratch[T](x)
		a, mean, inv := dtype.Elems[T](in[0]), dtype.Elems[T](in[2]), dtype.Elems[T](in[3])
		dy, dx := dtype.ElemsAt[T](in, 4), dtype.Elems[T](out[0])
		if dy == nil {
			dy = scratch(len(a))
			kernel.Clear(pool(x), dy)
		}
		norm.LayerNormGrad(pool(x), l.Rows, l.Cols, a, expanded[T](x, l, in[1], l.Scale), mean, inv, dy, epilogue.AfterAffine[T](e, in).Add, dx,
			dtype.ElemsAt[T](out, 1), dtype.ElemsAt[T](out, 2), scratch)
		dmean, dinv := dtype.ElemsAt[T](in, 5), dtype.ElemsAt[T](in, 6)
		if dx == nil || dmean == nil && dinv == nil {
			return nil
		}
		pool(x).Range(len(dx), kernel.ElementGrain, func(lo, hi int) {
			for lo < hi {
				r := lo / l.Cols
				var g, h T // constant part of the gradient of every element, and the coefficient of its distance from the mean
				if dmean != nil {
					g = dmean[r] / T(l.Cols)
				}
				if dinv != nil {
					h = -dinv[r] * inv[r] * inv[r] * inv[r] / T(l.Cols)
				}
				for end := min(hi, (r+1)*l.Cols); lo < end; lo++ {
					dx[lo] += g + h*(a[lo]-mean[r])
				}
			}
		})
		return nil
	}
}

func layerNormGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	l, err := layerNormOf(c)
	if err != nil {
		return nil, err
	}
	d := make(gorgonia.Nodes, 3)
	copy(d, dout)
	g, err := c.ApplyN(3, layerGrad{l}, in[0], in[1], out[3], out[4], d[0], d[1], d[2])
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(in); i++ {
		if in[i] != nil {
			if g[i], err = sumAffine(c, g[i], l.Norm, c.In[i].Shape); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

// sumAffine takes the gradient of a broadcast scale or bias back to its shape, which may have
// ones in front of the normalized axes.
func sumAffine(c *op.Call, d *gorgonia.Node, norm []int, shape []op.Dim) (*gorgonia.Node, error) {
	d, err := c.SumTo(d, shape[max(len(shape)-len(norm), 0):]...)
	if err != nil {
		return nil, err
	}
	return c.ReshapeTo(d, shape...)
}

// coupleLayerNorm: the last axes are normalized over, scale and bias go with them.
func coupleLayerNorm(c *op.Call) []coupling.Coupling {
	axis, err := lastAxes(c, c.Config.(LayerNormalizationConfig).Axis)
	if err != nil {
		return nil
	}
	return coupleAffine(c, axis)
}

func coupleAffine(c *op.Call, axis int) []coupling.Coupling {
	list := normOver(c, func(a int) bool { return a >= axis })
	for i := 1; i < len(c.In); i++ {
		if c.Has(i) {
			list = append(list, op.CoupleAll(c, i)...)
		}
	}
	for o := 1; o < c.Outputs; o++ {
		for a := 0; a < axis && c.Wants(o); a++ {
			list = append(list, op.Couple(coupling.In(0, a), coupling.Out(o, a)))
		}
	}
	return list
}

// decomposeLayerNorm computes in the stash type, as ONNX's function does, but no less precisely than the input is.
func decomposeLayerNorm(n *op.Spelling) error {
	c := n.Config.(LayerNormalizationConfig)
	axes, err := axesFrom(n, orInt(c.Axis, -1))
	if err != nil {
		return err
	}
	t, wide := n.DType(0), n.DType(0)
	if t.Bits() < c.StashType.Bits() {
		wide = c.StashType
	}
	x := castTo(n, wide, n.In[0])
	mean := n.Before("mean", ReduceMeanConfig{}, x, n.Vector("axes", axes...))
	centered := n.Before("centered", op.Plain("Sub"), x, mean)
	deviation, err := deviation(n, centered, axes, wide, float32(orFloat(c.Epsilon, 1e-5)))
	if err != nil {
		return err
	}
	y := castTo(n, t, n.Before("normal", op.Plain("Div"), centered, deviation))
	if n.Has(2) {
		n.Give(0, n.Before("", op.Plain("Add"), n.Before("scaled", op.Plain("Mul"), y, n.In[1]), n.In[2]))
	} else {
		n.Give(0, n.Before("", op.Plain("Mul"), y, n.In[1]))
	}
	if n.Wants(1) {
		n.Give(1, castTo(n, c.StashType, mean))
	}
	if n.Wants(2) {
		n.Give(2, castTo(n, c.StashType, n.Before("inverse", op.Plain("Reciprocal"), deviation)))
	}
	return nil
}

// axesFrom returns the axes of input 0 from the given one on.
func axesFrom(n *op.Spelling, axis int) ([]int, error) {
	end := 0
	if axis >= 0 {
		rank, err := n.Rank(0)
		if err != nil {
			return nil, err
		}
		end = rank
	}
	var axes []int
	for a := axis; a < end; a++ {
		axes = append(axes, a)
	}
	return axes, nil
}

// castTo is x as elements of type t.
func castTo(n *op.Spelling, t op.DType, x *op.Operand) *op.Operand {
	if x.Type.DType == t {
		return x
	}
	return n.Before("cast", CastConfig{To: t}, x)
}

// deviation is √(mean x² + epsilon) over axes, of elements of type t.
func deviation(n *op.Spelling, x *op.Operand, axes []int, t op.DType, epsilon float32) (*op.Operand, error) {
	eps, err := n.Filled("eps", t, float64(epsilon))
	if err != nil {
		return nil, err
	}
	square := n.Before("squared", op.Plain("Mul"), x, x)
	variance := n.Before("variance", ReduceMeanConfig{}, square, n.Vector("axes", axes...))
	return n.Before("deviation", op.Plain("Sqrt"), n.Before("shifted", op.Plain("Add"), variance, eps)), nil
}

func layerNormRows(c *op.Call) *trait.Rows {
	l, err := layerNormOf(c)
	if err != nil {
		return nil
	}
	return &trait.Rows{Out: l.Cols, In: []int{l.Cols, 0, 0}[:len(c.In)]}
}

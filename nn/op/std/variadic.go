package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// variadic describes an operator that folds any number of operands with a binary operator.
type variadic struct {
	name, doc string
	since     []int
	fold      binary
	versions  []op.Version
	mean      bool // divide by the number of operands
	traits    op.Traits
}

func (v variadic) op() *op.Op {
	o := &op.Op{
		Name: v.name, Doc: v.doc, Since: v.since, Versions: v.versions, In: "data_0 T, data* T", Out: "result T", Where: op.Where{"T": v.fold.types},
		Infer: inferVariadic, Couple: op.Elementwise, Kernel: v.kernel, Traits: v.traits,
	}
	if v.fold.dims != nil {
		o.Dims = v.known
	}
	return o
}

func inferVariadic(c *op.Call) ([]op.Type, error) {
	var shapes [][]op.Dim
	for i, t := range c.In {
		if t.Unranked {
			return []op.Type{{DType: c.In[0].DType, Unranked: true}}, nil
		}
		if c.Version < 8 && i > 0 && t.Static() && c.In[0].Static() && (len(t.Shape) != len(c.In[0].Shape)) {
			return nil, c.Mismatch(i, c.In[0], t)
		}
		shapes = append(shapes, t.Shape)
	}
	shape, err := c.Broadcast(shapes...)
	if err != nil {
		return nil, err
	}
	return []op.Type{c.In[0].With(shape...)}, nil
}

func (v variadic) known(c *op.Call) []op.Known {
	acc, err := c.Dims(0)
	if err != nil {
		return nil
	}
	for i := 1; i < len(c.In); i++ {
		d, err := c.Dims(i)
		if err != nil || len(d) != len(acc) {
			return nil
		}
		next := make([]op.Dim, len(d))
		for k := range d {
			next[k] = v.fold.dims(acc[k], d[k])
		}
		acc = next
	}
	return []op.Known{{Dims: acc}}
}

// kernel combines the operands with the output one after another.
func (v variadic) kernel(c *op.Call) (op.Kernel, error) {
	if len(c.In) == 1 {
		return op.CopyKernel(c)
	}
	steps := make([]op.Kernel, len(c.In)-1)
	for i := range steps {
		two := *c
		two.Config, two.Version = v.op(), v.op().Latest() // no alignment of old
		two.In = []op.Type{c.Out[0], c.In[i+1]}
		if i == 0 {
			two.In[0] = c.In[0]
		}
		var err error
		if steps[i], err = v.fold.kernel(&two); err != nil {
			return nil, err
		}
	}
	n := float64(len(c.In))
	var scale op.Kernel
	if v.mean {
		scale = floatKernel(c, scaleKernel[float32](1/n), scaleKernel[float64](1/n))
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		acc := in[0]
		for i, k := range steps {
			if err := k(x, out, []*tensor.Dense{acc, in[i+1]}); err != nil {
				return err
			}
			acc = out[0]
		}
		if scale != nil {
			return scale(x, out, out)
		}
		return nil
	}, nil
}

func variadicOps() []*op.Op {
	kern := func(o elementwise.BinaryOp) *elementwise.BinaryOp { return &o }
	add := binary{types: op.Floats(), kern: kern(elementwise.OpAdd)}
	larger := binary{types: op.Numeric(), kern: kern(elementwise.OpMax), i: func(a, b int64) int64 { return max(a, b) },
		u: func(a, b uint64) uint64 { return max(a, b) }, dims: op.Dim.Max}
	smaller := binary{types: op.Numeric(), kern: kern(elementwise.OpMin), i: func(a, b int64) int64 { return min(a, b) },
		u: func(a, b uint64) uint64 { return min(a, b) }, dims: op.Dim.Min}
	equal := []op.Version{{At: 8, Down: equalShapes}}
	late := append(equal[:1:1], op.Version{At: 12, New: op.Where{"T": op.Integers()}})
	rows := []variadic{
		{name: "Sum", doc: "Sum of all operands, element by element.", since: []int{1, 6, 8, 13}, versions: equal, fold: add,
			traits: op.Traits{Zero: op.ZeroAll, Joins: true, Range: rangeSum, Starts: []trait.Start{trait.StartZero}}},
		{name: "Mean", doc: "Mean of all operands, element by element.", since: []int{1, 6, 8, 13}, versions: equal, fold: add, mean: true,
			traits: op.Traits{Zero: op.ZeroAll, Joins: true, Range: op.RangeHull}},
		{name: "Max", doc: "The largest of all operands, element by element.", since: []int{1, 6, 8, 12, 13}, versions: late, fold: larger,
			traits: op.Traits{Zero: op.ZeroAll, Joins: true, Range: op.RangeHull}},
		{name: "Min", doc: "The smallest of all operands, element by element.", since: []int{1, 6, 8, 12, 13}, versions: late, fold: smaller,
			traits: op.Traits{Zero: op.ZeroAll, Joins: true, Range: op.RangeHull}},
	}
	var list []*op.Op
	for i, r := range rows {
		o := r.op()
		if o.Grad = extremeGrad; i < 2 {
			o.Grad = sumsGrad(r.mean)
		}
		list = append(list, o)
	}
	return append(list, extremeGradOp())
}

// sumsGrad returns dy for every operand, divided by their number for a mean.
func sumsGrad(mean bool) func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	return func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
		dy := dout[0]
		var err error
		if mean {
			if dy, err = scaleBy(c, dy, 1/float64(len(in))); err != nil {
				return nil, err
			}
		}
		list := make(gorgonia.Nodes, len(in))
		for i := range in {
			if list[i], err = c.SumTo(dy, c.In[i].Shape...); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
}

// extremeGrad passes dy to the operand that is the extreme; it is divided equally among operands that tie.
func extremeGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	if !c.In[0].DType.IsFloat() {
		return nil, nil
	}
	list, err := c.ApplyN(len(in), op.Name{Domain: op.Internal, Name: "ExtremeGrad"}, append(gorgonia.Nodes{dout[0], out[0]}, in...)...)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i], err = c.SumTo(list[i], c.In[i].Shape...); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func extremeGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "ExtremeGrad", Since: []int{1}, Decompose: spelled(spellExtremeGrad), Doc: "Gradients of Max and Min before summing over what broadcasting repeated.",
		In: "dY T, Y T, data* T", Out: "dX* T", Where: op.Where{"T": op.Floats()},
		Infer: func(c *op.Call) ([]op.Type, error) {
			list := make([]op.Type, len(c.In)-2)
			for i := range list {
				list[i] = c.In[0]
			}
			return list, nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
		Kernel: func(c *op.Call) (op.Kernel, error) {
			walks := make([]*walk, len(c.In)-2)
			for i := range walks {
				var err error
				if walks[i], err = newWalk(c, c.In[0].Sizes(), c.In[i+2].Sizes()); err != nil {
					return nil, err
				}
			}
			return floatKernel(c, extremeGradKernel[float32](walks), extremeGradKernel[float64](walks)), nil
		},
	}
}

func extremeGradKernel[T kernel.Float](walks []*walk) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dy, y := dtype.Slice[T](in[0]), dtype.Slice[T](in[1])
		if len(dy) == 0 {
			return nil
		}
		scratch := scratch[T](x)
		ties, share := make([][]T, len(walks)), scratch(len(dy))
		for k, w := range walks {
			ties[k] = scratch(len(dy))
			equalMask(x, w, ties[k], y, dtype.Slice[T](in[k+2]))
		}
		kernel.Copy(pool(x), share, ties[0]) // dy divided by the number of operands that tie
		for _, t := range ties[1:] {
			elementwise.Add(pool(x), share, share, t)
		}
		elementwise.Div(pool(x), share, dy, share)
		for k, o := range out {
			if dx := dtype.Elems[T](o); dx != nil {
				elementwise.ReluGrad(pool(x), dx, share, ties[k]) // 0 for operands that are not maxima, even if dy is infinite
			}
		}
		return nil
	}
}

// equalMask is 1 where operand v equals y, else 0.
func equalMask[T kernel.Float](x *op.Exec, w *walk, dst, y, v []T) {
	w.each(pool(x), 1, func(at, n int, off [3]int) {
		if w.moves[0] {
			elementwise.EqualMask(dst[at:at+n], v[off[0]:off[0]+n], y[at:at+n])
			return
		}
		elementwise.Fill(nil, dst[at:at+n], v[off[0]])
		elementwise.EqualMask(dst[at:at+n], dst[at:at+n], y[at:at+n])
	})
}

package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/reduce"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// reduction is one row of the table of operators that reduce axes to one number.
type reduction struct {
	name  string
	doc   string
	since []int
	attrs op.Config
	// op is the kernel for floating-point types; finish, if set, is applied to its result.
	op     reduce.ReduceOp
	finish func(x float64) float64
	// add is how integers are taken in, beginning with start; last, if set, ends it with their number.
	start func(t op.DType) int64
	add   func(a, x int64) int64
	last  func(a, n int64) int64
	// kind names the gradient.
	kind     reduceGradKind
	bool     bool // takes bools from version 20 on
	traits   op.Traits
	versions []op.Version
}

func reduceOps() []*op.Op {
	var list []*op.Op
	for _, r := range reductions() {
		list = append(list, r.operator())
	}
	return list
}

func (r reduction) operator() *op.Op {
	r.traits.Reduces = trait.Weighs
	switch r.kind {
	case gradSum, gradL1, gradL2, gradSumSquare:
		r.traits.Reduces = trait.Sums
	}
	o := &op.Op{
		Name: r.name, Doc: r.doc, Since: r.since, Versions: r.versions,
		In: "data T, axes? int64 shape", Out: "reduced T", Where: op.Where{"T": op.Numeric()}, Attrs: r.attrs,
		Infer: inferReduce, Kernel: r.kernel, Couple: coupleReduce, Traits: r.traits,
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := reduceGrad(c, r.kind, in[0], out[0], dout[0])
			return gorgonia.Nodes{d, nil}, err
		},
	}
	if r.bool {
		o.Where = op.Where{"T": append(append([]op.DType(nil), op.Numeric()...), dtype.Bool)}
	}
	if r.add != nil {
		o.Dims = r.dims
	}
	return o
}

// reduced marks the axes that are reduced.
func reduced(c *op.Call) (marks []bool, keep bool, err error) {
	cfg := reduceAttrsOf(c.Config)
	keep = cfg.KeepDims == nil || *cfg.KeepDims
	rank, err := c.Rank(0)
	if err != nil {
		return nil, keep, err
	}
	axes, _, err := attrOrInput(c, cfg.Axes, 1)
	if err != nil {
		return nil, keep, err
	}
	marks = make([]bool, rank)
	if len(axes) == 0 {
		for i := range marks {
			marks[i] = !cfg.NoopWithEmptyAxes
		}
		return marks, keep, nil
	}
	if axes, err = c.Axes(axes, rank); err != nil {
		return nil, keep, err
	}
	for _, a := range axes {
		marks[a] = true
	}
	return marks, keep, nil
}

func inferReduce(c *op.Call) ([]op.Type, error) {
	unranked := []op.Type{{DType: c.In[0].DType, Unranked: true}}
	if c.In[0].Unranked {
		return unranked, nil
	}
	marks, keep, err := reduced(c)
	if err != nil {
		if keep {
			unranked[0] = c.In[0].With(anyDims(len(c.In[0].Shape))...)
		}
		return unranked, err
	}
	return []op.Type{c.In[0].With(reducedShape(c.In[0].Shape, marks, keep)...)}, nil
}

func reducedShape(from []op.Dim, marks []bool, keep bool) []op.Dim {
	shape := []op.Dim{}
	for i, d := range from {
		switch {
		case !marks[i]:
			shape = append(shape, d)
		case keep:
			shape = append(shape, op.D(1))
		}
	}
	return shape
}

// dims reduces a known shape vector.
func (r reduction) dims(c *op.Call) []op.Known {
	if len(c.In[0].Shape) != 1 || len(c.Known) == 0 || !c.In[0].DType.IsInteger() {
		return nil
	}
	d, err := c.Dims(0)
	if err != nil || len(d) == 0 {
		return nil
	}
	if marks, _, err := reduced(c); err != nil || !marks[0] {
		return nil
	}
	f := map[string]func(a, b op.Dim) op.Dim{"ReduceProd": op.Dim.Mul, "ReduceSum": op.Dim.Add, "ReduceMax": op.Dim.Max, "ReduceMin": op.Dim.Min}[r.name]
	if f == nil {
		return nil
	}
	total := d[0]
	for _, x := range d[1:] {
		total = f(total, x)
	}
	return knownDims([]op.Dim{total})
}

func (r reduction) kernel(c *op.Call) (op.Kernel, error) {
	marks, _, err := reduced(c)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(marks, true) && r.finish == nil && r.kind != gradL1 && r.kind != gradSumSquare {
		return op.CopyKernel(c)
	}
	switch t := c.In[0].DType; {
	case t == dtype.Float32:
		return reduceFloats[float32](c, r, marks), nil
	case t == dtype.Float64:
		return reduceFloats[float64](c, r, marks), nil
	case t.IsFloat() || r.add == nil:
		return r.throughFloat64(c, marks), nil
	default:
		return r.integers(c, marks), nil
	}
}

func marked(marks []bool) []int {
	var axes []int
	for i, m := range marks {
		if m {
			axes = append(axes, i)
		}
	}
	return axes
}

func reduceFloats[T kernel.Float](c *op.Call, r reduction, marks []bool) op.Kernel {
	shape, axes := c.In[0].Sizes(), marked(marks)
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dst, src := dtype.Slice[T](out[0]), dtype.Slice[T](in[0])
		if r.kind == gradLogSumExp {
			logSumExp(x, shape, axes, dst, src)
			return nil
		}
		reduce.ReduceAxes(pool(x), r.op, shape, axes, dst, src, scratch[T](x))
		if r.finish != nil {
			elementwise.Map(pool(x), dst, dst, func(v T) T { return T(r.finish(float64(v))) })
		}
		return nil
	}
}

// logSumExp takes the largest element out first, so that nothing overflows.
func logSumExp[T kernel.Float](x *op.Exec, shape, axes []int, dst, src []T) {
	scratch := scratch[T](x)
	top, e := scratch(len(dst)), scratch(len(src))
	reduce.ReduceAxes(pool(x), reduce.ReduceMax, shape, axes, top, src, scratch)
	back := backTo(shape, axes)
	step := back.strides[len(back.strides)-1]
	for i, v := range top {
		if isInf(float64(v)) {
			top[i] = 0
		}
	}
	back.runs(pool(x), func(from, n, at int) {
		r, v := e[from:][:n], src[from:][:n]
		if step == 0 {
			elementwise.BinaryScalar(nil, elementwise.OpSub, r, v, top[at])
		} else {
			elementwise.Sub(nil, r, v, top[at:at+n])
		}
		elementwise.Exp(nil, r, r)
	})
	reduce.ReduceAxes(pool(x), reduce.ReduceSum, shape, axes, dst, e, scratch)
	elementwise.Log(pool(x), dst, dst)
	elementwise.Add(pool(x), dst, dst, top)
}

// backTo walks the result of a reduction in the order of the elements that went into it.
func backTo(shape, axes []int) strided {
	s := strided{shape: append([]int{1}, shape...), strides: make([]int, len(shape)+1)}
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if !slices.Contains(axes, i) {
			s.strides[i+1] = n
			n *= shape[i]
		}
	}
	m, err := s.merged(&op.Call{Op: &op.Op{}})
	if err != nil {
		return s
	}
	return m
}

// throughFloat64 serves narrow floats, and integers where the result is a root or a logarithm.
func (r reduction) throughFloat64(c *op.Call, marks []bool) op.Kernel {
	return throughFloat64(reduceFloats[float64](c, r, marks))
}

func (r reduction) integers(c *op.Call, marks []bool) op.Kernel {
	shape, t := c.In[0].Sizes(), c.In[0].DType
	back := backTo(shape, marked(marks))
	step := back.strides[len(back.strides)-1]
	unsigned := t == dtype.Uint64 && (r.name == "ReduceMax" || r.name == "ReduceMin")
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		release, err := x.Reserve(integerCopies(out, in))
		if err != nil {
			return err
		}
		defer release()
		src, err := int64s(pool(x), in[0])
		if err != nil {
			return err
		}
		dst := kernel.Uncleared[int64](out[0].Shape().TotalSize())
		flip := int64(0)
		if unsigned { // the order of uint64 is that of int64 with the top bit turned over
			flip = -1 << 63
		}
		for i := range dst {
			dst[i] = r.start(t) ^ flip
		}
		back.runs(pool(x).Serial(), func(from, n, at int) {
			for i, v := range src[from : from+n] {
				checkAt(pool(x), i)
				dst[at] = r.add(dst[at]^flip, v^flip) ^ flip
				at += step
			}
		})
		if r.last != nil && len(dst) > 0 {
			for i, v := range dst {
				dst[i] = r.last(v, int64(len(src)/len(dst)))
			}
		}
		return storeInts(pool(x), out[0], dst)
	}
}

func coupleReduce(c *op.Call) []coupling.Coupling {
	marks, keep, err := reduced(c)
	if err != nil {
		return nil
	}
	return coupleKept(marks, keep)
}

// coupleKept couples the axes that are not marked for reduction; if keep, reduced axes remain with
// length 1.
func coupleKept(marks []bool, keep bool) []coupling.Coupling {
	var list []coupling.Coupling
	to := 0
	for i, m := range marks {
		if !m {
			list = append(list, op.Couple(coupling.In(0, i), coupling.Out(0, to)))
		}
		if !m || keep {
			to++
		}
	}
	return list
}

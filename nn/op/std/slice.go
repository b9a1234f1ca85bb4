package std

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// SliceConfig has the attributes of Slice before version 10; later they are inputs. Ends beyond
// the axis mean its end, negative numbers count from there.
type SliceConfig struct {
	Starts []int `onnx:"starts,until=9"`
	Ends   []int `onnx:"ends,until=9"`
	Axes   []int `onnx:"axes,until=9"`
}

// Operator makes SliceConfig a Config.
func (SliceConfig) Operator() op.Name { return op.Name{Name: "Slice"} }

func sliceOp() *op.Op {
	return &op.Op{
		Name: "Slice", Since: []int{1, 10, 11, 13}, Versions: sliceVersions(),
		Doc: "Cuts a range of indices, perhaps with steps, out of each axis.",
		In:  "data T, starts? Tind shape, ends? Tind shape, axes? Tind shape, steps? Tind shape", Out: "output T",
		Where: op.Where{"Tind": op.Indices()}, Attrs: SliceConfig{},
		Infer: inferSlice, Dims: sliceDims, Kernel: sliceKernel, Strings: moveStrings,
		Grad: sliceGrad, Couple: coupleSlice,
		Traits: opening(resizing(moved(trait.Moved), 0, resizeSlice), openSlice, slicePicks),
	}
}

// cut is the range of one axis: count indices from start on. start is a number in a lowering.
type cut struct {
	start op.Dim
	step  int
	count op.Dim
}

// cuts resolves the ranges for every axis of input 0.
func cuts(c *op.Call) ([]cut, error) {
	cfg := c.Config.(SliceConfig)
	shape := c.In[0].Shape
	list := make([]cut, len(shape))
	for i, d := range shape {
		list[i] = cut{op.D(0), 1, d}
	}
	starts, ends := op.Dims(cfg.Starts...), op.Dims(cfg.Ends...)
	var err error
	if c.Has(1) {
		if !c.Has(2) {
			return nil, c.Mismatch(2, "a value", "nothing")
		}
		if starts, err = c.Dims(1); err != nil {
			return nil, err
		}
		if ends, err = c.Dims(2); err != nil {
			return nil, err
		}
	} else if cfg.Starts == nil || cfg.Ends == nil {
		return nil, c.Errorf("has no starts and ends")
	}
	axes, given, err := attrOrInput(c, cfg.Axes, 3)
	if err != nil {
		return nil, err
	}
	if !given {
		axes = make([]int, len(starts))
		for i := range axes {
			axes[i] = i
		}
	}
	steps := make([]int, len(starts))
	for i := range steps {
		steps[i] = 1
	}
	if c.Has(4) {
		if steps, err = c.Ints(4); err != nil {
			return nil, err
		}
	}
	if len(ends) != len(starts) || len(axes) != len(starts) || len(steps) != len(starts) {
		return nil, c.Errorf("has %d starts, %d ends, %d axes and %d steps", len(starts), len(ends), len(axes), len(steps))
	}
	if _, err := c.Axes(axes, len(shape)); err != nil {
		return nil, err
	}
	for i, a := range axes {
		a, _ = c.Axis(a, len(shape))
		if steps[i] == 0 {
			return nil, c.Errorf("step of axis %d is 0", a)
		}
		list[a] = cutAxis(shape[a], starts[i], ends[i], steps[i])
	}
	return list, nil
}

// cutAxis returns the range [start, end) with a step of an axis of length d. Expressions assume that
// a symbolic range is inside the axis.
func cutAxis(d, start, end op.Dim, step int) cut {
	c := cut{start: op.Unknown(), step: step, count: op.Unknown()}
	if d.Known() && (start.Sym == "" || start.Known()) && (end.Sym == "" || end.Known()) {
		s, n := cutNumbers(d.Size, start.Size, end.Size, step)
		c.start, c.count = op.D(s), op.D(n)
	}
	if d.Sym != "" || start.Sym != "" || end.Sym != "" {
		n := cutSym(d, start, end, step)
		if c.count.Size == 0 { // it may well be empty
			n = n.Max(op.D(0))
		}
		c.count.Sym = n.Sym
	}
	return c
}

// cutNumbers is numpy's rule for slices.
func cutNumbers(d, start, end, step int) (first, count int) {
	clamp := func(i, lo, hi int) int {
		if i < 0 {
			i += d
		}
		return min(max(i, lo), hi)
	}
	if step > 0 {
		step = min(step, math.MaxInt32)
		s, e := clamp(start, 0, d), clamp(end, 0, d)
		return s, max(0, (e-s-1+step)/step)
	}
	if d == 0 {
		return 0, 0
	}
	step = -max(step, -math.MaxInt32)
	s, e := clamp(start, 0, d-1), clamp(end, -1, d-1)
	return s, max(0, (s-e+step-1)/step)
}

const farEnd = math.MaxInt32 - 1 // exporters write such numbers for "to the end"

func cutSym(d, start, end op.Dim, step int) op.Dim {
	symbolic := func(x op.Dim) op.Dim { // only its expression
		if x.Sym != "" {
			x.Size = -1
		}
		return x
	}
	d, start, end = symbolic(d), symbolic(start), symbolic(end)
	if start.Sym == "" && end.Sym == "" && (start.Size < 0) == (end.Size < 0) && (end.Size-start.Size)*step <= 0 {
		return op.D(0)
	}
	bound := func(x op.Dim) op.Dim {
		switch {
		case x.Sym == "" && x.Size >= farEnd:
			return d
		case x.Sym == "" && x.Size < 0:
			return d.Add(op.Dim{Sym: x.Sym, Size: 0}).Sub(op.D(-x.Size))
		case x.Sym == "" && x.Size == 0 || x.Same(d):
			return x
		}
		return x.Min(d)
	}
	if step < 0 {
		if start.Sym == "" && (start.Size == -1 || start.Size >= farEnd) && end.Sym == "" && end.Size <= -farEnd {
			return d.Add(op.D(-step - 1)).Div(op.D(-step))
		}
		return op.Unknown()
	}
	n := bound(end).Sub(bound(start))
	if step > 1 {
		n = n.Add(op.D(step - 1)).Div(op.D(step))
	}
	return n
}

func inferSlice(c *op.Call) ([]op.Type, error) {
	if c.In[0].Unranked {
		return []op.Type{c.In[0]}, nil
	}
	list, err := cuts(c)
	if err != nil {
		return []op.Type{c.In[0].With(anyDims(len(c.In[0].Shape))...)}, err
	}
	shape := make([]op.Dim, len(list))
	for i, k := range list {
		shape[i] = k.count
	}
	return []op.Type{c.In[0].With(shape...)}, nil
}

func sliceDims(c *op.Call) []op.Known {
	if len(c.In[0].Shape) != 1 || !c.In[0].DType.IsInteger() {
		return nil
	}
	d, err := c.Dims(0)
	if err != nil {
		return nil
	}
	list, err := cuts(c)
	if err != nil || !list[0].start.Known() || !list[0].count.Known() {
		return nil
	}
	part := []op.Dim{}
	for i := range list[0].count.Size {
		at := list[0].start.Size + i*list[0].step
		if at < 0 || at >= len(d) {
			return nil
		}
		part = append(part, d[at])
	}
	return []op.Known{{Dims: part}}
}

// cutWalk returns the walk through the elements of the slices of a tensor with the given shape.
func cutWalk(c *op.Call, shape []int, list []cut) (strided, error) {
	var s strided
	for i, st := range rowStrides(shape) {
		s.shape = append(s.shape, list[i].count.Size)
		s.strides = append(s.strides, st*list[i].step)
		s.offset += st * list[i].start.Size
	}
	return s.merged(c)
}

func sliceKernel(c *op.Call) (op.Kernel, error) {
	list, err := cuts(c)
	if err != nil {
		return nil, err
	}
	s, err := cutWalk(c, c.In[0].Sizes(), list)
	if err != nil {
		return nil, err
	}
	return s.reading(c), nil
}

func sliceGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	list, err := cuts(c)
	if err != nil {
		return nil, err
	}
	d, err := c.Apply1(sliceGradConfig{c.In[0].Shape, list}, dout[0])
	return gorgonia.Nodes{d}, err
}

// sliceGradConfig describes the positions of the elements in a tensor of zeros.
type sliceGradConfig struct {
	Shape []op.Dim
	Cuts  []cut
}

func (sliceGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "SliceGrad"} }

func sliceGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "SliceGrad", Since: []int{1}, Decompose: spelled(spellSliceGrad), Doc: "Gradient of Slice: puts a cut into zeros.",
		In: "dY T", Out: "dX T", Attrs: sliceGradConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{c.In[0].With(c.Config.(sliceGradConfig).Shape...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			cfg := c.Config.(sliceGradConfig)
			s, err := cutWalk(c, op.Sizes(cfg.Shape), cfg.Cuts)
			if err != nil {
				return nil, err
			}
			size := c.In[0].DType.Size()
			return func(x *op.Exec, out, in []*tensor.Dense) error {
				kernel.Clear(pool(x), out[0].Raw)
				s.write(x, out[0].Raw, in[0].Raw, size)
				return nil
			}, nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

func coupleSlice(c *op.Call) []coupling.Coupling {
	list, err := cuts(c)
	if err != nil {
		return nil
	}
	var all []coupling.Coupling
	for i, k := range list {
		m := op.Couple(coupling.In(0, i), coupling.Out(0, i))
		whole := k.step == 1 && k.start == op.D(0) && k.count.Same(c.In[0].Shape[i])
		if !whole {
			if k.step != 1 || !k.start.Known() || !k.count.Known() {
				continue
			}
			m.Map = coupling.Map{Relation: coupling.Offset, Shift: -k.start.Size, Count: k.count.Size}
		}
		all = append(all, m)
	}
	return all
}

// slicePicks returns the indices of a range without steps that is known: resizeSlice moves no other.
func slicePicks(c *op.Call, axis int) []int {
	list, err := cuts(c)
	if err != nil || axis >= len(list) {
		return nil
	}
	k := list[axis]
	if k.step != 1 || !k.start.Known() || !k.count.Known() || k.start.Symbolic() || k.count.Symbolic() {
		return nil
	}
	picks := make([]int, k.count.Size)
	for i := range picks {
		picks[i] = k.start.Size + i
	}
	return picks
}

// openSlice makes an end that meant all of the axis the end of any length.
func openSlice(r *op.Resizing) error {
	axis := r.Changed()
	starts, ok1 := r.Ints(1)
	ends, ok2 := r.Ints(2)
	if axis < 0 || !ok1 || !ok2 {
		return nil
	}
	axes, ok := r.Ints(3)
	if !ok {
		for i := range starts {
			axes = append(axes, i)
		}
	}
	steps, _ := r.Ints(4)
	for i, a := range axes {
		if a == axis && i < len(starts) && starts[i] == 0 && ends[i] == r.In[0].Old[axis] && (steps == nil || steps[i] == 1) {
			ends = slices.Clone(ends)
			ends[i] = math.MaxInt
			r.Put(2, ends)
			return nil
		}
	}
	return nil
}

// resizeSlice moves constant bounds.
func resizeSlice(r *op.Resizing) error {
	c := r.Call
	cfg := c.Config.(SliceConfig)
	starts, err1 := c.Ints(1)
	ends, err2 := c.Ints(2)
	axes, _ := c.Ints(3)
	attrs := !c.Has(1)
	if attrs {
		starts, ends, axes, err1, err2 = cfg.Starts, cfg.Ends, cfg.Axes, nil, nil
	}
	if r.In[0].Old == nil || err1 != nil || err2 != nil {
		return nil
	}
	nextStarts, nextEnds := slices.Clone(starts), slices.Clone(ends)
	for i, next := range [][]int{nextStarts, nextEnds} {
		if now, ok := r.Ints(i + 1); ok && len(now) == len(next) { // other axes adapt automatically
			copy(next, now)
		}
	}
	for i := range starts {
		axis := i
		if i < len(axes) {
			axis = axes[i]
		}
		if axis < 0 {
			axis += len(r.In[0].Old)
		}
		kept := r.In[0].KeptOn(axis)
		if kept == nil {
			continue
		}
		size := r.In[0].Old[axis]
		bound := func(x int) int {
			if x < 0 {
				x = max(x+size, 0)
			}
			if i := slices.IndexFunc(kept, func(j int) bool { return j >= x }); i >= 0 {
				return i
			}
			return len(kept)
		}
		nextStarts[i], nextEnds[i] = bound(starts[i]), ends[i]
		if e := bound(ends[i]); ends[i] < size || e > ends[i] {
			nextEnds[i] = e
		}
	}
	if attrs {
		cfg.Starts, cfg.Ends = nextStarts, nextEnds
		r.Config = cfg
		return nil
	}
	r.Put(1, nextStarts)
	r.Put(2, nextEnds)
	return nil
}

// sliceVersions: before version 10 the ranges are attributes, and there are no steps.
func sliceVersions() []op.Version {
	up := op.OnConfig(func(n *op.Spelling, c *SliceConfig) error {
		for i, v := range []*[]int{&c.Starts, &c.Ends, &c.Axes} {
			if *v != nil {
				n.Put(1+i, n.Vector([]string{"starts", "ends", "axes"}[i], *v...))
			}
			*v = nil
		}
		return nil
	})
	down := op.OnConfig(func(n *op.Spelling, c *SliceConfig) error {
		steps, err := n.Ints(4)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(steps, func(n int) bool { return n != 1 }) {
			return fmt.Errorf("steps are %v, and that version has none", steps)
		}
		for i, v := range []*[]int{&c.Starts, &c.Ends, &c.Axes} {
			if *v, err = n.Ints(1 + i); err != nil {
				return err
			}
		}
		n.Cut(1)
		return listFromFront(n, &c.Axes, 0)
	})
	return []op.Version{{At: 10, Up: up, Down: down}}
}

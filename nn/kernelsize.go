package nn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// SetKernel changes the size of the sliding window of a node (op.Traits.Window: that of a Conv or a MaxPool, for
// example): one number for each spatial axis, or one for all. Padding is adjusted so that the output keeps its shape and
// the window its centre, element size/2. A convolution's kernel grows by zeros, which does not change the result, and
// shrinks by losing the elements farthest from the centre. If padding would become negative, the input is cropped. A pool
// with another window computes something else. A weight that several convolutions share changes for all of them.
func (e *Edit) SetKernel(n *Node, size ...int) {
	if !e.has(n) {
		return
	}
	e.place = append(e.place, "SetKernel")
	defer func() { e.place = e.place[:len(e.place)-1] }()
	e.weighed(func() { e.setKernel(n, size) })
}

func (e *Edit) setKernel(n *Node, size []int) {
	s, err := spanOf(n)
	if err != nil {
		e.refuse(n, err)
		return
	}
	to := size
	if len(size) == 1 {
		to = slices.Repeat(size, len(s.kernel))
	}
	switch {
	case len(size) == 0:
		e.Failf("has no kernel size")
	case len(to) != len(s.kernel):
		e.Failf("kernel %v: want one number or %d", size, len(s.kernel))
	case slices.Min(size) < 1:
		e.Failf("kernel %v: want 1 or more", size)
	}
	if e.err != nil || slices.Equal(to, s.kernel) {
		return
	}
	nodes := []*Node{n}
	if s.weight != nil {
		w := e.ownWeight(n, s.input)
		if e.err != nil {
			return
		}
		nodes = w.readers()
	}
	was := map[*Node]op.Type{}
	for _, u := range nodes {
		was[u] = u.output(0).typ
		if err := e.stretchWindow(u, to); err != nil {
			e.refuse(u, err)
		}
	}
	if s.weight != nil && e.err == nil {
		e.stretchWeight(n.input(s.input).param, s.kernel, to)
	}
	if e.err != nil {
		return
	}
	e.Note("kernel of %s: %v → %v", n.describe(), s.kernel, to)
	if err := e.infer(); err != nil {
		e.fail(err)
		return
	}
	for _, u := range nodes {
		if err := sameShape(&Value{name: u.output(0).name, typ: was[u]}, u.output(0)); err != nil {
			e.refuse(u, err)
		}
	}
}

func (e *Edit) refuse(n *Node, err error) {
	e.fail(&Error{Op: n.opType, Node: n.label(), Err: err})
}

// span is the geometry of a sliding window as given by its node.
type span struct {
	kernel, strides, dilations, pads []int // of equal lengths; pads: begins, then ends
	auto                             string
	out                              []int // of a transposed one: output_padding
	target                           bool  // of a transposed one: lengths of the output decide the padding
	input                            int   // the input that is the weight
	weight                           *Value
	transposed                       bool
	window                           *op.Window // as declared by the operator
}

// spanOf reads the window of a node.
func spanOf(n *Node) (span, error) {
	w := n.call().Window()
	if w == nil {
		return span{}, errors.New("has no sliding window: it is neither a convolution nor a pooling")
	}
	s := span{
		kernel: w.Kernel, strides: w.Strides, dilations: w.Dilations, pads: w.Pads, auto: w.AutoPad,
		out: w.OutputPadding, target: w.OutputLengths, input: w.Weight, transposed: w.Transposed, window: w,
	}
	if w.Weight > 0 {
		if s.weight = n.input(w.Weight); s.weight == nil || w.Kernel == nil {
			return s, fmt.Errorf("its weight is %v", s.weight.typed())
		}
	}
	axes := len(s.kernel)
	for list, def := range map[*[]int]int{&s.strides: 1, &s.dilations: 1, &s.pads: 0, &s.out: 0} {
		n := axes
		if list == &s.pads {
			n *= 2
		}
		if len(*list) == 0 || list == &s.pads && s.auto != "" && s.auto != "NOTSET" {
			*list = slices.Repeat([]int{def}, n)
		}
		if len(*list) != n {
			return s, fmt.Errorf("has settings for %d axes, the kernel has %d", len(*list), axes)
		}
		*list = slices.Clone(*list)
	}
	return s, nil
}

// ownWeight returns input i of a node, the weight of its window, as a parameter that only such nodes
// read, to which a constant is converted.
func (e *Edit) ownWeight(n *Node, i int) *Value {
	w := n.input(i)
	if w.param == nil {
		d, ok := w.known.Value.(*tensor.Dense)
		if !ok || !w.producer.isConstant() {
			e.refuse(n, fmt.Errorf("its weight %q is computed", w.name))
			return nil
		}
		v := e.Const(w.name+"_kernel", dtype.Clone(d))
		if e.err != nil {
			return nil
		}
		e.rewire(w, v, slices.Clone(w.users))
		e.sweep(w)
		w = v
	}
	for _, u := range w.users {
		if win := u.call().Window(); win == nil || win.Weight == 0 || u.input(win.Weight) != w || u.reading(w) > 1 {
			e.refuse(n, fmt.Errorf("its weight %q is also read by %s", w.name, u.describe()))
			return nil
		}
	}
	return w
}

// stretchWindow changes the attributes of a node for another kernel size.
func (e *Edit) stretchWindow(n *Node, to []int) error {
	s, err := spanOf(n)
	if err != nil {
		return err
	}
	if err := s.explicit(n); err != nil {
		return err
	}
	axes := len(s.kernel)
	crop := make([]int, 2*axes)
	for i := range axes {
		lead := to[i]/2 - s.kernel[i]/2
		tail := to[i] - s.kernel[i] - lead
		if s.auto != "" { // automatic padding: half of it on each side
			if s.dilations[i]*(to[i]-s.kernel[i])%2 != 0 || lead != tail {
				return fmt.Errorf("padding is chosen by %s: the kernel can change from %v by even numbers, got %v", s.auto, s.kernel, to)
			}
			continue
		}
		for at, d := range map[int]int{i: lead * s.dilations[i], axes + i: tail * s.dilations[i]} {
			s.pads[at] += d
			if s.pads[at] < 0 {
				crop[at], s.pads[at] = -s.pads[at], 0
			}
		}
	}
	for i, k := range to {
		if s.weight == nil && max(s.pads[i], s.pads[axes+i]) >= k {
			return fmt.Errorf("padding %v would reach beyond windows of %v", s.pads, to)
		}
	}
	s.kernel = slices.Clone(to)
	if slices.Max(crop) > 0 {
		if err := e.crop(n, s, crop); err != nil {
			return err
		}
	}
	e.setSpan(n, s)
	return nil
}

// explicit converts automatic padding to numbers unless these depend on open lengths, in which case auto remains
// set.
func (s *span) explicit(n *Node) error {
	auto := s.auto
	s.auto = ""
	axes := len(s.kernel)
	switch {
	case s.target:
		s.auto = "output_shape"
		return nil
	case auto != "SAME_UPPER" && auto != "SAME_LOWER":
		return nil
	case s.transposed:
		for i := range axes {
			if s.dilations[i]*(s.kernel[i]-1)+1+s.out[i] < s.strides[i] {
				return fmt.Errorf("padding is chosen by %s and would be negative", auto)
			}
		}
		s.auto = auto
		return nil
	}
	in := n.input(0).typ
	for i := range axes {
		total := s.dilations[i] * (s.kernel[i] - 1)
		if s.strides[i] > 1 {
			if in.Unranked || !in.Shape[2+i].Known() || in.Shape[2+i].Symbolic() {
				return fmt.Errorf("%s with a stride depends on the length of axis %d, which is open", auto, 2+i)
			}
			length := in.Shape[2+i].Size
			out := (length + s.strides[i] - 1) / s.strides[i]
			total = max((out-1)*s.strides[i]+total+1-length, 0)
		}
		s.pads[i], s.pads[axes+i] = total/2, total-total/2
		if auto == "SAME_LOWER" {
			s.pads[i], s.pads[axes+i] = total-total/2, total/2
		}
	}
	return nil
}

// crop crops the margins of the input that a smaller window would begin to read.
func (e *Edit) crop(n *Node, s span, crop []int) error {
	if s.transposed {
		return fmt.Errorf("a kernel of %v would need negative padding", s.kernel)
	}
	axes := len(s.kernel)
	var starts, ends, on []int
	for i := range axes {
		if crop[i] == 0 && crop[axes+i] == 0 {
			continue
		}
		end := 1<<31 - 1
		if crop[axes+i] > 0 {
			end = -crop[axes+i]
		}
		starts, ends, on = append(starts, crop[i]), append(ends, end), append(on, 2+i)
	}
	name := e.Label("crop", "")
	v := e.one(name, op.Plain("Slice"), n.input(0), e.Ints(name+".starts", starts...), e.Ints(name+".ends", ends...), e.Ints(name+".axes", on...))
	if e.err == nil {
		e.setRead(n, 0, v)
	}
	return nil
}

// setSpan writes a window to the attributes of the node.
func (e *Edit) setSpan(n *Node, s span) {
	pads := s.pads
	if !slices.ContainsFunc(pads, func(p int) bool { return p != 0 }) {
		pads = nil
	}
	if s.auto != "" { // automatic padding follows
		e.setConfig(n, s.window.With(s.kernel, s.window.Pads, s.window.AutoPad))
		return
	}
	e.setConfig(n, s.window.With(s.kernel, pads, "NOTSET"))
}

// reading counts the inputs of a node that are v.
func (n *Node) reading(v *Value) (count int) {
	for _, x := range n.in {
		if x == v {
			count++
		}
	}
	return count
}

// stretchWeight crops a weight [out, in, kernel…] or pads it with zeros. Optimizer states follow
// by the journal.
func (e *Edit) stretchWeight(p *Param, from, to []int) {
	if e.err != nil {
		return
	}
	for i := range from {
		if from[i] == to[i] {
			continue
		}
		if err := engine.Fits(8 * float64(to[i])); err != nil {
			e.Failf("a kernel of %d: %w", to[i], err)
			return
		}
		shift := from[i]/2 - to[i]/2
		keep := make([]int, to[i])
		for k := range keep {
			if keep[k] = k + shift; keep[k] < 0 || keep[k] >= from[i] {
				keep[k] = -1
			}
		}
		e.pickParam(p, 2+i, keep, Change{})
	}
}

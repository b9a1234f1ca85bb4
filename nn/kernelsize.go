package nn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// SetKernel gives the window of a Conv, ConvTranspose, MaxPool, AveragePool or LpPool another
// size: one number for each spatial axis, or one for all. Padding is adjusted so that the output
// keeps its shape and the window its centre, element size/2. A convolution's kernel grows by zeros,
// which changes nothing; it shrinks by losing what is farthest from the centre. Where padding
// would become negative the input is cropped. A pool with another window computes something else.
// A weight that several convolutions share changes for all of them.
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
	to := e.perAxis("kernel", size, len(s.kernel), 0, 1)
	if len(size) == 0 {
		e.Failf("has no kernel size")
	}
	if e.err != nil || slices.Equal(to, s.kernel) {
		return
	}
	nodes := []*Node{n}
	if s.weight != nil {
		w := e.ownWeight(n)
		if e.err != nil {
			return
		}
		nodes = w.Users()
	}
	was := map[*Node]op.Type{}
	for _, u := range nodes {
		was[u] = u.Out(0).typ
		if err := e.stretchWindow(u, to); err != nil {
			e.refuse(u, err)
		}
	}
	if s.weight != nil && e.err == nil {
		e.stretchWeight(n.In(1).param, s.kernel, to)
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
		if err := sameShape(&Value{name: u.Out(0).name, typ: was[u]}, u.Out(0)); err != nil {
			e.refuse(u, err)
		}
	}
}

func (e *Edit) refuse(n *Node, err error) {
	e.fail(&Error{Op: n.opType, Node: n.Label(), Err: err})
}

// span is the geometry of a sliding window as its node says it.
type span struct {
	kernel, strides, dilations, pads []int // of all lengths, pads: begins, then ends
	auto                             string
	out                              []int // ConvTranspose: output_padding
	target                           bool  // ConvTranspose: output_shape decides the padding
	weight                           *Value
	transposed                       bool
}

// spanOf reads the window of a node.
func spanOf(n *Node) (span, error) {
	var s span
	switch c := n.config.(type) {
	case std.ConvConfig:
		s = span{kernel: c.Kernel, strides: c.Strides, dilations: c.Dilations, pads: c.Pads, auto: c.AutoPad, weight: n.In(1)}
	case std.ConvTransposeConfig:
		s = span{kernel: c.Kernel, strides: c.Strides, dilations: c.Dilations, pads: c.Pads, auto: c.AutoPad, weight: n.In(1), transposed: true,
			out: c.OutputPadding, target: len(c.OutputShape) > 0}
	case std.MaxPoolConfig:
		s = span{kernel: c.Kernel, strides: c.Strides, dilations: c.Dilations, pads: c.Pads, auto: c.AutoPad}
	case std.AveragePoolConfig:
		s = span{kernel: c.Kernel, strides: c.Strides, dilations: c.Dilations, pads: c.Pads, auto: c.AutoPad}
	case std.LpPoolConfig:
		s = span{kernel: c.Kernel, strides: c.Strides, dilations: c.Dilations, pads: c.Pads, auto: c.AutoPad}
	default:
		return s, errors.New("has no window: want Conv, ConvTranspose, MaxPool, AveragePool or LpPool")
	}
	if s.weight != nil {
		if !s.weight.typ.Static() || s.weight.typ.Rank() < 3 {
			return s, fmt.Errorf("its weight is %v", s.weight.typ)
		}
		s.kernel = s.weight.typ.Sizes()[2:]
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

// ownWeight is the weight of a convolution as a parameter that only convolutions read: a Constant
// node becomes one.
func (e *Edit) ownWeight(n *Node) *Value {
	w := n.In(1)
	if w.param == nil {
		d, ok := w.known.Value.(*tensor.Dense)
		if !ok || w.producer == nil || w.producer.opType != "Constant" {
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
		if u.In(1) != w || u.opType != "Conv" && u.opType != "ConvTranspose" || u.In(0) == w {
			e.refuse(n, fmt.Errorf("its weight %q is read by %s, too", w.name, u.describe()))
			return nil
		}
	}
	return w
}

// stretchWindow gives a node the attributes for another kernel.
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
		if s.auto != "" { // the padding follows by itself, half of it on each side
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

// explicit turns automatic padding into numbers where these do not depend on open lengths. Where
// they do, auto says so.
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
	in := n.In(0).typ
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

// crop cuts off what a smaller window would begin to see at the borders.
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
	name := e.begin("crop", "")
	v := e.put(name, "Slice", nil, n.In(0), e.Ints(name+".starts", starts...), e.Ints(name+".ends", ends...), e.Ints(name+".axes", on...))
	if e.err == nil {
		e.setRead(n, 0, v)
	}
	return nil
}

// setSpan writes a window to the node's attributes.
func (e *Edit) setSpan(n *Node, s span) {
	pads, auto := s.pads, "NOTSET"
	if s.auto != "" {
		pads = nil
	} else if !slices.ContainsFunc(pads, func(p int) bool { return p != 0 }) {
		pads = nil
	}
	var next op.Config
	switch c := n.config.(type) {
	case std.ConvConfig:
		c.Kernel, c.Pads, c.AutoPad = s.kernel, pads, auto
		next = c
	case std.ConvTransposeConfig:
		c.Kernel = s.kernel
		if s.auto == "" {
			c.Pads, c.AutoPad = pads, auto
		}
		next = c
	case std.MaxPoolConfig:
		c.Kernel, c.Pads, c.AutoPad = s.kernel, pads, auto
		next = c
	case std.AveragePoolConfig:
		c.Kernel, c.Pads, c.AutoPad = s.kernel, pads, auto
		next = c
	case std.LpPoolConfig:
		c.Kernel, c.Pads, c.AutoPad = s.kernel, pads, auto
		next = c
	}
	e.setConfig(n, next)
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

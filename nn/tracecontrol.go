package nn

import (
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
)

// reversal writes the gradient of an If, Loop or Scan as nodes: of an If as an If of the gradients of its branches; of
// the others as a Loop that records the inputs of each iteration, and one that runs backward through them.
type reversal struct {
	std.BodyGradient
	s     *Site
	e     *Edit
	calls []*op.Call
	in    []*Value // inputs of the operator, then gradients of its outputs; nil: absent
	err   error
}

// reversed returns the outputs of the gradient of an If, Loop or Scan.
func (s *Site) reversed(b std.BodyGradient, calls []*op.Call, in []gorgonia.Nodes) []*Value {
	c := calls[0]
	r := &reversal{BodyGradient: b, s: s, e: s.t.e, calls: calls}
	refuse := func(why string) []*Value {
		s.Refuse(why)
		var given []*op.Operand
		for _, t := range c.Out {
			given = append(given, &op.Operand{Type: t})
		}
		return s.untraceable(given)
	}
	if b.Random {
		return refuse("its subgraph draws random numbers")
	}
	for _, x := range b.Bodies {
		if b.Train && len(x.States()) > 0 {
			return refuse("its subgraph updates running statistics: freeze them")
		}
	}
	for i := range in[0] {
		k := s.kid(in, i)
		if k == nil {
			r.in = append(r.in, nil)
			continue
		}
		r.in = append(r.in, k.Value())
	}
	if s.t.e.err != nil {
		return nil
	}
	var out []*Value
	if b.Branches {
		out = r.branches()
	} else {
		out = r.backward()
	}
	if r.err != nil {
		return refuse(strings.TrimPrefix(r.err.Error(), "lower: "))
	}
	return out
}

// failed reports whether the reversal or its edit has failed.
func (r *reversal) failed(e *Edit) bool { return r.err != nil || e.err != nil }

// seeds returns the gradients of the outputs.
func (r *reversal) seeds() []*Value { return r.in[r.Inputs:] }

// asks returns the inputs whose gradients are requested, in order.
func (r *reversal) asks() (list []int) {
	for i := r.First; i < r.Inputs; i++ {
		if r.Asked(r.calls[0].In[i], i) {
			list = append(list, i)
		}
	}
	return list
}

// subgraph returns the body for nested. Formal returns the types of its inputs, before the captured ones; a state may
// depend on a requested input although its first value does not.
func (r *reversal) subgraph(sub *Edit, body int, formal func(c *op.Call) []op.Type) *nested {
	b, _ := r.Bodies[body].(*Body)
	x := &nested{t: r.s.t, sub: sub, body: b, train: r.Train}
	from := r.Captured[body]
	n := b.Inputs()
	for _, c := range r.calls {
		end := from + len(b.outer)
		x.types = append(x.types, append(formal(c), c.In[from:end]...))
		x.known = append(x.known, append(make([]op.Known, n), c.Known[from:end]...))
	}
	x.asked = func(i int) bool { return i < n || r.Asked(x.types[0][i], from+i-n) }
	return x
}

// branches returns an If of the gradients of the branches; the gradient of a value that only the other branch captures
// is zero.
func (r *reversal) branches() []*Value {
	asks := r.asks()
	var bodies [2]*Body
	for k := range bodies {
		bodies[k] = r.s.t.bodyOf(nil, r.in[1:], func(sub *Edit, _ []*Value, at func(*Value) *Value) []*Value {
			x := r.subgraph(sub, k, func(*op.Call) []op.Type { return nil })
			from := r.Captured[k]
			var args, seeds, out []*Value
			for i := range x.body.outer {
				args = append(args, at(r.in[from+i]))
			}
			for _, v := range r.seeds() {
				seeds = append(seeds, at(v))
			}
			grads := r.trace(x, args, seeds)
			for _, i := range asks {
				if j := i - from; j >= 0 && j < len(grads) && grads[j] != nil {
					out = append(out, grads[j])
				} else {
					out = append(out, zerosLike(sub, at(r.in[i])))
				}
			}
			return out
		})
	}
	if r.failed(r.e) {
		return nil
	}
	return outs(r.e.NodeN(std.IfConfig{Then: bodies[0], Else: bodies[1]}, len(asks), r.in[0]), len(asks))
}

func (r *reversal) trace(x *nested, args, seeds []*Value) []*Value {
	if r.err != nil {
		return nil
	}
	list, err := x.trace(args, seeds)
	r.err = err
	return list
}

func outs(n *Node, count int) []*Value {
	list := make([]*Value, count)
	for i := range list {
		list[i] = n.output(i)
	}
	return list
}

// zerosLike returns zeros of the type and shape of v.
func zerosLike(e *Edit, v *Value) *Value {
	if e.err != nil {
		return nil
	}
	return do(e, op.Plain("Expand"), e.Const(e.New("zero"), dtype.New(v.typ.DType)), do(e, std.ShapeConfig{}, v))
}

// typeText returns the type of a value with its known sizes; other dimensions are unknown.
func typeText(v *Value) string {
	if v.typ.Unranked {
		return "float32"
	}
	var dims []string
	for _, d := range v.typ.Shape {
		if d.Known() {
			dims = append(dims, strconv.Itoa(d.Size))
		} else {
			dims = append(dims, "?")
		}
	}
	return v.typ.DType.String() + "[" + strings.Join(dims, ",") + "]"
}

// constInt returns a constant int64 of rank 0.
func constInt(e *Edit, n int) *Value {
	d := dtype.New(dtype.Int64)
	dtype.Slice[int64](d)[0] = int64(n)
	return e.Const(e.New("number"), d)
}

// normal returns an axis of a value counted from the front.
func normal(axis int, v *Value) int {
	if axis < 0 && v != nil {
		axis += v.typ.Rank()
	}
	return axis
}

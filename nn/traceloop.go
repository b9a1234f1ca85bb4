package nn

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// tape is what a Loop records of its iterations.
type tape struct {
	count  *Value   // number of iterations, of rank 0
	states []*Value // the initial value of each state in each iteration, stacked
}

// formalTypes returns the types of the inputs of a body, without the captured ones.
func (r *reversal) formalTypes(c *op.Call) (list []op.Type) {
	if r.FirstIn == 2 { // of a Loop: the iteration number and the condition
		list = append(list, op.Shaped(dtype.Int64), op.Shaped(dtype.Bool))
	}
	list = append(list, c.In[r.FirstIn:r.FirstIn+r.States]...)
	for k := range r.Scanned {
		t := c.In[r.FirstIn+r.States+k]
		axis := r.InAxis[k]
		if axis < 0 {
			axis += t.Rank()
		}
		shape := append(append([]op.Dim{}, t.Shape[:axis]...), t.Shape[axis+1:]...)
		list = append(list, t.With(shape...))
	}
	return list
}

// arguments returns the inputs of the body in iteration i: iteration number and condition, states, slices, captured
// values.
func (r *reversal) arguments(sub *Edit, i, on *Value, states []*Value, count *Value, at func(*Value) *Value) (list []*Value) {
	if r.FirstIn == 2 {
		list = append(list, i, on)
	}
	list = append(list, states...)
	for k := range r.Scanned {
		x := at(r.in[r.FirstIn+r.States+k])
		list = append(list, do(sub, std.GatherConfig{Axis: normal(r.InAxis[k], x)}, x, place(sub, i, count, r.InBack[k])))
	}
	for j := range r.Bodies[0].Captured() {
		list = append(list, at(r.in[r.Captured[0]+j]))
	}
	return list
}

// place returns the index that iteration i of count reads or writes.
func place(e *Edit, i, count *Value, back bool) *Value {
	if !back || e.err != nil {
		return i
	}
	return do(e, op.Plain("Sub"), do(e, op.Plain("Sub"), count, constInt(e, 1)), i)
}

// record runs the operator again as a Loop that records the states.
func (r *reversal) record() tape {
	var trips, on *Value
	if r.FirstIn == 2 {
		trips, on = r.in[0], r.in[1]
	} else {
		x := r.in[r.States]
		size := do(r.e, std.GatherConfig{}, do(r.e, std.ShapeConfig{}, x), constInt(r.e, normal(r.InAxis[0], x)))
		trips = size
	}
	states := r.in[r.FirstIn : r.FirstIn+r.States]
	inputs := []string{"int64[]", "bool[]"}
	for _, v := range states {
		inputs = append(inputs, typeText(v))
	}
	captured := append([]*Value{trips}, r.in[r.First+r.States:r.Inputs]...)
	body := r.s.t.bodyOf(inputs, captured, func(sub *Edit, in []*Value, at func(*Value) *Value) []*Value {
		x := r.subgraph(sub, 0, r.formalTypes)
		list := r.trace(x, r.arguments(sub, in[0], in[1], in[2:], at(trips), at), nil)
		if r.failed(sub) {
			return nil
		}
		out := []*Value{in[1]}
		if r.FirstIn == 2 {
			out, list = []*Value{list[0]}, list[1:]
		}
		out = append(out, list[:r.States]...)
		return append(append(out, in[0]), in[2:]...)
	})
	if r.failed(r.e) {
		return tape{}
	}
	n := r.e.NodeN(std.LoopConfig{Body: body}, 2*r.States+1, append([]*Value{trips, on}, states...)...)
	if r.e.err != nil {
		return tape{}
	}
	t := tape{states: outs(n, 2*r.States+1)[r.States+1:]}
	t.count = do(r.e, std.GatherConfig{}, do(r.e, std.ShapeConfig{}, n.output(r.States)), constInt(r.e, 0))
	return t
}

// backward iterates in reverse order and returns the requested gradients.
func (r *reversal) backward() []*Value {
	t := r.record()
	if r.failed(r.e) {
		return nil
	}
	e, seeds := r.e, r.seeds()
	var carried, first []*Value // gradients of states, then sums of those of captured values
	var floats, sums []int
	for j := range r.States {
		if v := r.in[r.FirstIn+j]; op.Differentiable(r.calls[0].In[r.FirstIn+j]) {
			floats, carried = append(floats, j), append(carried, v)
			if seeds[j] != nil {
				first = append(first, seeds[j])
			} else {
				first = append(first, zerosLike(e, v))
			}
		}
	}
	for _, i := range r.asks() {
		if i >= r.Captured[0] {
			sums, carried, first = append(sums, i), append(carried, r.in[i]), append(first, zerosLike(e, r.in[i]))
		}
	}
	inputs := []string{"int64[]", "bool[]"}
	for _, v := range carried {
		inputs = append(inputs, typeText(v))
	}
	slices := []int{} // scanned inputs whose gradients are stacked
	for k := range r.Scanned {
		if i := r.FirstIn + r.States + k; r.Asked(r.calls[0].In[i], i) {
			slices = append(slices, k)
		}
	}
	captured := append([]*Value{t.count}, t.states...)
	captured = append(append(captured, r.in[r.First+r.States:r.Inputs]...), seeds[r.States:]...)
	body := r.s.t.bodyOf(inputs, captured, func(sub *Edit, in []*Value, at func(*Value) *Value) []*Value {
		count := at(t.count)
		i := place(sub, in[0], count, true)
		var states []*Value
		for _, v := range t.states {
			states = append(states, do(sub, std.GatherConfig{}, at(v), i))
		}
		x := r.subgraph(sub, 0, r.formalTypes)
		var d []*Value
		skip := 0
		if r.FirstIn == 2 {
			d, skip = []*Value{nil}, 2
		}
		states2 := make([]*Value, r.States)
		for k, j := range floats {
			states2[j] = in[2+k]
		}
		d = append(d, states2...)
		for k, v := range seeds[r.States:] {
			if v = at(v); v != nil {
				v = do(sub, std.GatherConfig{Axis: normal(r.OutAxis[k], v)}, v, place(sub, i, count, r.OutBack[k]))
			}
			d = append(d, v)
		}
		grads := r.trace(x, r.arguments(sub, i, in[1], states, count, at), d)
		if r.failed(sub) {
			return nil
		}
		orZeros := func(v, like *Value) *Value {
			if v == nil {
				v = zerosLike(sub, like)
			}
			return v
		}
		out := []*Value{in[1]}
		for _, j := range floats {
			out = append(out, orZeros(grads[skip+j], states[j]))
		}
		for k, i := range sums {
			v := in[2+len(floats)+k]
			if g := grads[x.body.Inputs()+i-r.Captured[0]]; g != nil {
				v = do(sub, op.Plain("Add"), v, g)
			}
			out = append(out, v)
		}
		args := r.arguments(sub, i, in[1], states, count, at)
		for _, k := range slices {
			out = append(out, orZeros(grads[skip+r.States+k], args[skip+r.States+k]))
		}
		return out
	})
	if r.failed(e) {
		return nil
	}
	n := e.NodeN(std.LoopConfig{Body: body}, len(carried)+len(slices), append([]*Value{t.count, nil}, first...)...)
	if e.err != nil {
		return nil
	}
	return r.results(n, t, floats, sums, slices)
}

// results returns the gradients in the order of the inputs.
func (r *reversal) results(n *Node, t tape, floats, sums, slices []int) []*Value {
	by := map[int]*Value{}
	for k, j := range floats {
		by[r.FirstIn+j] = n.output(k)
	}
	for k, i := range sums {
		by[i] = n.output(len(floats) + k)
	}
	for k, j := range slices {
		v := n.output(len(floats) + len(sums) + k)
		if !r.InBack[j] { // the last iteration was computed first
			e := r.e
			at := do(e, op.Plain("Range"), do(e, op.Plain("Sub"), t.count, constInt(e, 1)), constInt(e, -1), constInt(e, -1))
			v = do(e, std.GatherConfig{}, v, at)
		}
		i := r.FirstIn + r.States + j
		if axis := normal(r.InAxis[j], r.in[i]); axis > 0 {
			perm := []int{}
			for a := range r.calls[0].In[i].Rank() {
				switch {
				case a < axis:
					perm = append(perm, a+1)
				case a == axis:
					perm = append(perm, 0)
				default:
					perm = append(perm, a)
				}
			}
			v = do(r.e, std.TransposeConfig{Perm: perm}, v)
		}
		by[i] = v
	}
	var list []*Value
	for _, i := range r.asks() {
		list = append(list, by[i])
	}
	return list
}

package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// rolled replaces a chain by a Loop, or by a Scan if its iterations differ only in the slices that they read.
func (e *Edit) rolled(c *chain) {
	stacks := e.stacks(c)
	sequences, scans := c.sequences()
	if !scans {
		sequences = nil
	}
	first, count := len(c.turns)-1, len(c.turns)
	var types []string
	if !scans {
		types = []string{"int64[]", "bool[]"}
	}
	formal := len(types)
	var start, captured, over []*Value
	var carried []reading
	sliced := map[int]int{} // nodes that read a slice
	for i, s := range sequences {
		for _, k := range s.nodes {
			sliced[k] = i
		}
	}
	place := map[*reading]int{} // among the inputs of the body
	for i := range c.reads {
		r := &c.reads[i]
		v := c.at(first, *r)
		_, slice := sliced[r.node]
		switch {
		case slice:
		case r.carried:
			k := slices.IndexFunc(carried, func(x reading) bool { return x.from == r.from && x.out == r.out })
			if k < 0 {
				k = len(carried)
				carried, start, types = append(carried, *r), append(start, v), append(types, v.typ.String())
			}
			place[r] = formal + k
		case r.steps == nil:
			k := slices.Index(captured, v)
			if k < 0 {
				k = len(captured)
				captured = append(captured, v)
			}
			place[r] = k
		}
	}
	scan := std.ScanConfig{NumScanInputs: len(sequences)}
	for _, s := range sequences {
		v, direction := s.input(e, count)
		over, types = append(over, v), append(types, c.body()[s.nodes[0]].out[0].typ.String())
		scan.InputAxes, scan.InputDirections = append(scan.InputAxes, s.axis), append(scan.InputDirections, direction)
	}
	collected := e.collected(c, carried)
	body := e.Body(e.New("turn"), types, captured, func(sub *Edit, in ...*Value) []*Value {
		made := e.turn(sub, c, func(k int) *Value {
			if i, ok := sliced[k]; ok {
				return in[formal+len(carried)+i]
			}
			return nil
		}, func(r *reading) *Value {
			switch {
			case r.carried:
				return in[place[r]]
			case r.steps == nil:
				return in[len(types)+place[r]]
			}
			return progression(sub, in[0], c.at(first, *r).param.data, r.steps)
		})
		if sub.err != nil {
			return nil
		}
		var out []*Value
		if !scans {
			out = append(out, do(sub, op.Plain("Identity"), in[1]))
		}
		for _, r := range carried {
			out = append(out, made[r.from][r.out])
		}
		for _, o := range collected {
			out = append(out, do(sub, op.Plain("Identity"), made[o[0]][o[1]]))
		}
		return out
	})
	axes := make([]int, len(collected)) // along which results are stacked
	for k, o := range collected {
		for _, x := range stacks {
			if scans && o == [2]int{c.index[x.roots[0]]} {
				axes[k] = x.axis
				break
			}
		}
	}
	var n *Node
	if outputs := len(carried) + len(collected); scans {
		scan.Body, scan.OutputAxes = body, notAllZero(axes)
		scan.InputAxes, scan.InputDirections = notAllZero(scan.InputAxes), notAllZero(scan.InputDirections)
		n = e.NodeN(scan, outputs, slices.Concat(start, over)...)
	} else {
		n = e.NodeN(std.LoopConfig{Body: body}, outputs, append([]*Value{constInt(e, count), nil}, start...)...)
	}
	if e.err != nil {
		return
	}
	for k, r := range carried {
		e.takeOver(c.body()[r.from].out[r.out], n.output(k))
	}
	for k, o := range collected {
		stacked := n.output(len(carried) + k)
		for _, x := range stacks {
			if o == [2]int{c.index[x.roots[0]]} && axes[k] == x.axis {
				e.stack(x, stacked, count)
			}
		}
		for t, turn := range slices.Backward(c.turns) {
			if v := turn[o[0]].out[o[1]]; c.outside(e, v) {
				e.takeOver(v, do(e, std.GatherConfig{Axis: axes[k]}, stacked, constInt(e, first-t)))
			}
		}
	}
	for _, turn := range c.turns {
		for _, x := range slices.Backward(turn) {
			for _, v := range x.out {
				e.sweep(v)
			}
		}
	}
}

// notAllZero returns an attribute, or nil if all its numbers are 0, the default.
func notAllZero(list []int) []int {
	if !slices.ContainsFunc(list, func(n int) bool { return n != 0 }) {
		return nil
	}
	return list
}

// stacks returns the nodes that concatenate results of the iterations; nodes on the way there become part of the
// iterations.
func (e *Edit) stacks(c *chain) (list []gathering) {
	for _, x := range e.gatherings(c) {
		if slices.ContainsFunc(list, func(y gathering) bool { return x.n == y.n }) {
			continue
		}
		mine := upstream(x.roots[0])
		if slices.ContainsFunc(c.body(), func(n *Node) bool { return mine[n] }) && c.extend(x.roots) {
			list = append(list, x)
		}
	}
	return list
}

// turn adds the nodes of the body and returns their outputs. Slice returns the outputs of a node that reads a slice, nil
// for others; read returns what is read from outside.
func (e *Edit) turn(sub *Edit, c *chain, slice func(k int) *Value, read func(r *reading) *Value) [][]*Value {
	from := map[[2]int]*reading{}
	for i := range c.reads {
		from[[2]int{c.reads[i].node, c.reads[i].in}] = &c.reads[i]
	}
	made := make([][]*Value, len(c.body()))
	for k, x := range c.body() {
		if v := slice(k); v != nil {
			made[k] = []*Value{v}
			continue
		}
		args := make([]*Value, len(x.in))
		for i, v := range x.in {
			if r := from[[2]int{k, i}]; r != nil {
				args[i] = read(r)
			} else if v != nil {
				args[i] = made[c.index[v.producer]][v.index]
			}
			if sub.err != nil {
				return nil
			}
		}
		n := sub.NodeN(x.config, len(x.out), args...)
		if sub.err != nil {
			return nil
		}
		made[k] = outs(n, len(x.out))
	}
	return made
}

// progression returns a constant with a constant increment, by iteration.
func progression(sub *Edit, turn *Value, first *tensor.Dense, steps []int64) *Value {
	if sub.err != nil {
		return nil
	}
	d := dtype.New(dtype.Int64, first.Shape()...)
	copy(dtype.Slice[int64](d), steps)
	grown := do(sub, op.Plain("Mul"), turn, sub.Const(sub.New("step"), d))
	if sub.err != nil {
		return nil
	}
	return do(sub, op.Plain("Add"), grown, sub.Const(sub.New("first"), first))
}

// collected returns the outputs of nodes of the body that are read outside, except for the state of the last iteration.
func (e *Edit) collected(c *chain, carried []reading) (list [][2]int) {
	for k, x := range c.body() {
		for o := range x.out {
			out := slices.ContainsFunc(carried, func(r reading) bool { return r.from == k && r.out == o })
			for t, turn := range c.turns {
				if v := turn[k].out[o]; v != nil && (t > 0 || !out) && c.outside(e, v) {
					list = append(list, [2]int{k, o})
					break
				}
			}
		}
	}
	return list
}

// outside reports whether v is read by a node in no iteration, or is an output of the graph.
func (c *chain) outside(e *Edit, v *Value) bool {
	if slices.Contains(e.g.outputs, v) {
		return true
	}
	return slices.ContainsFunc(v.users, func(u *Node) bool {
		return !slices.ContainsFunc(c.turns, func(turn []*Node) bool { return slices.Contains(turn, u) })
	})
}

// takeOver replaces old by v, including its name if it is an output.
func (e *Edit) takeOver(old, v *Value) {
	name, output := old.name, slices.Contains(e.g.outputs, old)
	if e.Rewire(old, v); output {
		e.RenameValue(old, e.unique(name+"_before"))
		e.RenameValue(v, name)
	}
}

package mutate

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/trait"
)

// site makes a change at one place and returns its description.
type site func() string

// finder lists the places for changes in the current state of an edit. Random choices are made
// when a site is called.
type finder struct {
	m Mutator
	e *nn.Edit
	r *rand.Rand
}

func (f finder) sites(k Kind) []site {
	switch k {
	case Widen, Narrow:
		return f.resizes(k == Widen)
	case Deepen:
		return f.deepenings()
	case Remove:
		return f.removals()
	case Kernel:
		return f.kernels()
	case Activation:
		return f.activations()
	case AddEdge:
		return f.newEdges()
	case RemoveEdge:
		return f.oldEdges()
	}
	return nil
}

func layer(n *nn.Node) bool      { return n.Traits().WeightedSums != nil }
func window(n *nn.Node) bool     { return n.Call().Window() != nil }
func join(n *nn.Node) bool       { return n.Traits().Joins || n.Traits().Concat != nil }
func removable(n *nn.Node) bool  { return n.Traits().Removable }
func activation(n *nn.Node) bool { return n.IsActivation() }

// single reports whether n is an activation, rather than one decomposed into several nodes.
func single(n *nn.Node) bool { return n.Traits().Activation != trait.NoActivation }

// nodes returns the nodes of some kinds that may change and whose output is a floating-point tensor with at least two axes.
func (f finder) nodes(kinds ...nn.Selector) []*nn.Node {
	var list []*nn.Node
	for _, n := range f.all() {
		if nn.Any(kinds...)(n) && f.free(n) && f.tensor(n.Out(0)) {
			list = append(list, n)
		}
	}
	return list
}

// all returns the nodes of the graph, in order.
func (f finder) all() []*nn.Node {
	var list []*nn.Node
	_ = f.e.Try(func() { list = f.e.Nodes() }) // a graph without nodes is not an error
	return list
}

func (f finder) free(n *nn.Node) bool {
	for _, s := range f.m.Keep {
		if s(n) {
			return false
		}
	}
	return true
}

// tensor reports whether a value is computed from the graph's inputs in floating point and has two axes or more.
func (f finder) tensor(v *nn.Value) bool {
	t := v.Type()
	return v != nil && t.DType.IsFloat() && !t.Unranked && len(t.Shape) >= 2 && !derived(v, 12)
}

// derived reports whether a value is computed from parameters only.
func derived(v *nn.Value, depth int) bool {
	if v.Param() != nil {
		return true
	}
	n := v.Producer()
	if n == nil || depth == 0 {
		return false
	}
	for _, x := range n.Inputs() {
		if x != nil && !derived(x, depth-1) {
			return false
		}
	}
	return true
}

func (f finder) resizes(wider bool) []site {
	c := f.e.Channels()
	if f.e.Err() != nil {
		return nil
	}
	var list []site
	for _, g := range c.Groups() {
		if g.Normalized || len(g.Params()) == 0 || len(g.Atoms) < 2 && !wider || !f.freeGroup(g) {
			continue
		}
		p, atoms := g.Params()[0], len(g.Atoms)
		list = append(list, func() string {
			k := 1 + f.r.IntN(max(1, int(f.m.step()*float64(atoms))))
			if !wider {
				k = -min(k, atoms-1)
			}
			to := p.Size + k*p.PerAtom
			o := nn.ResizeOptions{Axis: p.Axis - len(p.Value.Type().Shape), Copy: f.r.IntN(2) == 0}
			f.e.Resize(p.Value, to, o)
			return fmt.Sprintf("axis %d of %s from %d to %d", p.Axis, p.Value.Name(), p.Size, to)
		})
	}
	return list
}

// freeGroup reports whether no node of the group is selected by Keep.
func (f finder) freeGroup(g *nn.Group) bool {
	for _, n := range g.Nodes() {
		if !f.free(n) {
			return false
		}
	}
	return true
}

func (f finder) deepenings() []site {
	var list []site
	for _, n := range f.nodes(layer, join, activation, removable) {
		v := n.Out(0)
		list = append(list, func() string {
			d := nn.Deepening{Layer: layers.Fitting{}, Near: true}
			norm := f.r.IntN(4) == 0
			if c := v.Type().Shape[1]; len(v.Type().Shape) == 4 && c.Known() {
				group := 0
				if f.r.IntN(4) == 0 {
					group = c.Size // depthwise
				}
				d.Layer = layers.Conv{Kernel: []int{pick(f.r, f.m.kernels())}, Group: group}
			}
			if norm && len(v.Type().Shape) >= 3 {
				d.Norm = layers.BatchNorm{}
			}
			if f.r.IntN(2) == 0 {
				d.Activation = pick(f.r, f.m.activations())
			}
			name := v.Name()
			f.e.Deepen(v, d)
			return "behind " + name
		})
	}
	return list
}

// pick draws an element of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// realign draws which side is resized.
func (f finder) realign() nn.Realign {
	return nn.Realign{Prefer: pick(f.r, []nn.Prefer{nn.PreferGrow, nn.PreferShrink, nn.PreferBefore, nn.PreferAfter})}
}

func (f finder) removals() []site {
	weighted := 0
	for _, n := range f.all() {
		if layer(n) {
			weighted++
		}
	}
	var list []site
	for _, n := range f.nodes(layer, single, removable) {
		if layer(n) && weighted < 2 {
			continue
		}
		list = append(list, func() string {
			label := n.Type() + " " + n.Label()
			f.realign().Remove(f.e, n)
			return label
		})
	}
	return list
}

func (f finder) kernels() []site {
	var list []site
	for _, n := range f.nodes(window) {
		list = append(list, func() string {
			k := pick(f.r, f.m.kernels())
			if same(n, k) {
				f.e.Failf("the kernel is %d already", k)
			}
			f.e.SetKernel(n, k)
			return fmt.Sprintf("%d of %s %s", k, n.Type(), n.Label())
		})
	}
	return list
}

// same reports whether a window has size k already.
func same(n *nn.Node, k int) bool {
	return !slices.ContainsFunc(n.Call().Window().Kernel, func(x int) bool { return x != k })
}

func (f finder) activations() []site {
	var list []site
	for _, n := range f.nodes(activation) {
		list = append(list, func() string {
			l, label := pick(f.r, f.m.activations()), n.Label()
			for _, v := range f.e.SwapActivations(l, func(x *nn.Node) bool { return x == n }) {
				if v.Producer().Type() == n.Type() && v.Producer().Domain() == n.Domain() {
					f.e.Failf("%s already has this activation", label)
				}
			}
			return fmt.Sprintf("%s becomes %T", label, l)
		})
	}
	return list
}

func (f finder) newEdges() []site {
	var values []*nn.Value
	place := map[*nn.Value]int{}
	at := map[*nn.Node]int{}
	for i, n := range f.all() {
		at[n] = i
		if v := n.Out(0); f.tensor(v) && nn.Any(layer, join, activation, removable)(n) {
			place[v] = i
			values = append(values, v)
		}
	}
	var list []site
	for _, n := range f.nodes(layer, join) {
		var from []*nn.Value
		for _, v := range values {
			if place[v] < at[n] && !slices.Contains(n.Inputs(), v) && alike(v, n) {
				from = append(from, v)
			}
		}
		if len(from) == 0 {
			continue
		}
		list = append(list, func() string {
			v := pick(f.r, from)
			o := f.realign()
			if o.Concat = f.r.IntN(3) == 0; !o.Concat && f.r.IntN(3) == 0 {
				if o.Via = nn.Layer(layers.Linear{}); len(v.Type().Shape) == 4 {
					o.Via = layers.Conv{Kernel: []int{1}}
				}
			}
			o.AddEdge(f.e, v, n)
			return fmt.Sprintf("from %s to %s", v.Name(), n.Label())
		})
	}
	return list
}

// alike reports whether a value has the shape of a node's input, except for the channels.
func alike(v *nn.Value, n *nn.Node) bool {
	for _, x := range n.Inputs() {
		if x == nil || derived(x, 12) {
			continue
		}
		a, b := v.Type().Shape, x.Type().Shape
		if len(a) != len(b) || x.Type().DType != v.Type().DType {
			return false
		}
		differ := 0
		for i := range a {
			if a[i] != b[i] {
				differ++
			}
		}
		return differ == 0 || differ == 1 && (a[1] != b[1] || a[len(a)-1] != b[len(a)-1])
	}
	return false
}

func (f finder) oldEdges() []site {
	var list []site
	for _, n := range f.nodes(join) {
		for _, v := range n.Inputs() {
			if v == nil || derived(v, 12) {
				continue
			}
			list = append(list, func() string {
				f.realign().RemoveEdge(f.e, v, n)
				return fmt.Sprintf("from %s to %s", v.Name(), n.Label())
			})
		}
	}
	return list
}

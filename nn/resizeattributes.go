package nn

import (
	"maps"
	"reflect"
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// resize lets a node's operator rewrite the lengths in its attributes and integer inputs.
func (f *follower) resize(n *Node) error {
	if n.op.Traits.Resize == nil {
		return nil
	}
	r := &op.Resizing{Call: f.c.a.calls[n], In: f.resized(n.reads()), Out: f.resized(n.out), Ints: func(i int) ([]int, bool) { return f.now(n, i) }}
	if err := n.op.Traits.Resize(r); err != nil {
		return err
	}
	if r.Config != nil && !reflect.DeepEqual(n.config, r.Config) {
		f.e.setConfig(n, r.Config)
	}
	for _, i := range slices.Sorted(maps.Keys(r.Set)) {
		f.spell(n, i, r.Set[i])
	}
	return f.e.err
}

// resized returns values with their axes before and after the change.
func (f *follower) resized(list []*Value) []op.Resized {
	out := make([]op.Resized, len(list))
	for i, v := range list {
		if v == nil {
			continue
		}
		out[i] = op.Resized{Old: f.old(v), New: f.want(v)}
		for x := range f.c.a.rank[v] {
			out[i].Kept = append(out[i].Kept, f.kept(v, x))
		}
	}
	return out
}

// spell sets integer input i of a node to x. An absent one is added; one that is computed from open lengths is not changed.
func (f *follower) spell(n *Node, i int, x []int) {
	if f.e.err != nil {
		return
	}
	if n.input(i) == nil {
		v := f.e.Ints(n.label()+"_sizes", x...)
		in := slices.Clone(n.in)
		for len(in) <= i {
			in = append(in, nil)
		}
		if in[i] = v; f.e.err == nil {
			f.e.setIn(n, in)
		}
		return
	}
	switch now, ok := f.now(n, i); {
	case !ok:
	case len(now) == len(x):
		f.setElements(n, i, now, x)
	default:
		f.setInts(n, i, x)
	}
}

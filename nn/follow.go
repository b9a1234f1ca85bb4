package nn

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// follower rewrites the numbers in a model that spell out lengths: targets of Reshape, bounds of
// Slice, sizes of Split, groups, hidden sizes. It walks the graph after parameters were cut and
// compares every shape with what the cut must give.
type follower struct {
	e    *Edit
	c    *Channels
	keep map[axisID][]int // old indices that stay, on axes that change; −1: a new one
	w    *walker
}

func (f *follower) run() {
	f.w = newWalker(f.e.g, walkInfer)
	for v, t := range f.c.a.feeds {
		f.w.env[v] = &binding{typ: t}
	}
	for _, n := range slices.Clone(f.e.g.nodes) {
		if f.e.err != nil {
			return
		}
		f.node(n)
	}
	f.e.sortNodes()
}

// sortNodes brings the nodes into topological order: those that an edit adds come last.
func (e *Edit) sortNodes() {
	if e.err != nil {
		return
	}
	order, err := topological(e.g.nodes)
	if err != nil {
		e.fail(err)
		return
	}
	if g, old := e.g, e.g.nodes; !slices.Equal(old, order) {
		e.act(action{do: func() { g.nodes = order }, undo: func() { g.nodes = old }})
	}
}

// kept is what stays of an axis: nil for everything.
func (f *follower) kept(v *Value, axis int) []int {
	if v == nil {
		return nil
	}
	id, ok := f.c.a.of(v, axis)
	if !ok {
		return nil
	}
	return f.keep[id]
}

// want is the shape that a value must have; nil when its shape is not known.
func (f *follower) want(v *Value) []int {
	first, ok := f.c.a.first[v]
	if !ok {
		return nil
	}
	s := make([]int, f.c.a.rank[v])
	for i := range s {
		id := first + axisID(i)
		s[i] = int(f.c.a.axes[id].size)
		if k, cut := f.keep[id]; cut {
			s[i] = len(k)
		}
	}
	return s
}

// old is the shape that a value had.
func (f *follower) old(v *Value) []int {
	first, ok := f.c.a.first[v]
	if !ok {
		return nil
	}
	s := make([]int, f.c.a.rank[v])
	for i := range s {
		s[i] = int(f.c.a.axes[first+axisID(i)].size)
	}
	return s
}

func (f *follower) touched(n *Node) bool {
	for _, v := range append(n.reads(), n.out...) {
		if v == nil {
			continue
		}
		for x := range f.c.a.rank[v] {
			if f.kept(v, x) != nil {
				return true
			}
		}
	}
	return false
}

func (f *follower) node(n *Node) {
	if f.c.a.calls[n] == nil {
		if n.op == nil || f.w.visit(n) != nil {
			f.w.bindDeclared(n)
		}
		return
	}
	touched := f.touched(n)
	if touched {
		f.attributes(n)
	}
	err := f.visit(n)
	if err == nil {
		return
	}
	if f.rewrite(n); f.e.err == nil {
		if err = f.visit(n); err != nil {
			f.e.fail(&Error{Op: n.opType, Node: n.Label(), Err: fmt.Errorf("cannot follow: %w", err)})
		}
	}
}

// visit infers the node and compares its outputs.
func (f *follower) visit(n *Node) error {
	if err := f.w.visit(n); err != nil {
		return err
	}
	for _, v := range n.out {
		if v == nil {
			continue
		}
		want := f.want(v)
		b := f.w.env[v]
		if want == nil || b == nil || !b.typ.Static() {
			continue
		}
		if got := b.typ.Sizes(); !slices.Equal(got, want) {
			return &Error{Input: v.name, Want: want, Got: got}
		}
	}
	return nil
}

// attributes changes what an operator says about lengths by itself.
func (f *follower) attributes(n *Node) {
	switch c := n.config.(type) {
	case op.ConvConfig:
		if x, w := f.want(n.In(0)), f.want(n.In(1)); x != nil && w != nil && x[1]/max(w[1], 1) != c.Group {
			c.Group = x[1] / max(w[1], 1)
			f.e.setConfig(n, c)
		}
	case op.ConvTransposeConfig:
		if y, w := f.want(n.Out(0)), f.want(n.In(1)); y != nil && w != nil && y[1]/max(w[1], 1) != c.Group {
			c.Group = y[1] / max(w[1], 1)
			f.e.setConfig(n, c)
		}
	case op.GroupNormalizationConfig:
		if g := f.groups(n, c.NumGroups); g != c.NumGroups {
			c.NumGroups = g
			f.e.setConfig(n, c)
		}
	case op.LSTMConfig:
		if h := f.hidden(n, c.HiddenSize); h != c.HiddenSize {
			c.HiddenSize = h
			f.e.setConfig(n, c)
		}
	case op.GRUConfig:
		if h := f.hidden(n, c.HiddenSize); h != c.HiddenSize {
			c.HiddenSize = h
			f.e.setConfig(n, c)
		}
	case op.RNNConfig:
		if h := f.hidden(n, c.HiddenSize); h != c.HiddenSize {
			c.HiddenSize = h
			f.e.setConfig(n, c)
		}
	case op.GatherConfig:
		f.gather(n, c)
	case op.SliceConfig:
		f.slice(n, c)
	case op.SplitConfig:
		f.split(n, c)
	case op.ReshapeConfig:
		if n.In(1) == nil && c.Shape != nil {
			c.Shape = f.target(n, slices.Clone(c.Shape))
			f.e.setConfig(n, c)
		}
	}
}

// hidden is the new hidden size: the last axis of the recurrence matrix.
func (f *follower) hidden(n *Node, old int) int {
	if r := f.want(n.In(2)); r != nil && old != 0 {
		return r[2]
	}
	return old
}

// groups is how many of the groups still have channels.
func (f *follower) groups(n *Node, groups int) int {
	k := f.kept(n.In(0), 1)
	size := f.old(n.In(0))
	if k == nil || size == nil || groups == 0 {
		return groups
	}
	within := size[1] / groups
	left := map[int]bool{}
	runs := 0
	for at, i := range k {
		if i < 0 && k[at-1] >= 0 {
			runs++
		}
	}
	if runs == 1 && groups > 1 { // whole groups come; within them there would be a run in each
		return len(k) / within
	}
	for _, i := range k {
		if i >= 0 {
			left[i/within] = true
		}
	}
	return len(left)
}

// ints is the value of integer input i before the cut.
func (f *follower) ints(n *Node, i int) ([]int, bool) {
	c := f.c.a.calls[n]
	if !c.Has(i) {
		return nil, false
	}
	v, err := c.Ints(i)
	return v, err == nil
}

// gather renumbers constant indices.
func (f *follower) gather(n *Node, c op.GatherConfig) {
	size := f.old(n.In(0))
	if size == nil {
		return
	}
	axis := c.Axis
	if axis < 0 {
		axis += len(size)
	}
	keep := f.kept(n.In(0), axis)
	index, ok := f.ints(n, 1)
	if keep == nil || !ok {
		return
	}
	to := map[int]int{}
	var fresh []int // places of new indices
	for i, k := range keep {
		if k >= 0 {
			to[k] = i
		} else {
			fresh = append(fresh, i)
		}
	}
	stays := f.kept(n.In(1), 0)
	if stays == nil {
		for j := range index {
			stays = append(stays, j)
		}
	}
	var now []int
	for _, j := range stays {
		if j < 0 {
			if len(fresh) == 0 {
				f.e.Failf("Gather %s cannot read the new channels", n.Label())
				return
			}
			now, fresh = append(now, fresh[0]), fresh[1:]
			continue
		}
		x := index[j]
		if x < 0 {
			x += size[axis]
		}
		i, ok := to[x]
		if !ok {
			f.e.Failf("Gather %s reads index %d of axis %d, which is cut", n.Label(), x, axis)
			return
		}
		now = append(now, i)
	}
	f.setInts(n, 1, now)
}

// slice moves constant bounds.
func (f *follower) slice(n *Node, c op.SliceConfig) {
	size := f.old(n.In(0))
	starts, ok1 := f.ints(n, 1)
	ends, ok2 := f.ints(n, 2)
	axes, _ := f.ints(n, 3)
	attrs := n.In(1) == nil
	if attrs {
		starts, ends, axes, ok1, ok2 = slices.Clone(c.Starts), slices.Clone(c.Ends), c.Axes, true, true
	}
	if size == nil || !ok1 || !ok2 {
		return
	}
	starts, ends = slices.Clone(starts), slices.Clone(ends)
	for i := range starts {
		axis := i
		if i < len(axes) {
			axis = axes[i]
		}
		if axis < 0 {
			axis += len(size)
		}
		keep := f.kept(n.In(0), axis)
		if keep == nil {
			continue
		}
		bound := func(x int) int {
			if x < 0 {
				x = max(x+size[axis], 0)
			}
			if i := slices.IndexFunc(keep, func(j int) bool { return j >= x }); i >= 0 {
				return i
			}
			return len(keep)
		}
		if s := bound(starts[i]); s != starts[i] {
			starts[i] = s
		}
		if e := bound(ends[i]); e != ends[i] && (ends[i] < size[axis] || e > ends[i]) {
			ends[i] = e
		}
	}
	if attrs {
		c.Starts, c.Ends = starts, ends
		f.e.setConfig(n, c)
		return
	}
	for i, v := range [][]int{starts, ends} {
		if now, ok := f.now(n, i+1); ok && len(now) == len(v) {
			f.setElements(n, i+1, now, v)
		}
	}
}

// split sets the sizes of the parts.
func (f *follower) split(n *Node, c op.SplitConfig) {
	size := f.old(n.In(0))
	if size == nil {
		return
	}
	axis := c.Axis
	if axis < 0 {
		axis += len(size)
	}
	var sizes []int
	changed := false
	for _, v := range n.out {
		w := f.want(v)
		if v == nil || w == nil {
			return
		}
		changed = changed || f.kept(v, axis) != nil
		sizes = append(sizes, w[axis])
	}
	switch {
	case !changed:
	case n.In(1) != nil:
		if now, ok := f.now(n, 1); ok && len(now) == len(sizes) {
			f.setElements(n, 1, now, sizes)
		}
	case f.e.g.opset("") < 13:
		c.Split = sizes
		f.e.setConfig(n, c)
	case slices.Min(sizes) != slices.Max(sizes):
		c.NumOutputs = 0
		f.e.setConfig(n, c)
		v := f.e.Ints(n.Label()+"_sizes", sizes...)
		if f.e.err == nil {
			f.e.setIn(n, []*Value{n.in[0], v})
		}
	}
}

// rewrite changes the input that spells out the node's shape.
func (f *follower) rewrite(n *Node) {
	switch n.opType {
	case "Reshape":
		if now, ok := f.now(n, 1); ok {
			f.setElements(n, 1, now, f.target(n, slices.Clone(now)))
		}
	case "Expand":
		f.lengths(n, 1)
	case "ConstantOfShape":
		f.lengths(n, 0)
	case "Resize":
		f.lengths(n, 3)
	case "Upsample":
		f.lengths(n, 1)
	}
}

// now is the value of integer input i after the cut.
func (f *follower) now(n *Node, i int) ([]int, bool) {
	v := n.In(i)
	if v == nil || f.w.at(v) == nil {
		return nil, false
	}
	return f.w.constant(n, i)
}

// target makes explicit lengths of a Reshape target follow; 0 and −1 do so by themselves.
func (f *follower) target(n *Node, t []int) []int {
	want := f.want(n.Out(0))
	if len(want) != len(t) {
		return t
	}
	for i, x := range t {
		if x > 0 {
			t[i] = want[i]
		}
	}
	return t
}

// lengths makes input i, a whole shape, what it must be.
func (f *follower) lengths(n *Node, i int) {
	now, ok := f.now(n, i)
	want := f.want(n.Out(0))
	if !ok || want == nil || len(now) > len(want) {
		return
	}
	next := slices.Clone(now)
	for k := range next {
		if x := want[k+len(want)-len(next)]; next[k] != 1 || n.opType != "Expand" {
			next[k] = x
		}
	}
	f.setElements(n, i, now, next)
}

// setElements changes those elements of integer input i in which was and now differ, and leaves
// what is computed from open dimensions alone.
func (f *follower) setElements(n *Node, i int, was, now []int) {
	v := n.In(i)
	if f.e.err != nil || v == nil || slices.Equal(was, now) {
		return
	}
	if v.param != nil || v.known.Value != nil {
		f.setInts(n, i, now)
		return
	}
	for k := range now {
		if was[k] == now[k] {
			continue
		}
		x := f.adjusted(n.In(i), k, was[k], now[k])
		if x == nil || f.e.err != nil {
			f.e.Failf("%s %s: element %d of its shape cannot be rewritten", n.opType, n.Label(), k)
			return
		}
		old := n.in[i]
		f.e.setRead(n, i, x)
		f.e.sweep(old)
	}
}

// adjusted is an integer value like v but for element k, which becomes to instead of from: the
// number in the model that it comes from is another one. nil when there is no such number.
func (f *follower) adjusted(v *Value, k, from, to int) *Value {
	if x, ok := f.fixedInts(v); ok {
		if k >= len(x) {
			return nil
		}
		x = slices.Clone(x)
		x[k] = to
		return f.ints64(v, x)
	}
	n := v.producer
	if n == nil || f.e.err != nil {
		return nil
	}
	in := slices.Clone(n.in)
	switch n.opType {
	case "Cast", "Identity", "Unsqueeze", "Squeeze", "Reshape":
		in[0] = f.adjusted(in[0], k, from, to)
	case "Concat":
		for i, x := range in {
			size := f.w.at(x).typ.Elements()
			if k < size {
				if in[i] = f.adjusted(x, k, from, to); in[i] == nil {
					return nil
				}
				return f.again(n, in)
			}
			k -= size
		}
		return nil
	case "Mul":
		for i := range in {
			c, ok := f.fixedInts(in[i])
			if !ok || len(c) != 1 || c[0] == 0 || from%c[0] != 0 || from == 0 || to%(from/c[0]) != 0 {
				continue
			}
			in[i] = f.ints64(in[i], []int{to / (from / c[0])})
			return f.again(n, in)
		}
		return nil
	default:
		return nil
	}
	return f.again(n, in)
}

// again is a node like n on other inputs.
func (f *follower) again(n *Node, in []*Value) *Value {
	if f.e.err != nil || slices.Contains(in, nil) && !slices.Contains(n.in, nil) {
		return nil
	}
	c := f.e.NodeN(n.config, 1, in...)
	if f.e.err != nil || f.w.visit(c) != nil {
		return nil
	}
	return c.out[0]
}

// fixedInts are the elements of a value that is a constant of the model.
func (f *follower) fixedInts(v *Value) ([]int, bool) {
	d, ok := v.known.Value.(*tensor.Dense)
	if v.param != nil {
		d, ok = v.param.Data, v.param.Data != nil
	}
	if !ok {
		return nil, false
	}
	x, err := dtype.Ints(d)
	return x, err == nil
}

// ints64 is a constant of v's type and rank that holds x.
func (f *follower) ints64(v *Value, x []int) *Value {
	shape := []int{len(x)}
	if v.typ.Rank() == 0 {
		shape = nil
	}
	d, err := dtype.FromInts(v.typ.DType, x, shape...)
	if err != nil {
		f.e.fail(err)
		return nil
	}
	return f.e.Const(v.name+"_cut", d)
}

// setInts gives input i of a node a constant of its own.
func (f *follower) setInts(n *Node, i int, x []int) {
	if f.e.err != nil {
		return
	}
	old := n.in[i]
	if d, ok := old.known.Value.(*tensor.Dense); ok && f.c.a.leaf[old] || old.param != nil {
		if old.param != nil {
			d = old.param.Data
		}
		if have, err := dtype.Ints(d); err == nil && slices.Equal(have, x) {
			return
		}
	}
	shape := []int{len(x)}
	if old.typ.Rank() == 0 {
		shape = nil
	}
	d, err := dtype.FromInts(old.typ.DType, x, shape...)
	if err != nil {
		f.e.fail(err)
		return
	}
	v := f.e.Const(old.name+"_cut", d)
	if f.e.err == nil {
		f.e.setRead(n, i, v)
		f.e.sweep(old)
	}
}

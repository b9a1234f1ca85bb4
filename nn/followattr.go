package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

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
	case gapConfig:
		c.size = f.want(n.Out(0))[c.axis]
		f.e.setConfig(n, c)
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

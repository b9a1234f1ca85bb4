package std

import (
	"cmp"
	"context"
	"slices"

	"github.com/graft-ml/graft/internal/kernel/softmax"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// PackedHeads rewrites an expression that has not been differentiated yet: an attention whose queries, keys and values
// are slices of one tensor reads them from that tensor instead of from copies, and has a single gradient for it. Models
// that compute all three with one product otherwise slice, transpose and copy them first. An attention is not rewritten
// if a value in between is a root. It returns the nodes that replace the roots; the given nodes do not change.
// If ctx ends, it returns its error.
func PackedHeads(ctx context.Context, roots gorgonia.Nodes) (gorgonia.Nodes, error) {
	order, _, err := inOrder(ctx, roots)
	if err != nil {
		return nil, err
	}
	m := op.NewRewriter(ctx)
	for _, n := range order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		call, inputs, output, ok := op.CallOf(n)
		if !ok || output != 0 {
			continue
		}
		if _, ok := call.Config.(HeadAttentionConfig); !ok {
			continue
		}
		cfg, whole := packedHeads(call, inputs, roots)
		if whole == nil {
			continue
		}
		in := append(gorgonia.Nodes{whole}, inputs[3:]...)
		for i, x := range in {
			var err error
			if x == nil {
				continue
			}
			if in[i], err = m.Rewrite(x); err != nil {
				return nil, err
			}
		}
		y, err := call.Apply1(*cfg, in...)
		if err == nil {
			y, err = call.ReshapeTo(y, op.NodeType(n).Shape...)
		}
		if err != nil {
			return nil, err
		}
		m.Replace(n, y)
	}
	return m.RewriteAll(roots)
}

// packedHeads finds the tensor that consists of queries, keys and values; it returns nil if there is none.
func packedHeads(c *op.Call, in, roots gorgonia.Nodes) (*PackedAttentionConfig, *gorgonia.Node) {
	a := headLayout(c)
	if a.Rows != a.Keys || a.Depth != a.Width || c.Out[0].Rank() != 4 || c.Out[0].Elements() == 0 {
		return nil, nil
	}
	var parts [3]strided
	var whole *gorgonia.Node
	for i, h := range []softmax.HeadStrides{a.Q, a.K, a.V} {
		s := strided{shape: []int{a.Batch, a.Heads, a.Rows, a.Depth}, strides: []int{h.Batch, h.Head, h.Row, 1}}
		s, from := s.origin(in[i], roots)
		if i > 0 && (from != whole || !slices.Equal(s.strides, parts[0].strides)) {
			return nil, nil
		}
		parts[i], whole = s, from
	}
	if !fill(parts, op.NodeType(whole).Elements()) {
		return nil, nil
	}
	cfg := &PackedAttentionConfig{Layout: a, RowsY: c.Config.(HeadAttentionConfig).RowsY}
	for i := range parts {
		cfg.From[i] = parts[i].offset
	}
	by := parts[0].strides
	cfg.Layout.Q = softmax.HeadStrides{Batch: by[0], Head: by[1], Row: by[2]}
	cfg.Layout.K, cfg.Layout.V = cfg.Layout.Q, cfg.Layout.Q
	return cfg, whole
}

// fill reports whether three walks with equal strides, the last of which is 1, visit each of n elements once.
func fill(parts [3]strided, n int) bool {
	from := []int{parts[0].offset, parts[1].offset, parts[2].offset}
	slices.Sort(from)
	apart := from[1] - from[0]
	if from[0] != 0 || from[2]-from[1] != apart {
		return false
	}
	type axis struct{ stride, length int }
	axes := []axis{{apart, 3}}
	for k, length := range parts[0].shape {
		if length != 1 {
			axes = append(axes, axis{parts[0].strides[k], length})
		}
	}
	slices.SortFunc(axes, func(a, b axis) int { return cmp.Compare(a.stride, b.stride) })
	all := 1
	for _, a := range axes {
		if a.stride != all {
			return false
		}
		all *= a.length
	}
	return all == n && parts[0].strides[3] == 1
}

// origin follows a walk through n back to the tensor from which n is made by views, transpositions and slices
// that are not among the roots.
func (s strided) origin(n *gorgonia.Node, roots gorgonia.Nodes) (strided, *gorgonia.Node) {
	for !slices.Contains(roots, n) {
		call, in, output, ok := op.CallOf(n)
		if !ok {
			break
		}
		if !call.Op.Scheduling.View {
			shape, strides, from := partOfInput(call, output)
			if shape == nil {
				break
			}
			back, ok := s.through(shape, strides)
			if !ok {
				break
			}
			back.offset += from
			s = back
		}
		n = in[0]
	}
	return s, n
}

// partOfInput returns the positions in input 0 of the elements of the given output: a block of the given shape
// and strides, from an element on. The shape is nil if the operator does not just copy.
func partOfInput(c *op.Call, output int) (shape, strides []int, from int) {
	in := c.In[0].Sizes()
	cut := func(axis, at, size int) ([]int, []int, int) {
		outer, inner := around(in, axis)
		return []int{outer, size * inner}, []int{in[axis] * inner, 1}, at * inner
	}
	switch cfg := c.Config.(type) {
	case TransposeConfig:
		perm, err := cfg.perm(c)
		if err != nil {
			return nil, nil, 0
		}
		by := rowStrides(in)
		for _, a := range perm {
			shape, strides = append(shape, in[a]), append(strides, by[a])
		}
		return shape, strides, 0
	case SplitConfig:
		axis, parts, err := splitSizes(c)
		if err != nil {
			return nil, nil, 0
		}
		at := 0
		for _, d := range parts[:output] {
			at += d.Size
		}
		return cut(axis, at, parts[output].Size)
	case GatherConfig:
		axis, err := cfg.axis(c)
		if err != nil {
			return nil, nil, 0
		}
		index, err := c.Ints(1)
		if err != nil || len(index) != 1 || index[0] < -in[axis] || index[0] >= in[axis] {
			return nil, nil, 0
		}
		return cut(axis, (index[0]+in[axis])%in[axis], 1)
	case SliceConfig:
		if axis, at, size, ok := sliceRange(c); ok && axis >= 0 {
			return cut(axis, at, size)
		}
	}
	return nil, nil, 0
}

// through returns the same walk where the tensor, of the given shape, has other strides than those of rows in
// order; false where that is not a walk.
func (s strided) through(shape, strides []int) (strided, bool) {
	own, most := rowStrides(shape), make([]int, len(shape))
	// moved is how far n elements are in the other order, times of them following each other.
	moved := func(n, times int) (by int) {
		for k, stride := range own {
			by += n / stride * strides[k]
			most[k] += n / stride * times
			n %= stride
		}
		return by
	}
	r := strided{shape: s.shape, strides: make([]int, len(s.strides)), offset: moved(s.offset, 1)}
	for k, n := range s.strides {
		if s.shape[k] != 1 {
			r.strides[k] = moved(n, s.shape[k]-1)
		}
	}
	for k, n := range most {
		if n >= shape[k] {
			return s, false // it would go on in the next row
		}
	}
	return r, true
}

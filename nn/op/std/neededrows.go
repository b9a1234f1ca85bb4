package std

import (
	"context"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
)

// NeededRows rewrites an expression that has not been differentiated yet, so that a Gather of a few known rows is moved
// as far towards the inputs as possible: operators that work row by row then compute only those rows, forward and
// backward. A classifier that reads the first token of a sequence, for example, skips nearly all of its last layer.
// Values that are roots, or that other nodes read too, are computed completely. It returns the nodes that replace the
// roots; the given nodes do not change. If ctx ends, it returns its error.
func NeededRows(ctx context.Context, roots gorgonia.Nodes) (gorgonia.Nodes, error) {
	order, readers, err := inOrder(ctx, roots)
	if err != nil {
		return nil, err
	}
	m := op.NewRewriter(ctx)
	for _, n := range order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p := pickingOf(n, func(n *gorgonia.Node) bool { return len(readers[n]) == 1 })
		if p == nil {
			continue
		}
		if err := p.spread(ctx, readers); err != nil {
			return nil, err
		}
		if !p.alone[p.data] && len(p.turns) == 0 {
			continue
		}
		x, err := p.node(p.data)
		for _, t := range slices.Backward(p.turns) {
			if err == nil {
				x, err = p.call.Apply1(t, x)
			}
		}
		if err == nil {
			x, err = p.call.ReshapeTo(x, op.NodeType(n).Shape...)
		}
		if err != nil {
			return nil, err
		}
		m.Replace(n, x)
	}
	return m.RewriteAll(roots)
}

// inOrder lists the nodes that roots depend on, each after its children, and their readers. The reader of a root as such
// is nil.
func inOrder(ctx context.Context, roots gorgonia.Nodes) (order gorgonia.Nodes, readers map[*gorgonia.Node]gorgonia.Nodes, err error) {
	readers = map[*gorgonia.Node]gorgonia.Nodes{}
	seen := map[*gorgonia.Node]bool{}
	var visit func(n *gorgonia.Node)
	visit = func(n *gorgonia.Node) {
		if seen[n] || err != nil {
			return
		}
		if err = ctx.Err(); err != nil {
			return
		}
		seen[n] = true
		for _, k := range op.Children(n) {
			visit(k)
			readers[k] = append(readers[k], n)
		}
		if err == nil { // hundreds of thousands of visits may end one after the other
			err = ctx.Err()
		}
		order = append(order, n)
	}
	for _, r := range roots {
		visit(r)
		readers[r] = append(readers[r], nil)
	}
	return order, readers, err
}

// picking describes a Gather: of a tensor seen as [outer, length, inner], it selects the elements at index of the
// middle axis.
type picking struct {
	call          *op.Call          // the Gather
	data, reader  *gorgonia.Node    // the tensor, and its reader: the Gather or a Transpose before it
	turns         []TransposeConfig // transpositions of the picked elements, the last first
	outer, length int
	index         []int64
	alone         map[*gorgonia.Node]bool           // nodes that are computed for the picked elements only
	made          map[*gorgonia.Node]*gorgonia.Node // the picked elements of a node
}

// pickingOf returns nil if n is not a Gather that omits at least half of the known elements. It
// selects before Transposes that are read by the Gather only, as reported by single.
func pickingOf(n *gorgonia.Node, single func(n *gorgonia.Node) bool) *picking {
	call, in, _, ok := op.CallOf(n)
	if !ok {
		return nil
	}
	cfg, ok := call.Config.(GatherConfig)
	if !ok || call.In[0].Rank() == 0 {
		return nil
	}
	axis, err := cfg.axis(call)
	if err != nil {
		return nil
	}
	index, err := call.Ints(1)
	shape := call.In[0].Sizes()
	if err != nil || 2*len(index) > shape[axis] || len(index) == 0 || slices.Contains(shape, 0) {
		return nil
	}
	p := &picking{call: call, reader: n, data: in[0], length: shape[axis], alone: map[*gorgonia.Node]bool{}, made: map[*gorgonia.Node]*gorgonia.Node{}}
	for single(p.data) {
		perm, x := turnOf(p.data)
		if perm == nil {
			break
		}
		p.turns = append(p.turns, TransposeConfig{Perm: perm})
		axis, p.reader, p.data = perm[axis], p.data, x
	}
	p.outer = dtype.Product(op.NodeType(p.data).Sizes()[:axis])
	for _, k := range index {
		if k < 0 {
			k += p.length
		}
		if k < 0 || k >= p.length {
			return nil // it fails when it runs
		}
		p.index = append(p.index, int64(k))
	}
	return p
}

// turnOf returns the permutation of x's axes by n, nil if n is not a Transpose.
func turnOf(n *gorgonia.Node) (perm []int, x *gorgonia.Node) {
	call, in, _, ok := op.CallOf(n)
	if !ok {
		return nil, nil
	}
	cfg, ok := call.Config.(TransposeConfig)
	if !ok {
		return nil, nil
	}
	perm, _ = cfg.perm(call) // an error would have been reported by inference
	return perm, in[0]
}

// spread finds the nodes in alone: those whose readers all need only the picked elements. It visits only them and their
// children.
func (p *picking) spread(ctx context.Context, readers map[*gorgonia.Node]gorgonia.Nodes) error {
	satisfied := map[*gorgonia.Node]int{} // how many times a node is read by readers that need only the picked elements
	next := gorgonia.Nodes{p.data}
	satisfied[p.data] = 1
	for len(next) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := next[len(next)-1]
		next = next[:len(next)-1]
		if p.alone[n] || satisfied[n] != len(readers[n]) || !p.passes(n) {
			continue
		}
		p.alone[n] = true
		for _, k := range op.Children(n) {
			if p.reads(n, k) {
				satisfied[k]++
				next = append(next, k)
			}
		}
	}
	return nil
}

// reads reports whether r, a node in alone that reads n, needs only the picked elements of n.
func (p *picking) reads(r, n *gorgonia.Node) bool {
	call, in, _, _ := op.CallOf(r)
	rows := rowsOfCall(call)
	for i, x := range in {
		if x == n && rows.In[i] == 0 {
			return false
		}
	}
	return true
}

// rowsOfCall returns the operator's description of its rows; a view has rows of any size.
func rowsOfCall(c *op.Call) *trait.Rows {
	switch {
	case c.Op.Scheduling.View:
		in := make([]int, len(c.In))
		in[0] = 1
		return &trait.Rows{Out: 1, In: in}
	case c.Op.Scheduling.Rows == nil:
		return nil
	}
	return c.Op.Scheduling.Rows(c)
}

// severalOutputs reports whether an output other than the first is used.
func severalOutputs(c *op.Call) bool {
	for i := 1; i < c.Outputs; i++ {
		if c.Wants(i) {
			return true
		}
	}
	return false
}

// passes reports whether n can be computed for the picked elements only.
func (p *picking) passes(n *gorgonia.Node) bool {
	call, in, output, ok := op.CallOf(n)
	if !ok || output != 0 || call.Random() || severalOutputs(call) {
		return false
	}
	rows := rowsOfCall(call)
	if rows == nil || rows.Out == 0 {
		return false
	}
	elements, ok := p.inner(op.NodeType(n))
	if !ok || elements%rows.Out != 0 || rows.Groups > 0 && (rows.Groups != p.outer || elements != rows.Out) {
		return false
	}
	for i, size := range rows.In {
		if size == 0 || in[i] == nil {
			continue
		}
		if got, ok := p.inner(op.NodeType(in[i])); !ok || got != elements/rows.Out*size {
			return false
		}
	}
	return true
}

// inner returns the number of contiguous elements of a tensor for each index that may be picked; ok is false if an axis
// of the tensor would have to be split irregularly.
func (p *picking) inner(t op.Type) (int, bool) {
	n := dtype.Product(t.Sizes())
	_, ok := p.shape(t)
	return n / (p.outer * p.length), ok && n%(p.outer*p.length) == 0
}

// shape returns the shape of the picked elements of a tensor.
func (p *picking) shape(t op.Type) ([]op.Dim, bool) {
	shape, before := slices.Clone(t.Shape), 1
	for i, d := range t.Sizes() {
		if p.outer%before == 0 && before*d%(p.outer*p.length) == 0 {
			shape[i] = op.D(d / p.length * len(p.index))
			return shape, true
		}
		before *= d
	}
	return nil, false
}

// node returns the picked elements of n.
func (p *picking) node(n *gorgonia.Node) (*gorgonia.Node, error) {
	if x := p.made[n]; x != nil {
		return x, nil
	}
	x, err := p.make(n)
	p.made[n] = x
	return x, err
}

func (p *picking) make(n *gorgonia.Node) (*gorgonia.Node, error) {
	shape, _ := p.shape(op.NodeType(n))
	if !p.alone[n] {
		b := composeOn(p.call, gorgonia.Nodes{n})
		inner, _ := p.inner(op.NodeType(n))
		x := b.reshape(n, op.D(p.outer), op.D(p.length), op.D(inner))
		x = b.do(GatherConfig{Axis: 1}, x, b.constant(dtype.FromSlice(p.index, len(p.index))))
		return b.reshape(x, shape...), b.err
	}
	of, from, _, _ := op.CallOf(n)
	rows, in := rowsOfCall(of), slices.Clone(from)
	for i, size := range rows.In {
		if size == 0 || in[i] == nil {
			continue
		}
		var err error
		if in[i], err = p.node(in[i]); err != nil {
			return nil, err
		}
	}
	if of.Op.Scheduling.View {
		return of.ReshapeTo(in[0], shape...)
	}
	call := *of
	call.In, call.Known = slices.Clone(call.In), slices.Clone(call.Known)
	for i, x := range in {
		if x != from[i] {
			call.In[i], call.Known[i] = op.NodeType(x), op.Known{}
		}
	}
	if err := call.Resolve(); err != nil {
		return nil, err
	}
	out, err := op.Emit(n.Graph(), &call, in)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

package nn

// folds reports whether all outputs of a node are known before the run.
func (w *walker) folds(n *Node) bool {
	some := false
	for _, v := range n.out {
		if v == nil {
			continue
		}
		b := w.env[v]
		if b == nil || b.known.Value == nil && b.known.Dims == nil {
			return false
		}
		some = true
	}
	return some
}

// lifetimes are the memory needs of the values of a graph, if only views share memory.
type lifetimes struct {
	made map[*Node]int64 // bytes of a node's outputs
	peak int64
}

// lifetimes computes them from a walk with known types.
func (g *Graph) lifetimes(w *walker) lifetimes {
	l := lifetimes{made: map[*Node]int64{}}
	held := map[*Value]*Value{} // from a view to the value that owns its memory
	of := func(v *Value) *Value {
		if x := held[v]; x != nil {
			return x
		}
		return v
	}
	size, last := map[*Value]int64{}, map[*Value]int{}
	for i, n := range g.nodes() {
		if w.looks.ended() {
			return l
		}
		for _, v := range n.reads() {
			if v != nil && v.producer != nil {
				last[of(v)] = i
			}
		}
		if w.folds(n) {
			continue
		}
		for k, v := range n.out {
			if v == nil {
				continue
			}
			if k == 0 && n.op != nil && n.op.Scheduling.View {
				held[v] = of(n.input(0))
				continue
			}
			if b := w.env[v]; b != nil && b.typ.Static() {
				size[v] = int64(b.typ.Elements() * b.typ.DType.Size())
				l.made[n] += size[v]
			}
			last[v] = max(last[v], i)
		}
	}
	for _, v := range g.outputs {
		last[of(v)] = len(g.nodes())
	}
	gone := make([][]*Value, len(g.nodes())+1)
	for v, i := range last {
		gone[i] = append(gone[i], v)
	}
	now := int64(0)
	for i, n := range g.nodes() {
		now += l.made[n]
		l.peak = max(l.peak, now)
		for _, v := range gone[i] {
			now -= size[v]
		}
	}
	return l
}

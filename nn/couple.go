package nn

import (
	"context"
	"github.com/graft-ml/graft/nn/internal/indices"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
)

// axisID numbers an axis of a value in an analysis.
type axisID = indices.Axis

// chanAxis is one axis of one value. Its indices are the elements first … first+size−1 of the analysis.
type chanAxis struct {
	value *Value
	axis  int
	first int32
	size  int32
}

// reason describes what couples or fixes indices, and why.
type reason struct {
	node *Node  // the operator, or
	port *Value // the graph input or output that they belong to
	axis int    // of the node's value, or of the port
	text string
}

// analysis holds what a graph's operators declare about its axes: which exist, what couples them, what
// fixes them. Unknown sizes are replaced by numbers (stand-ins).
type analysis struct {
	g      *Graph
	axes   []chanAxis
	first  map[*Value]axisID
	rank   map[*Value]int
	system indices.System
	by     []reason           // reasons of the system's relations, splits and pins, by number
	spans  map[*Node]declared // for each node, the relations and splits that it declared
	calls  map[*Node]*op.Call
	leaf   map[*Value]bool     // outputs of Constant nodes, which are cut like parameters
	zero   map[axisID]bool     // see zeroes
	most   int32               // indices of axes that there is memory for
	env    map[*Value]*binding // bindings of the walk with stand-ins
}

// declared locates the declarations of one node in an analysis.
type declared struct {
	rel, relEnd, norm, normEnd, split, splitEnd int
}

// analyse asks every node for its couplings. It is incomplete if ctx ends.
func (g *Graph) analyse(ctx context.Context) *analysis {
	a := &analysis{g: g, first: map[*Value]axisID{}, rank: map[*Value]int{}, spans: map[*Node]declared{}, calls: map[*Node]*op.Call{}, leaf: map[*Value]bool{}, zero: map[axisID]bool{}, most: int32(min(MemoryLeft()/32, 1<<27))}
	w := g.standIn(ctx)
	a.env = w.env
	for _, v := range g.inputs {
		a.add(v, w.env[v].typ)
		a.pinValue(v, reason{port: v, text: "it is the graph input"})
	}
	s := &a.system
	for _, n := range g.nodes() {
		if ctx.Err() != nil {
			return a
		}
		for _, v := range n.reads() {
			if v != nil && v.param != nil {
				a.add(v, op.TypeOf(v.param.tensor()))
			}
		}
		for _, v := range n.out {
			if v != nil && w.env[v] != nil {
				a.add(v, w.env[v].typ)
			}
		}
		from := declared{rel: len(s.Relations), norm: len(s.Norms), split: len(s.Splits)}
		a.node(n, w)
		from.relEnd, from.normEnd, from.splitEnd = len(s.Relations), len(s.Norms), len(s.Splits)
		a.spans[n] = from
	}
	for _, v := range g.outputs {
		a.pinValue(v, reason{port: v, text: "it reaches graph output"})
	}
	return a
}

// standIn walks the graph with numbers in place of open dimensions. It tries several choices, because
// the sizes must suit strides, concatenations of skip connections and position tables.
func (g *Graph) standIn(ctx context.Context) *walker {
	var best *walker
	most := -1
	for _, try := range [][2]int{{2, 64}, {2, 16}, {2, 32}, {2, 224}, {2, 512}, {2, 576}, {1, 64}, {1, 1}, {3, 7}} {
		w, reached := g.standAt(ctx, try[0], try[1])
		if reached > most {
			best, most = w, reached
		}
		if reached == len(g.nodes()) || !g.open() || ctx.Err() != nil {
			break
		}
	}
	return best
}

func (g *Graph) open() bool {
	for _, v := range g.inputs {
		if !v.typ.Static() {
			return true
		}
	}
	return false
}

// standAt walks with the given sizes for open first and other axes and counts the nodes that resolved.
func (g *Graph) standAt(ctx context.Context, batch, other int) (*walker, int) {
	w := lowering{g: g, mode: walkInfer, calls: true, ctx: g.inferring(ctx)}.walker()
	size := map[string]int{}
	for _, v := range g.inputs {
		t := v.typ
		t.Shape = append([]op.Dim(nil), t.Shape...)
		for i, d := range t.Shape {
			if d.Known() {
				t.Shape[i] = op.D(d.Size)
				continue
			}
			n := other
			if i == 0 {
				n = batch
			}
			if s, ok := size[d.Sym]; ok && d.Sym != "" {
				n = s
			}
			size[d.Sym] = n
			t.Shape[i] = op.D(n)
		}
		w.env[v] = &binding{typ: t}
	}
	reached := 0
	for _, n := range g.nodes() {
		if ctx.Err() != nil {
			break
		}
		if err := w.visit(n); err != nil {
			w.bindDeclared(n)
			continue
		}
		ok := true
		for _, v := range n.out {
			if v != nil && !w.env[v].typ.Static() {
				ok = false
			}
		}
		if ok {
			reached++
		}
	}
	return w, reached
}

// add registers the axes of a value if their lengths are known, and there is memory for their indices: about 32 bytes for each. Without,
// they count as unknown.
func (a *analysis) add(v *Value, t op.Type) {
	if _, ok := a.first[v]; ok || !t.Static() {
		return
	}
	left := int64(a.most - a.system.Elements())
	for _, d := range t.Shape {
		if left -= min(int64(d.Size), left+1); left < 0 {
			return
		}
	}
	a.first[v], a.rank[v] = axisID(len(a.axes)), len(t.Shape)
	for i, d := range t.Shape {
		_, span := a.system.Add(int32(d.Size))
		a.axes = append(a.axes, chanAxis{v, i, span.First, span.Size})
	}
}

// of returns the number of an axis of a value; false if the value's shape is not known.
func (a *analysis) of(v *Value, axis int) (axisID, bool) {
	f, ok := a.first[v]
	if !ok || axis < 0 || axis >= a.rank[v] {
		return 0, false
	}
	return f + axisID(axis), true
}

func (a *analysis) pinValue(v *Value, why reason) {
	for i := range a.rank[v] { // none if nothing is known about the value
		why.axis = i
		a.pinAxis(a.first[v]+axisID(i), why)
	}
}

func (a *analysis) pinAxis(id axisID, why reason) { a.pin(id, 0, int(a.axes[id].size), why) }

// pin fixes indices lo to hi−1 of an axis.
func (a *analysis) pin(id axisID, lo, hi int, why reason) {
	a.system.Pins = append(a.system.Pins, indices.Pin{Axis: id, Lo: int32(lo), Hi: int32(hi), By: a.because(why)})
}

// relate couples two axes.
func (a *analysis) relate(x, y axisID, m coupling.Map, by int) {
	a.system.Relations = append(a.system.Relations, indices.Relation{A: x, B: y, Map: m, By: by})
}

// normalize couples two axes by a normalization over both, or over one.
func (a *analysis) normalize(x, y axisID, by int) {
	a.system.Norms = append(a.system.Norms, indices.Relation{A: x, B: y, Map: coupling.Map{Relation: coupling.Norm}, By: by})
}

// because returns the number of a reason.
func (a *analysis) because(why reason) int {
	a.by = append(a.by, why)
	return len(a.by) - 1
}

// pinNode fixes everything that a node reads and computes.
func (a *analysis) pinNode(n *Node, text string) {
	for _, v := range append(n.reads(), n.out...) {
		if v == nil {
			continue
		}
		for i := range a.rank[v] {
			a.pinAxis(a.first[v]+axisID(i), reason{node: n, axis: i, text: text})
		}
	}
}

// node records the declarations of one node.
func (a *analysis) node(n *Node, w *walker) {
	if n.isConstant() {
		a.leaf[n.out[0]] = true
		return
	}
	if n.op == nil {
		a.pinNode(n, "graft does not know the operator")
		return
	}
	c := w.called[n]
	if c == nil {
		a.pinNode(n, "its shapes are not known")
		return
	}
	a.calls[n] = c
	switch t := &n.op.Traits; {
	case t.Lengths != nil:
		a.shapeReader(n, c)
		a.pinValue(n.output(0), reason{node: n, text: "lists lengths"})
		return
	case t.OfLengths:
		a.freeAxes(n, 0)
		a.pinValue(n.input(0), reason{node: n, text: "reads lengths"})
		return
	}
	if n.op.Couple == nil {
		a.pinNode(n, n.op.Pinned)
		return
	}
	k := &coverage{a: a, n: n, c: c, by: a.because(reason{node: n}), in: map[coupling.Axis]bool{}, hit: map[coupling.Axis][]bool{}}
	k.apply(n.op.Couple(c))
	k.special()
	k.pinRest()
}

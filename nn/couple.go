package nn

import (
	"fmt"

	"github.com/graft-ml/graft/nn/op"
)

// axisID numbers an axis of a value in an analysis.
type axisID int32

// chanAxis is one axis of one value. Its indices are the elements first … first+size−1 of the analysis.
type chanAxis struct {
	value *Value
	axis  int
	first int32
	size  int32
}

// relation ties the indices of two axes, whatever the view.
type relation struct {
	a, b axisID
	m    op.IndexMap
	node *Node
}

// pin fixes a range of indices of an axis.
type pin struct {
	axis   axisID
	lo, hi int32
	why    reason
}

// reason says why indices are fixed.
type reason struct {
	node *Node  // the operator that fixes them, or
	port *Value // the graph input or output that they belong to
	axis int    // of the node's value concerned or of the port
	text string
}

// analysis is what a graph's operators say about its axes: which exist, what ties them, what fixes
// them. Sizes without a number are replaced by stand-ins.
type analysis struct {
	g      *Graph
	axes   []chanAxis
	first  map[*Value]axisID
	rank   map[*Value]int
	total  int32
	rel    []relation
	norm   []relation // the identity, through a normalization over the axis
	splits []split
	pins   []pin
	calls  map[*Node]*op.Call
	leaf   map[*Value]bool // outputs of Constant nodes, cut like parameters
	zero   map[axisID]bool // see zeroes
	feeds  map[*Value]op.Type
}

// analyse asks every node for its couplings.
func (g *Graph) analyse() *analysis {
	a := &analysis{g: g, first: map[*Value]axisID{}, rank: map[*Value]int{}, calls: map[*Node]*op.Call{}, leaf: map[*Value]bool{}, zero: map[axisID]bool{}}
	w := g.standIn()
	a.feeds = map[*Value]op.Type{}
	for _, v := range g.inputs {
		a.feeds[v] = w.env[v].typ
	}
	for _, v := range g.inputs {
		a.add(v, w.env[v].typ)
		a.pinValue(v, reason{port: v, text: "it is the graph input"})
	}
	for _, n := range g.nodes {
		for _, v := range n.reads() {
			if v != nil && v.param != nil {
				a.add(v, op.TypeOf(v.param.Tensor()))
			}
		}
		for _, v := range n.out {
			if v != nil && w.env[v] != nil {
				a.add(v, w.env[v].typ)
			}
		}
		a.node(n, w)
	}
	for _, v := range g.outputs {
		if v.param == nil || a.rank[v] > 0 {
			a.pinValue(v, reason{port: v, text: "it reaches graph output"})
		}
	}
	return a
}

// standIn walks the graph with numbers in place of open dimensions. Several choices are tried,
// for the sizes must pass strides, concatenations of skips and tables of positions.
func (g *Graph) standIn() *walker {
	var best *walker
	most := -1
	for _, try := range [][2]int{{2, 64}, {2, 16}, {2, 32}, {2, 224}, {2, 512}, {2, 576}, {1, 64}, {1, 1}, {3, 7}} {
		w, reached := g.standAt(try[0], try[1])
		if reached > most {
			best, most = w, reached
		}
		if reached == len(g.nodes) || !g.open() {
			break
		}
	}
	return best
}

func (g *Graph) open() bool {
	for _, v := range g.inputs {
		if v.typ.Unranked || !v.typ.Static() {
			return true
		}
	}
	return false
}

// standAt walks with the given sizes for open first and other axes and counts the nodes that resolved.
func (g *Graph) standAt(batch, other int) (*walker, int) {
	w := newWalker(g, walkInfer)
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
	for _, n := range g.nodes {
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

// add registers the axes of a value, unless their lengths are not known.
func (a *analysis) add(v *Value, t op.Type) {
	if _, ok := a.first[v]; ok || !t.Static() {
		return
	}
	a.first[v], a.rank[v] = axisID(len(a.axes)), len(t.Shape)
	for i, d := range t.Shape {
		a.axes = append(a.axes, chanAxis{v, i, a.total, int32(d.Size)})
		a.total += int32(d.Size)
	}
}

// of is the number of an axis of a value; false when the value's shape is not known.
func (a *analysis) of(v *Value, axis int) (axisID, bool) {
	f, ok := a.first[v]
	if !ok || axis < 0 || axis >= a.rank[v] {
		return 0, false
	}
	return f + axisID(axis), true
}

func (a *analysis) pinValue(v *Value, why reason) {
	for i := range a.rank[v] {
		why.axis = i
		a.pinAxis(a.first[v]+axisID(i), why)
	}
}

func (a *analysis) pinAxis(id axisID, why reason) {
	a.pins = append(a.pins, pin{id, 0, a.axes[id].size, why})
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

// node records what one node says.
func (a *analysis) node(n *Node, w *walker) {
	if n.opType == "Constant" && n.domain == "" {
		if v := n.Out(0); v != nil {
			a.leaf[v] = true
		}
		return
	}
	if n.op == nil {
		a.pinNode(n, "graft does not know the operator")
		return
	}
	c := w.call(n, n.reads())
	if c == nil || c.Resolve() != nil {
		a.pinNode(n, "its shapes are not known")
		return
	}
	a.calls[n] = c
	switch n.opType {
	case "Shape", "Size":
		a.shapeReader(n)
		a.pinValue(n.Out(0), reason{node: n, text: "lists lengths"})
		return
	case "ConstantOfShape":
		a.freeAxes(n, 0)
		a.pinValue(n.In(0), reason{node: n, text: "reads lengths"})
		return
	}
	if n.op.Couple == nil {
		a.pinNode(n, n.op.Pinned)
		return
	}
	k := &coverage{a: a, n: n, c: c, in: map[op.AxisRef]bool{}, hit: map[op.AxisRef][]bool{}}
	k.apply(n.op.Couple(c))
	k.special()
	k.pinRest()
}

// coverage applies the couplings of one node and remembers which axes they speak of.
type coverage struct {
	a   *analysis
	n   *Node
	c   *op.Call
	in  map[op.AxisRef]bool
	hit map[op.AxisRef][]bool // output axes of which only parts are spoken of
}

// at finds the axis that a reference means.
func (k *coverage) at(r op.AxisRef) (axisID, bool) {
	var v *Value
	if r.Output {
		v = k.n.Out(r.Slot)
	} else if reads := k.n.reads(); r.Slot < len(reads) {
		v = reads[r.Slot]
	}
	if v == nil {
		return 0, false
	}
	return k.a.of(v, r.Axis)
}

func (k *coverage) size(r op.AxisRef) int {
	id, ok := k.at(r)
	if !ok {
		return -1
	}
	return int(k.a.axes[id].size)
}

func (k *coverage) apply(list []op.Coupling) {
	if k.n.opType == "Flatten" || len(list) > 0 && list[0].Map.Relation == op.Resplit {
		k.resplit()
		return
	}
	for _, c := range list {
		f, ok1 := k.at(c.From)
		t, ok2 := k.at(c.To)
		if !ok1 || !ok2 {
			continue
		}
		n, m := int(k.a.axes[f].size), int(k.a.axes[t].size)
		if !fits(c.Map, n, m) {
			continue // pinned below, for nothing speaks of the axis
		}
		k.in[c.From], k.in[c.To] = true, true
		switch c.Map.Relation {
		case op.Norm:
			k.a.norm = append(k.a.norm, relation{f, t, c.Map, k.n})
		case op.Group:
			k.group(f, t, c.Map.Groups)
		default:
			k.a.rel = append(k.a.rel, relation{f, t, c.Map, k.n})
		}
		k.part(c, n, m)
	}
}

// part remembers which indices of an output an Offset reaches.
func (k *coverage) part(c op.Coupling, n, m int) {
	if c.Map.Relation != op.Offset {
		return
	}
	mark := func(r op.AxisRef, size int, hit func(i int) int) {
		if !r.Output {
			return
		}
		if k.hit[r] == nil {
			k.hit[r] = make([]bool, size)
		}
		for i := range n {
			if j := hit(i); j >= 0 {
				k.hit[r][j] = true
			}
		}
	}
	mark(c.To, m, func(i int) int { return offset(c.Map, i, m) })
	mark(c.From, n, func(i int) int {
		if offset(c.Map, i, m) < 0 {
			return -1
		}
		return i
	})
}

// offset is where index i goes on an axis of length m, -1 when nowhere.
func offset(f op.IndexMap, i, m int) int {
	j := i + f.Shift
	if j < 0 || j >= m || f.Count > 0 && min(i, j) >= f.Count {
		return -1
	}
	return j
}

// fits says whether a map makes sense between axes of lengths n and m.
func fits(f op.IndexMap, n, m int) bool {
	switch f.Relation {
	case op.Identity, op.Norm:
		return n == m
	case op.Factor:
		return f.Outer*n*f.Inner == m
	case op.Gates:
		return f.Groups*n == m
	case op.Permutation:
		return len(f.Perm) == n
	case op.Group:
		return f.Groups > 0 && n%f.Groups == 0 && (m%f.Groups == 0 || m == n/f.Groups)
	}
	return true
}

// pinRest fixes the axes that no coupling spoke of.
func (k *coverage) pinRest() {
	for i, v := range k.n.reads() {
		if v == nil {
			continue
		}
		for x := range k.a.rank[v] {
			if r := op.InAxis(i, x); !k.in[r] {
				id, _ := k.at(r)
				k.a.pinAxis(id, reason{node: k.n, axis: x, text: "works on the axis as a whole"})
			}
		}
	}
	for i, v := range k.n.out {
		if v == nil {
			continue
		}
		for x := range k.a.rank[v] {
			r := op.OutAxis(i, x)
			id, _ := k.at(r)
			if !k.in[r] {
				k.a.pinAxis(id, reason{node: k.n, axis: x, text: "makes the axis"})
				continue
			}
			for j, hit := range k.hit[r] {
				if !hit {
					k.a.pins = append(k.a.pins, pin{id, int32(j), int32(j + 1), reason{node: k.n, axis: x, text: "adds elements"}})
				}
			}
		}
	}
}

func (r reason) String() string {
	switch {
	case r.port != nil:
		return fmt.Sprintf("%s '%s'", r.text, r.port.name)
	case r.node != nil:
		return fmt.Sprintf("%s '%s' %s", r.node.opType, r.node.Label(), r.text)
	}
	return r.text
}

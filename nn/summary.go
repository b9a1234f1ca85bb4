package nn

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graft-ml/graft/nn/op"
)

// Summary is a table of a graph's nodes and their costs.
type Summary struct {
	Model  string   `json:"model"`  // the graph's name
	Inputs []string `json:"inputs"` // name and type
	Rows   []Row    `json:"nodes"`  // in the order of the nodes
	Total  Total    `json:"total"`  // sums over the rows
}

// Row is one node of a Summary.
type Row struct {
	Node      string   `json:"node"`      // its label
	Op        string   `json:"op"`        // the operator, preceded by its domain and a dot unless that is the standard one
	Outputs   []string `json:"outputs"`   // names of the values it computes
	Shape     string   `json:"shape"`     // of the first output, such as float32[N,10]
	Params    int      `json:"params"`    // elements of the weights and statistics that no earlier node reads
	Trainable int      `json:"trainable"` // elements of those that training changes
	MACs      int64    `json:"macs"`      // multiply-adds, with every symbol at 1
	Bytes     int64    `json:"bytes"`     // of the outputs, likewise; 0 if they are known before the graph runs, or if their size is unknown
	Folded    bool     `json:"folded"`    // all outputs are known before the graph runs: constants and computations on shapes
}

// Total holds sums over the rows of a Summary.
type Total struct {
	Nodes     int   `json:"nodes"`     // number of nodes
	Params    int   `json:"params"`    // elements of weights and statistics
	Trainable int   `json:"trainable"` // those that training changes
	MACs      int64 `json:"macs"`      // multiply-adds
	Uncounted int   `json:"uncounted"` // nodes with multiply-adds that MACs leaves out: their sizes are unknown, or they are in subgraphs
	Folded    int   `json:"folded"`    // nodes whose outputs are known before the graph runs
	Stored    int64 `json:"stored"`    // bytes of parameters and constants
	Bytes     int64 `json:"bytes"`     // of all values that nodes compute, which training keeps in memory
	Peak      int64 `json:"peak"`      // largest number of bytes of such values needed at the same time in a run, without sharing memory
}

// Summary returns a table of the nodes with their shapes, parameters and multiply-adds. Dimensions without a number, such
// as the batch, count as 1. Nodes inside subgraphs are not listed.
func (g *Graph) Summary() *Summary { return g.SummaryAt(nil) }

// SummaryAt is Summary with the given sizes for some symbols instead of 1, to see how costs grow with them.
func (g *Graph) SummaryAt(sizes map[string]int) *Summary {
	defer g.locked().unlock()
	return g.summary(g.at(sizes))
}

// SummaryFor is Summary for a run on the given inputs: with their shapes, and with the sizes that follow for symbols of other inputs.
func (g *Graph) SummaryFor(in Feed) *Summary {
	s, _ := g.SummaryUntil(context.Background(), in)
	return s
}

// SummaryUntil is SummaryFor, ended by ctx, with its error.
func (g *Graph) SummaryUntil(ctx context.Context, in Feed) (*Summary, error) {
	defer g.locked().unlock()
	sizes, types := map[string]int{}, map[*Value]op.Type{}
	for _, v := range g.inputs {
		x, ok := in[v.name]
		if !ok {
			continue
		}
		t := op.TypeOf(x)
		types[v] = t
		for axis, d := range v.typ.Shape {
			if d.Sym != "" && axis < len(t.Shape) {
				sizes[d.Sym] = t.Shape[axis].Size
			}
		}
	}
	s := g.summary(g.walkOf(ctx, func(v *Value) op.Type {
		if t, ok := types[v]; ok {
			return t
		}
		return withSizes(v.typ, sizes)
	}))
	return s, ctx.Err()
}

// summary returns the table of a walk, a part of it if the walk's context has ended.
func (g *Graph) summary(w *walker) *Summary {
	s := &Summary{Model: g.name, Inputs: describe(g.inputs)}
	macs, live := costsOf(w), g.lifetimes(w)
	seen := map[*Param]bool{}
	for _, n := range g.nodes() {
		if w.looks.ended() {
			break
		}
		r := Row{Node: n.label(), Op: n.operator().String(), MACs: macs[n]}
		if v := n.output(0); v != nil && v.typ.Present() {
			r.Shape = v.typ.String()
		}
		for _, v := range n.out {
			if v != nil {
				r.Outputs = append(r.Outputs, v.name)
			}
		}
		r.Folded, r.Bytes = w.folds(n), live.made[n]
		for _, v := range n.reads() {
			if v == nil || v.param == nil || seen[v.param] {
				continue
			}
			seen[v.param] = true
			s.Total.Stored += int64(v.param.size() * v.typ.DType.Size())
			if v.param.purpose() == Constant {
				continue
			}
			r.Params += v.param.size()
			if v.param.trainable() {
				r.Trainable += v.param.size()
			}
		}
		s.Rows = append(s.Rows, r)
		if s.Total.Nodes++; r.Folded {
			s.Total.Folded++
		}
		if _, counted := macs[n]; !counted && !r.Folded && n.multiplies() {
			s.Total.Uncounted++
		}
		s.Total.Bytes += r.Bytes
		s.Total.Params += r.Params
		s.Total.Trainable += r.Trainable
		s.Total.MACs += r.MACs
	}
	s.Total.Peak = live.peak
	return s
}

// multiplies reports whether the node computes multiply-adds, itself or in its subgraphs.
func (n *Node) multiplies() bool {
	return n.op != nil && n.op.Cost != nil ||
		slices.ContainsFunc(n.bodies(), func(b *Body) bool { return slices.ContainsFunc(b.Graph.nodes(), (*Node).multiplies) })
}

// costs returns the multiply-adds of the nodes whose shapes are known once symbols are 1.
func (g *Graph) costs() map[*Node]int64 {
	return costsOf(g.at(nil))
}

func costsOf(w *walker) map[*Node]int64 {
	cost := map[*Node]int64{}
	for n, c := range w.called {
		if w.looks.ended() {
			break
		}
		if n.op.Cost != nil && settled(c) {
			cost[n], _ = n.op.Cost(c)
		}
	}
	return cost
}

// atOne returns the calls of the nodes that can be inferred with symbols at size 1.
func (g *Graph) atOne() map[*Node]*op.Call { return g.at(nil).called }

// at returns a walk with the given sizes of symbols, 1 for the others.
func (g *Graph) at(sizes map[string]int) *walker {
	return g.walkOf(g.until(), func(v *Value) op.Type { return withSizes(v.typ, sizes) })
}

// walkOf returns a walk with the given types of the inputs, a part of it if ctx ends.
func (g *Graph) walkOf(ctx context.Context, input func(*Value) op.Type) *walker {
	w := lowering{g: g, ctx: g.inferring(ctx), mode: walkInfer, calls: true}.walker()
	w.looks = &watch{ctx: w.ctx}
	for _, v := range g.inputs {
		w.env[v] = &binding{typ: input(v)}
	}
	nodes := g.nodes()
	if order, err := topological(nodes, w.looks); err == nil { // in an edit, nodes may precede those that they read
		nodes = order
	}
	for _, n := range nodes {
		if w.looks.ended() {
			break
		}
		_ = w.visit(n) // a size of 1 may not be valid here; the other nodes still count
	}
	return w
}

// withSizes returns a type with numbers for all dimensions: those of their symbols, or 1.
func withSizes(t op.Type, sizes map[string]int) op.Type {
	if t.Kind != op.Tensor || t.Unranked {
		return t
	}
	shape := make([]op.Dim, len(t.Shape))
	for i, d := range t.Shape {
		shape[i] = d
		if !d.Known() {
			shape[i] = op.D(1)
			if n, ok := sizes[d.Sym]; ok {
				shape[i] = op.D(n)
			}
		}
	}
	t.Shape = shape
	return t
}

// settled reports whether every input and output of the call has a static shape.
func settled(c *op.Call) bool {
	for i, t := range c.In {
		if c.Has(i) && !t.Static() {
			return false
		}
	}
	for i, t := range c.Out {
		if c.Wants(i) && !t.Static() {
			return false
		}
	}
	return true
}

// String returns an aligned table with a line for each node and one for the totals.
func (s *Summary) String() string {
	rows := [][]string{{"node", "op", "shape", "parameters", "trainable", "multiply-adds"}}
	for _, r := range s.Rows {
		rows = append(rows, []string{r.Node, r.Op, shorten(r.Shape, 48), count(int64(r.Params)), count(int64(r.Trainable)), count(r.MACs)})
	}
	t := s.Total
	rows = append(rows, []string{fmt.Sprintf("%d nodes", t.Nodes), "", "", group(int64(t.Params)), group(int64(t.Trainable)), group(t.MACs)})
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	b.WriteString(s.Model + "(" + strings.Join(s.Inputs, ", ") + ")\n")
	for _, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i >= 3 {
				line.WriteString(space + cell + "  ")
			} else {
				line.WriteString(cell + space + "  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// shorten truncates a text to n characters, the last of which is then an ellipsis: exporters name dimensions
// after nodes, and four such names would not fit on the screen.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// count returns "" for zero.
func count(n int64) string {
	if n == 0 {
		return ""
	}
	return group(n)
}

// group formats a number with a space after every three digits.
func group(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

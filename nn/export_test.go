package nn

import (
	"context"
	"slices"
	"time"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// SetFusion switches the recognition of groups of nodes on or off.
func (g *Graph) SetFusion(on bool) {
	g.unfused = !on
	g.cache.clear()
}

// Waiting counts the goroutines that wait for an edit of the graph.
func (g *Graph) Waiting() int {
	l := g.lock()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.queued + int(l.waiting.Load())
}

// Operators lists the operators that a run on these inputs computes the wanted values with, sorted.
func (g *Graph) Operators(in map[*Value]dtype.Value, want ...*Value) ([]string, error) {
	calls, err := g.calls(in, want)
	var list []string
	for _, c := range calls {
		list = append(list, c.Op.Name)
	}
	slices.Sort(list)
	return list, err
}

// MultiplyAdds counts those of a run on these inputs that computes the wanted values.
func (g *Graph) MultiplyAdds(in map[*Value]dtype.Value, want ...*Value) (int64, error) {
	calls, err := g.calls(in, want)
	total := int64(0)
	for _, c := range calls {
		if c.Op.Cost != nil {
			macs, _ := c.Op.Cost(c)
			total += macs
		}
	}
	return total, err
}

func (g *Graph) calls(in map[*Value]dtype.Value, want []*Value) ([]*op.Call, error) {
	r := request{want: want}
	types, err := g.feedTypes(in, r)
	if err != nil {
		return nil, err
	}
	st, err := g.lowerStage(context.Background(), in, types, r)
	if err != nil {
		return nil, err
	}
	var list []*op.Call
	seen := map[*gorgonia.Node]bool{}
	var visit func(n *gorgonia.Node)
	visit = func(n *gorgonia.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		if c, _, _, ok := op.CallOf(n); ok {
			list = append(list, c)
		}
		for _, k := range op.Children(n) {
			visit(k)
		}
	}
	for _, n := range st.roots {
		visit(n)
	}
	return list, nil
}

// Computed lists every call in the expression graphs of the runs that the graph remembers, gradients included.
func (g *Graph) Computed() []*op.Call {
	var list []*op.Call
	seen := map[*gorgonia.ExprGraph]bool{}
	for _, c := range g.cache.entries {
		for _, r := range c.stage.roots {
			if seen[r.Graph()] {
				continue
			}
			seen[r.Graph()] = true
			for _, n := range r.Graph().AllNodes() {
				if c, _, _, ok := op.CallOf(n); ok {
					list = append(list, c)
				}
			}
		}
	}
	return list
}

// DerivedOps returns the operators that Derive has to write out: those of lowerings, and those whose hidden outputs are read.
func DerivedOps(g *Graph, o DeriveOptions) ([]string, error) {
	runs, _, err := g.deriveRuns(context.Background(), o)
	if err != nil {
		return nil, err
	}
	var list []string
	for c, wanted := range wantedOutputs(runs[0].roots()) {
		for i := range wanted {
			if c.Op.Domain == op.Internal || i >= c.Outputs || c.Random() {
				list = append(list, c.Op.Name)
			}
		}
	}
	return list, nil
}

// Lowerings returns the keys of the lowerings that the graph keeps, the one that was used last at the end.
func (g *Graph) Lowerings() []string {
	var list []string
	for _, c := range g.cache.entries {
		list = append(list, c.key)
	}
	return list
}

// IdlePrograms counts the programs that wait for a run.
func (g *Graph) IdlePrograms() (count int) {
	for _, c := range g.cache.entries {
		for _, list := range c.stage.pool.idle {
			count += len(list)
		}
	}
	return count
}

// Meet is meet for offers of the given sizes: indices of an atom before and after a gap, atoms, and whether they have the last index.
func Meet(list []MetShare, need int, o Realign) (k []int, ok bool) {
	var shares []share
	for _, m := range list {
		s := share{in: m.In, out: m.Out, ends: m.Ends}
		s.order, s.Lost = make([]*Atom, len(m.Lost)), []float64{0}
		for i, x := range m.Lost {
			s.Lost = append(s.Lost, s.Lost[i]+x)
		}
		shares = append(shares, s)
	}
	return meet(shares, need, o.Prefer.passes()[0])
}

// MetShare is a group as Meet takes it; Lost is what each atom is worth, ascending.
type MetShare struct {
	In, Out int
	Lost    []float64
	Ends    bool
}

// SameKnown reports whether an edit would leave a value with the first type and knowledge as it is if inference told the second.
func SameKnown(a, b op.Type, x, y op.Known) bool {
	i := inferred{&Value{typ: a, known: x}, b, y}
	return i.same()
}

// SetFoldingTime sets how long lowerings without a context compute what does not depend on inputs; restore sets the former time.
func SetFoldingTime(d time.Duration) (restore func()) {
	old := foldingTime
	foldingTime = d
	return func() { foldingTime = old }
}

// SetMaxNested sets how many nodes of subgraphs a lowering may visit in any case; restore sets the former number.
func SetMaxNested(n int) (restore func()) {
	old := maxNested
	maxNested = n
	return func() { maxNested = old }
}

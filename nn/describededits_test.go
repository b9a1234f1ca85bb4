package nn_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// namedEdit is an edit and what it is called in testdata/described.
type namedEdit struct {
	name string
	edit func(e *nn.Edit)
}

// editsOf lists edits of each kind at each place of a graph.
func editsOf(g *nn.Graph) []namedEdit {
	var list []namedEdit
	add := func(f func(e *nn.Edit), format string, args ...any) {
		list = append(list, namedEdit{fmt.Sprintf(format, args...), func(e *nn.Edit) { e.Seed(1); f(e) }})
	}
	nodes := slices.Collect(g.Nodes())
	for i, n := range nodes {
		l := n.Label()
		at := func(e *nn.Edit) *nn.Node { return node(e, l) }
		add(func(e *nn.Edit) { e.Remove(at(e)) }, "remove %s", l)
		if n.Out(0) == nil || !n.Out(0).Type().DType.IsFloat() || n.Out(0).Known().Value != nil {
			continue
		}
		if d := n.Call().Window(); d != nil {
			for _, k := range []int{2, 5} {
				add(func(e *nn.Edit) { e.SetKernel(at(e), k) }, "kernel of %s %s to %d", n.Type(), l, k)
			}
		}
		if layer, ok := n.WeightedSum(); ok {
			add(func(e *nn.Edit) { e.Widen(at(e), 2) }, "widen %s", l)
			add(func(e *nn.Edit) { e.RemoveChannels(at(e), 1) }, "narrow %s", l)
			add(func(e *nn.Edit) { e.Freeze(selected(at(e))) }, "freeze %s", l)
			width := n.In(layer.Weight).Type().Shape[layer.Out].Size
			more := wider(n, width+1)
			add(func(e *nn.Edit) { e.Replace(at(e), more) }, "replace %s", l)
			add(func(e *nn.Edit) { e.Insert(at(e).Out(0), wider(n, 2)) }, "insert two channels at %s", l)
			add(func(e *nn.Edit) {
				nn.Realign{Prefer: nn.PreferBefore, NormalizedAxes: true}.Remove(e, at(e))
			}, "remove %s, preferring before", l)
		}
		if n.IsActivation() {
			add(func(e *nn.Edit) { e.SwapActivations(layers.ELU{}, selected(at(e))) }, "swap %s", l)
			add(func(e *nn.Edit) { e.Deepen(at(e).Out(0), nn.Deepening{Layer: layers.Fitting{}}) }, "deepen %s", l)
			add(func(e *nn.Edit) {
				e.Deepen(at(e).Out(0), nn.Deepening{Layer: layers.Fitting{}, Norm: layers.BatchNorm{}, Activation: layers.Tanh{}, Near: true})
			}, "deepen %s nearly", l)
		}
		v := n.Out(0).Name()
		for _, count := range []int{-1, 2} {
			axis, size := channelAxis(n.Out(0))
			if size == 0 {
				continue
			}
			o := nn.ResizeOptions{Axis: axis, Copy: count == 2, Near: i%2 == 0, NormalizedAxes: i%3 == 0}
			add(func(e *nn.Edit) { e.Resize(e.Value(v), size+count, o) }, "resize %s by %+d %+v", v, count, o)
		}
		if i%2 == 0 && i+2 < len(nodes) {
			to := nodes[i+2].Label()
			add(func(e *nn.Edit) { e.AddEdge(e.Value(v), node(e, to)) }, "edge from %s to %s", v, to)
			add(func(e *nn.Edit) {
				nn.Realign{Concat: true, Via: layers.Linear{}, Prefer: nn.PreferAfter}.AddEdge(e, e.Value(v), node(e, to))
			}, "joined edge from %s to %s", v, to)
		}
		for _, u := range n.Out(0).Users() {
			to := u.Label()
			add(func(e *nn.Edit) { e.RemoveEdge(e.Value(v), node(e, to)) }, "without the edge from %s to %s", v, to)
		}
	}
	for _, v := range g.Outputs() {
		add(func(e *nn.Edit) { e.Head(nn.Head{Classes: 7, Output: v.Name()}) }, "head of seven at %s", v.Name())
		add(func(e *nn.Edit) {
			e.Head(nn.Head{Labels: []string{"a", "b", "c"}, Output: v.Name(), Keep: []int{1, -1, 0}, Init: initial.Ones{}, BiasInit: initial.Full{Value: 2}})
		}, "head of three at %s", v.Name())
	}
	for _, v := range g.Inputs() {
		if t := v.Type(); t.Kind == op.Tensor && len(t.Shape) > 0 {
			shape := make([]string, len(t.Shape))
			for i := range shape {
				shape[i] = "N"
				if i > 0 {
					shape[i] = fmt.Sprint("S", i)
				}
			}
			add(func(e *nn.Edit) { e.Input(v.Name(), fmt.Sprintf("%v[%s]", t.DType, strings.Join(shape, ","))) }, "open input %s", v.Name())
			shape[0] = "2"
			for i, d := range t.Shape {
				if i > 0 && d.Known() {
					shape[i] = fmt.Sprint(d.Size)
				}
			}
			add(func(e *nn.Edit) { e.Input(v.Name(), fmt.Sprintf("%v[%s]", t.DType, strings.Join(shape, ","))) }, "input %s of two", v.Name())
		}
	}
	add(func(e *nn.Edit) { e.FreeBatch("B") }, "free batch")
	add(func(e *nn.Edit) { e.Freeze() }, "freeze all")
	add(func(e *nn.Edit) { e.SwapActivations(layers.GELU{Tanh: true}) }, "swap activations")
	for _, version := range []int{7, 12, 17, 23} {
		add(func(e *nn.Edit) { e.SetOpset(version) }, "operator set %d", version)
	}
	return list
}

func selected(n *nn.Node) nn.Selector { return func(x *nn.Node) bool { return x == n } }

// wider returns a layer of the kind of a node with another number of channels.
func wider(n *nn.Node, channels int) nn.Layer {
	if n.Call().Window() != nil {
		return layers.Conv{Out: channels, Kernel: []int{3}, Same: true}
	}
	return layers.Linear{Out: channels}
}

// channelAxis returns an axis whose length is a number, from the back, and its length.
func channelAxis(v *nn.Value) (axis, size int) {
	shape := v.Type().Shape
	if len(shape) < 2 {
		return 0, 0
	}
	at := 1
	if len(shape) == 3 {
		at = 2
	}
	if !shape[at].Known() {
		return 0, 0
	}
	return at - len(shape), shape[at].Size
}

// describeEdits tries each edit, writes what it changes, and takes it back.
func describeEdits(t *testing.T, b *strings.Builder, g *nn.Graph, edits []namedEdit) {
	before := nntest.Spelled(g)
	in, err := draw(g, 2, 5, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range edits {
		fmt.Fprintf(b, "\n%s\n", x.name)
		p, err := g.Plan(x.edit)
		if err != nil {
			fmt.Fprintf(b, "\trefused: %v\n", err)
			continue
		}
		version := g.Version()
		if err := p.Apply(); err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		if err := g.Check(); err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		after := nntest.Spelled(g)
		if s := strings.TrimSpace(p.String()); s != "" {
			b.WriteString("\t" + strings.ReplaceAll(s, "\n", "\n\t") + "\n")
		}
		for _, l := range strings.Split(strings.TrimSpace(diff(before, after)), "\n") {
			if strings.HasPrefix(l, "+") {
				b.WriteString("\t" + l + "\n")
			}
		}
		forth := journal(g, version)
		b.WriteString("\tjournal" + forth + "\n")
		if list := p.Cuts(); len(list) > 0 {
			b.WriteString("\tcuts")
			for _, c := range list {
				fmt.Fprintf(b, " %s.%d%v of %d (%s),", c.Initializer, c.Axis, c.Removed, c.Before, c.Node)
			}
			b.WriteString("\n")
		}
		for i, c := range p.Grown() {
			if i < 3 || c.Values != "zero" {
				fmt.Fprintf(b, "\tgrown %s.%d from %d to %d (%s): %v like %v, %s\n", c.Initializer, c.Axis, c.Before, c.After, c.Node, c.Index, c.Like, c.Values)
			}
		}
		if *nntest.Update && keepsResults(x.name) {
			sameResults(t, x.name, g, p, in)
		}
		applied := g.Version()
		if err := p.Undo(); err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		if s := nntest.Spelled(g); s != before {
			t.Fatalf("%s: taken back, the graph differs:\n%s", x.name, diff(before, s))
		}
		if back := journal(g, applied); strings.Count(back, ";") != strings.Count(forth, ";") {
			t.Errorf("%s: taken back as%s", x.name, back)
		}
		if i%3 == 0 && len(p.Cuts())+len(p.Grown()) > 0 {
			repeatPlan(t, x.name, g, p, before, after)
		}
	}
}

// repeatPlan writes a plan and reads it again: applied, it must do the same, or be refused for what it adds.
func repeatPlan(t *testing.T, name string, g *nn.Graph, p *nn.Plan, before, after string) {
	t.Helper()
	js, err := json.Marshal(p)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	q, err := nn.ReadPlan(g, bytes.NewReader(js))
	if err != nil {
		// Nodes that were added are not in the file.
		if slices.ContainsFunc([]string{"resize", "widen", "narrow"}, func(verb string) bool { return strings.HasPrefix(name, verb) }) {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	if err := q.Apply(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if s := nntest.Spelled(g); s != after {
		t.Errorf("%s: read from its file, the plan does something else:\n%s", name, diff(after, s))
	}
	if err := q.Undo(); err != nil || nntest.Spelled(g) != before {
		t.Fatalf("%s: %v", name, err)
	}
}

// journal lists the changes since a version.
func journal(g *nn.Graph, version int) string {
	var b strings.Builder
	for c := range g.Changes(version) {
		fmt.Fprintf(&b, " %s", c.Kind)
		switch {
		case c.Kind == nn.ParamCut:
			fmt.Fprintf(&b, " %s.%d%v of %d", c.Param.Name(), c.Axis, c.Keep, c.Size)
			if c.Like != nil {
				fmt.Fprintf(&b, " like %v scaled %.3g", c.Like, c.Scale)
			}
		case c.Node != nil:
			b.WriteString(" " + c.Node.Label())
		case c.Param != nil:
			b.WriteString(" " + c.Param.Name())
		}
		if c.Old != "" {
			fmt.Fprintf(&b, " from %q to %q", c.Old, c.Name)
		}
		b.WriteString(";")
	}
	return b.String()
}

// keepsResults reports whether an edit of that name leaves what the network computes as it was.
func keepsResults(name string) bool {
	if strings.HasPrefix(name, "kernel of") {
		return strings.HasSuffix(name, "to 5") && !strings.Contains(name, "Pool")
	}
	if strings.HasPrefix(name, "resize") {
		return strings.Contains(name, "by +") && !strings.Contains(name, "NormalizedAxes:true")
	}
	for _, verb := range []string{"widen", "deepen", "freeze", "free", "operator set", "open input"} {
		if strings.HasPrefix(name, verb) {
			return true
		}
	}
	return false
}

// sameResults runs a network before and after an edit, which is applied.
func sameResults(t *testing.T, name string, g *nn.Graph, p *nn.Plan, in []*tensor.Dense) {
	t.Helper()
	if strings.Contains(name, "nearly") {
		return // to 1e-4 of what is inside
	}
	got, err := g.Run(t.Context(), in...)
	if err != nil {
		t.Logf("%s: %v", name, err)
		return
	}
	if err := p.Undo(); err != nil {
		t.Fatal(err)
	}
	want, err := g.Run(t.Context(), in...)
	if err != nil {
		t.Errorf("before %s: %v", name, err)
		return
	}
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if err := agree(got[i], want[i], 1e-4); err != nil {
			t.Errorf("%s: output %d %v", name, i, err)
		}
	}
}

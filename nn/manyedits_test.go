package nn_test

import (
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// manyEdits lists some of the edits that editsOf leaves out: edges by layers, insertions, rewiring, names, annotations, other sizes.
func manyEdits(g *nn.Graph) []namedEdit {
	var list []namedEdit
	add := func(f func(e *nn.Edit), format string, args ...any) {
		name := fmt.Sprintf(format, args...)
		if crc32.ChecksumIEEE([]byte(g.Name()+name))%4 == 0 { // a quarter says as much
			list = append(list, namedEdit{name, func(e *nn.Edit) { e.Seed(1); f(e) }})
		}
	}
	nodes := slices.Collect(g.Nodes())
	for i, n := range nodes {
		l := n.Label()
		at := func(e *nn.Edit) *nn.Node { return node(e, l) }
		if n.Out(0) == nil {
			continue
		}
		v := n.Out(0).Name()
		add(func(e *nn.Edit) {
			e.Annotate(nn.Annotations{"part": i, "name": l}, selected(at(e)))
			e.RemoveAnnotations([]string{"name"}, nn.Annotated("part", i))
		}, "annotate %s", l)
		add(func(e *nn.Edit) { e.Annotate(nn.Annotations{"axis": i}, selected(at(e))) }, "annotate %s as an attribute", l)
		add(func(e *nn.Edit) { e.Output("again", e.Repeat(at(e), at(e).Inputs()...).Out(0)) }, "repeat %s", l)
		add(func(e *nn.Edit) { e.AsOutput("tapped", e.Value(v)) }, "tap %s", v)
		add(func(e *nn.Edit) { e.Configure(at(e), layers.ReLU{}.Build(e, e.Value(v))[0].Producer().Config()) }, "configure %s as Relu", l)
		add(func(e *nn.Edit) { e.RenameValue(e.Value(v), "other"); e.RenameNode(at(e), "renamed") }, "rename %s", l)
		if i > 0 {
			before := nodes[i-1]
			add(func(e *nn.Edit) { e.RenameValue(e.Value(v), before.Out(0).Name()) }, "rename %s to a taken name", v)
			add(func(e *nn.Edit) { e.Rewire(e.Value(v), e.Value(before.Out(0).Name())) }, "rewire %s to %s", v, before.Out(0).Name())
			add(func(e *nn.Edit) { e.Rewire(e.Value(v), e.Value(before.Out(0).Name()), node(e, before.Label())) }, "rewire %s for one that does not read it", v)
			if users := n.Out(0).Users(); len(users) > 0 {
				add(func(e *nn.Edit) { e.Rewire(e.Value(v), e.Value(before.Out(0).Name()), node(e, users[0].Label())) }, "rewire %s to %s for one", v, before.Out(0).Name())
			}
		}
		if !n.Out(0).Type().DType.IsFloat() || n.Out(0).Known().Value != nil {
			continue
		}
		add(func(e *nn.Edit) { e.Insert(e.Value(v), layers.Named{Name: "norm", Layer: layers.BatchNorm{}}) }, "insert a norm at %s", v)
		add(func(e *nn.Edit) { e.Insert(e.Value(v), layers.ReLU{}) }, "insert an activation at %s", v)
		for axis := range n.Out(0).Type().Shape {
			twice := nn.LayerFunc(func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
				return e.Node(std.ConcatConfig{Axis: axis}, in[0], in[0]).Outputs()
			})
			add(func(e *nn.Edit) { e.Insert(e.Value(v), twice) }, "insert twice of axis %d at %s", axis, v)
			add(func(e *nn.Edit) { e.Replace(at(e), twice) }, "replace %s by twice of axis %d", l, axis)
		}
		add(func(e *nn.Edit) { e.Anchor(e.Value(v), nn.Annotations{"cut": i}) }, "anchor %s", v)
		add(func(e *nn.Edit) { e.ScopedAnchor(nn.Annotations{"scope": l}, selected(at(e)), nn.Ops(n.Type())) }, "scoped anchor around %s", l)
		if d := n.Call().Window(); d != nil {
			for _, k := range [][]int{{0}, {1}, {3, 2}, {7}, {1, 1, 1, 1, 1}} {
				add(func(e *nn.Edit) { e.SetKernel(at(e), k...) }, "kernel of %s to %v", l, k)
			}
		}
		if layer, ok := n.WeightedSum(); ok {
			width := n.In(layer.Weight).Type().Shape[layer.Out].Size
			for _, factor := range []float64{0.5, 1, 1.4, 3} {
				add(func(e *nn.Edit) { e.Widen(at(e), factor) }, "widen %s %g times", l, factor)
			}
			for _, k := range []int{-1, 0, 1, width - 1, width, width + 3} {
				add(func(e *nn.Edit) { e.SetChannels(at(e), k) }, "%s with %d channels", l, k)
			}
			add(func(e *nn.Edit) { e.AddChannels(at(e), 2) }, "two more channels of %s", l)
			for _, o := range []nn.Realign{{}, {Prefer: nn.PreferShrink}, {Prefer: nn.PreferBefore}, {Prefer: nn.PreferAfter, NormalizedAxes: true}} {
				add(func(e *nn.Edit) { o.Replace(e, at(e), wider(n, max(1, width-1))) }, "replace %s by a narrower one, %v", l, o.Prefer)
				add(func(e *nn.Edit) { o.Insert(e, e.Value(v), wider(n, width+2)) }, "insert a wider one at %s, %v", v, o.Prefer)
				add(func(e *nn.Edit) { o.Remove(e, at(e)) }, "remove %s, %v", l, o.Prefer)
			}
			add(func(e *nn.Edit) { e.Unfreeze(selected(at(e))); e.SetRole(at(e).In(layer.Weight), nn.Constant) }, "%s is fixed", l)
			add(func(e *nn.Edit) { e.Deepen(e.Value(v), nn.Deepening{Layer: wider(n, width)}) }, "deepen %s by a layer", v)
		}
		for k := 1; k <= 4; k++ {
			if i+k >= len(nodes) {
				continue
			}
			to := nodes[i+k].Label()
			for j, o := range []nn.Realign{
				{Via: wider(n, 0)}, {Via: wider(n, 3)}, {Prefer: nn.PreferShrink}, {Prefer: nn.PreferBefore}, {Prefer: nn.PreferAfter, NormalizedAxes: true},
				{Concat: true}, {Concat: true, Via: wider(n, 2), Prefer: nn.PreferShrink}, {Via: layers.Conv{Kernel: []int{1}}}, {Via: layers.Conv{Out: 2, Kernel: []int{1}, Pad: []int{0}}, Concat: true},
			} {
				if (i+j+k)%3 == 0 {
					add(func(e *nn.Edit) { o.AddEdge(e, e.Value(v), node(e, to)) }, "edge %d from %s to %s", j, v, to)
				}
			}
		}
		for _, u := range n.Out(0).Users() {
			to := u.Label()
			add(func(e *nn.Edit) {
				nn.Realign{Prefer: nn.PreferShrink, NormalizedAxes: true}.RemoveEdge(e, e.Value(v), node(e, to))
			}, "no edge from %s to %s", v, to)
		}
	}
	groups := g.Channels().Groups()
	for i, x := range groups {
		last := len(x.Atoms) - 1
		for _, k := range [][]int{{0}, {last}, {0, last}, {last / 2}} {
			add(func(e *nn.Edit) {
				var atoms []*nn.Atom
				for _, j := range k {
					atoms = append(atoms, e.Channels().Groups()[i].Atoms[j])
				}
				e.RemoveAtoms(atoms...)
			}, "atoms %v of group %d", k, i)
		}
		add(func(e *nn.Edit) { e.RemoveAtoms(e.Channels().Groups()[i].Atoms...) }, "all atoms of group %d", i)
		for _, p := range x.Params() {
			o := nn.ResizeOptions{Axis: p.Axis - len(p.Value.Type().Shape), Near: i%2 == 0, NormalizedAxes: true, Copy: p.PerAtom > 1,
				Utility: func(a *nn.Atom) float64 { return float64(len(a.Slices())%3) - 0.5 }}
			name := p.Value.Name()
			for _, size := range []int{p.Size - 2*p.PerAtom, p.Size + 1, p.Size + p.PerAtom} {
				add(func(e *nn.Edit) { e.Resize(e.Value(name), size, o) }, "%s.%d of %d", name, p.Axis, size)
			}
			add(func(e *nn.Edit) {
				e.ResizeAll(nn.Request{Value: e.Value(name), Channels: p.Size - p.PerAtom, ResizeOptions: o}, nn.Request{Value: e.Value(groups[0].Params()[0].Value.Name()), Channels: groups[0].Params()[0].Size - 1})
			}, "%s.%d and the first of all", name, p.Axis)
		}
	}
	for _, v := range g.Inputs() {
		t := v.Type()
		for k, d := range t.Shape {
			if t.Kind != op.Tensor || !d.Known() {
				continue
			}
			for _, to := range []string{"Z", fmt.Sprint(d.Size + 1), fmt.Sprint(2 * d.Size), "?"} {
				add(func(e *nn.Edit) {
					shape := strings.Split(strings.Trim(fmt.Sprint(t)[strings.Index(fmt.Sprint(t), "["):], "[]"), ",")
					shape[k] = to
					e.Input(v.Name(), fmt.Sprintf("%v[%s]", t.DType, strings.Join(shape, ",")))
				}, "dimension %d of %s becomes %s", k, v.Name(), to)
			}
		}
		if last := len(t.Shape) - 1; t.Kind == op.Tensor && last > 0 {
			size := t.Shape[1].Size
			for _, axis := range []int{0, 1, last, -1, last + 1} {
				for _, channels := range []int{0, 1, 2, size, size + 2, 2 * size} { // of an open length −1 and the like
					add(func(e *nn.Edit) { e.SetInputChannels(e.Value(v.Name()), channels, axis) }, "%d channels of %s on axis %d", channels, v.Name(), axis)
				}
			}
		}
		add(func(e *nn.Edit) { e.RemoveInput(v.Name()) }, "without input %s", v.Name())
		add(func(e *nn.Edit) { e.Rename(func(s string) string { return "new_" + s }) }, "all renamed")
	}
	for i, v := range g.Outputs() {
		add(func(e *nn.Edit) { e.RemoveOutput(v.Name()) }, "without output %s", v.Name())
		add(func(e *nn.Edit) { e.Head(nn.Head{Classes: 1, Output: v.Name()}) }, "head of one at %s", v.Name())
		add(func(e *nn.Edit) {
			e.Head(nn.Head{Classes: 1, Output: v.Name()})
			e.Head(nn.Head{Classes: 4 + i, Output: v.Name(), Keep: []int{0, -1, -1, -1}[:4], BiasInit: initial.Ones{}})
		}, "heads of one and of four at %s", v.Name())
	}
	add(func(e *nn.Edit) { e.TrainingMode() }, "training mode")
	add(func(e *nn.Edit) { e.Find(nn.Ops("Relu", "Conv", "Gemm", "MatMul")) }, "the one layer or activation")
	add(func(e *nn.Edit) { e.Find() }, "the one node")
	for _, version := range []int{0, 1, 2, 6, 9, 11, 13, 18, 22, 99} {
		add(func(e *nn.Edit) { e.SetOpset(version) }, "operator set %d", version)
	}
	for _, a := range []nn.Layer{layers.Sigmoid{}, layers.PReLU{}, nn.OpLayer{Config: std.ClipConfig{}}, layers.Softmax{}} {
		add(func(e *nn.Edit) { e.SwapActivations(a) }, "activations become %T", a)
	}
	return list
}

// TestManyEdits compares what edits of small networks, and of random ones, do or are refused for with testdata/edits.txt, which
// has a checksum of each: after an intended change, go test ./nn -run TestManyEdits -update.
func TestManyEdits(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "networks", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	graphs := map[string]func(t *testing.T) *nn.Graph{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		names = append(names, name)
		graphs[name] = func(t *testing.T) *nn.Graph { return readNetwork(t, name, "float32") }
	}
	for seed := range uint64(12) {
		name := fmt.Sprintf("random %02d", seed)
		names = append(names, name)
		graphs[name] = func(t *testing.T) *nn.Graph { return model(t, randomGraph(seed)) }
	}
	for _, seed := range []uint64{0, 1, 3, 4, 5} {
		name := fmt.Sprintf("random sequence %02d", seed)
		names = append(names, name)
		graphs[name] = func(t *testing.T) *nn.Graph { return model(t, randomSequence(seed)) }
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := graphs[name](t)
			edits := manyEdits(g)
			var all strings.Builder
			if strings.HasPrefix(name, "random") {
				describeChannels(&all, g)
				edits = append(edits, editsOf(g)...)
			}
			describeEdits(t, &all, g, edits)
			var b strings.Builder
			for s := range strings.SplitSeq(strings.TrimSpace(all.String()), "\n\n") {
				title, _, _ := strings.Cut(s, "\n")
				fmt.Fprintf(&b, "%08x %s\n", crc32.ChecksumIEEE([]byte(s)), title)
			}
			compareSums(t, filepath.Join("testdata", "edits", strings.ReplaceAll(name, " ", "")+".txt"), b.String(), all.String())
		})
	}
}

// compareSums is compareFile for checksums of the sections of a text: it shows the section that is another.
func compareSums(t *testing.T, file, sums, text string) {
	t.Helper()
	if *nntest.Update {
		nntest.CompareFile(t, file, sums)
		return
	}
	want := nntest.FileLines(t, file)
	sections := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, got := range strings.Split(strings.TrimSpace(sums), "\n") {
		if i >= len(want) || got != want[i] {
			t.Fatalf("%s:%d: another text, now\n%s\n-update writes it anew", file, i+1, sections[i])
		}
	}
	if n := len(sections); n != len(want) {
		t.Errorf("%s: %d sections, want %d", file, n, len(want))
	}
}

package generate_test

import (
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

var every = flag.Int("every", 4, "of how many changes TestChanged tries one with -update")

// changed is a model with one change.
type changed struct {
	name string
	kind string // without numbers: of which operator what is changed
	edit func(e *nn.Edit)
}

// changes are what makes a network almost one that is recognized: an attribute or a number that differs, operands that are exchanged, a value
// that is an output or is read again, another activation.
func changes(g *nn.Graph) []changed {
	var list []changed
	kind := ""
	add := func(f func(e *nn.Edit), format string, args ...any) {
		list = append(list, changed{fmt.Sprintf(format, args...), kind + " " + format, f})
	}
	at := func(e *nn.Edit, n *nn.Node) *nn.Node { return e.Value(n.Out(0).Name()).Producer() }
	for n := range g.Nodes() {
		if n.Op() == nil || n.Out(0) == nil {
			continue
		}
		out, in := n.Out(0).Name(), n.Inputs()
		kind = n.Type()
		for _, a := range op.Encode(n.Op().Latest(), n.Config()) {
			for _, v := range otherValues(a.Value) {
				add(func(e *nn.Edit) {
					n := at(e, n)
					attrs := map[string]any{}
					for _, b := range op.Encode(n.Op().Latest(), n.Config()) {
						attrs[b.Name] = b.Value
					}
					attrs[a.Name] = v
					c, err := n.Op().Decode(n.Op().Latest(), attrs)
					if err != nil {
						e.Fail(err)
						return
					}
					e.Configure(n, c)
				}, "%s: %s is %v", out, a.Name, v)
			}
		}
		if len(in) == 2 && in[0] != nil && in[1] != nil && in[0] != in[1] {
			add(func(e *nn.Edit) {
				e.Rewire(e.Value(out), e.Node(n.Config(), valuesOf(e, []*nn.Value{in[1], in[0]})...).Out(0))
			}, "%s: operands exchanged", out)
		}
		for i, v := range in {
			if v == nil {
				continue
			}
			if d := smallData(v); d != nil {
				for k, w := range otherNumbers(d) {
					add(func(e *nn.Edit) { e.Rewire(e.Value(v.Name()), e.Const(e.New("other"), w), at(e, n)) }, "%s: input %d with other numbers, %d", out, i, k)
				}
			}
			if i > 2 {
				add(func(e *nn.Edit) { e.Repeat(at(e, n), valuesOf(e, in[:i])...) }, "%s: repeated with %d inputs", out, i)
			}
		}
		if n.Out(0).Type().DType.IsFloat() {
			add(func(e *nn.Edit) { e.AsOutput("tapped", e.Value(out)) }, "%s: an output", out)
			add(func(e *nn.Edit) { e.Output("again", e.Node(op.Plain("Neg"), e.Value(out)).Out(0)) }, "%s: read again", out)
			for _, name := range []string{"Relu", "Neg", "Identity"} {
				add(func(e *nn.Edit) {
					v := e.Value(out)
					users := v.Users()
					e.Rewire(v, e.Node(op.Plain(name), v).Out(0), users...)
				}, "%s: %s after it", out, name)
			}
		}
	}
	kind = "input"
	for _, v := range g.Inputs() {
		for a, d := range v.Type().Shape {
			shape := slices.Clone(v.Type().Shape)
			if shape[a] = op.D(3); d.Size == 3 || d.Known() && !d.Symbolic() {
				shape[a] = op.Sym("free")
			}
			add(func(e *nn.Edit) { e.Input(v.Name(), v.Type().With(shape...).String()) }, "input %s: axis %d is %v", v.Name(), a, shape[a])
		}
	}
	return list
}

func valuesOf(e *nn.Edit, list []*nn.Value) []*nn.Value {
	var in []*nn.Value
	for _, v := range list {
		if v != nil {
			v = e.Value(v.Name())
		}
		in = append(in, v)
	}
	return in
}

// smallData returns the elements of a constant of few numbers.
func smallData(v *nn.Value) *tensor.Dense {
	if p := v.Param(); p != nil && p.Data() != nil && p.Size() <= 16 {
		return p.Data()
	}
	if d, ok := v.Known().Value.(*tensor.Dense); ok && d.Shape().TotalSize() <= 16 {
		return d
	}
	return nil
}

// otherNumbers are tensors with one element that differs, or one less.
func otherNumbers(d *tensor.Dense) []*tensor.Dense {
	x, err := dtype.Float64s(d)
	if err != nil {
		return nil
	}
	var list []*tensor.Dense
	for i := range x {
		if i > 0 && i < len(x)-1 {
			continue
		}
		for _, by := range []float64{1, -1} {
			y := slices.Clone(x)
			y[i] += by
			if w, err := dtype.FromFloats(dtype.Of(d.Dtype()), y, d.Shape()...); err == nil {
				list = append(list, w)
			}
		}
	}
	if len(x) > 1 && d.Dims() == 1 {
		if w, err := dtype.FromFloats(dtype.Of(d.Dtype()), x[:len(x)-1], len(x)-1); err == nil {
			list = append(list, w)
		}
	}
	return list
}

// otherValues are what an attribute might be instead.
func otherValues(v any) []any {
	switch v := v.(type) {
	case int64:
		return []any{v + 1, v - 1, int64(0)}
	case float32:
		return []any{v + 0.5}
	case []int64:
		var list []any
		for i := range v {
			for _, by := range []int64{1, -1} {
				w := slices.Clone(v)
				w[i] += by
				list = append(list, w)
			}
		}
		for i := range v[min(1, len(v)):] {
			w := slices.Clone(v)
			w[i], w[i+1] = w[i+1], w[i]
			list = append(list, w)
		}
		return list
	case string:
		return []any{"SAME_UPPER", "VALID", "reverse", "reflect", "nearest", "linear"}
	}
	return nil
}

const changedFile = "testdata/changed.txt"

// TestChanged: small networks with one change each, by which they are no longer a layer that is recognized, or another one: the source computes
// what the model computes, and is that of testdata/changed.txt, which has a checksum of each. -update tries many, and keeps one of each kind and outcome.
func TestChanged(t *testing.T) {
	all := models(t)
	maps.Copy(all, exported(t))
	if *nntest.Update {
		drawChanges(t, all)
	}
	byName := map[string]map[string]changed{}
	for _, line := range nntest.FileLines(t, changedFile) {
		sum, rest, _ := strings.Cut(line, " ")
		name, rest, _ := strings.Cut(rest, ", ")
		style, change, _ := strings.Cut(rest, ", ")
		if byName[name] == nil {
			byName[name] = map[string]changed{}
			for _, c := range changes(all[name]) {
				byName[name][c.name] = c
			}
		}
		c, ok := byName[name][change]
		if !ok {
			t.Errorf("%s has no change %q", name, change)
			continue
		}
		text, _, err := writeChanged(t, all[name], c, style)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if got := fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))); got != sum {
			t.Fatalf("%s: the checksum is %s\n%s\n-update writes it anew", line, got, text)
		}
	}
}

// writeChanged returns the source of a changed model, or the error, and how many layers, operators and functions it has; err says that it does not
// compute the same.
func writeChanged(t *testing.T, g *nn.Graph, c changed, style string) (text string, counts []int, err error) {
	t.Helper()
	g, _ = g.Fork()
	if err := g.Edit(c.edit); err != nil {
		return err.Error(), nil, nil
	}
	s, err := generate.Generate(t.Context(), g, generate.Options{Package: "net", Style: style})
	if err != nil {
		return err.Error(), []int{}, nil
	}
	counts = []int{s.Layers, s.Operators, s.Functions}
	text = fmt.Sprintf("%v\n%s%s", counts, s.Files["net.go"], strings.Join(s.Notes, "\n"))
	if s.Difference > 1e-5 || s.Difference != s.Difference {
		err = fmt.Errorf("the outputs differ by %g\n%s", s.Difference, text)
	}
	return text, counts, err
}

// drawChanges writes the file anew.
func drawChanges(t *testing.T, all map[string]*nn.Graph) {
	t.Helper()
	var b strings.Builder
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		nodes := 0
		for range all[name].Nodes() {
			nodes++
		}
		if nodes > 130 || slices.Contains([]string{"dense", "mobile", "averaged", "digits"}, name) {
			continue // it takes too long
		}
		for _, c := range changes(all[name]) {
			sum := crc32.ChecksumIEEE([]byte(name + c.name))
			if sum%uint32(*every) != 0 {
				continue
			}
			style := generate.Layers
			if sum/uint32(*every)%8 == 0 {
				style = generate.Gorgonia
			}
			text, counts, err := writeChanged(t, all[name], c, style)
			if err != nil {
				t.Errorf("%s, %s, %s: %v", name, style, c.name, err)
			}
			if counts == nil {
				continue
			}
			_, before, _ := writeChanged(t, all[name], changed{edit: func(*nn.Edit) {}}, style)
			for i := range counts {
				counts[i] -= before[i]
			}
			if key := fmt.Sprint(style, c.kind, counts); !seen[key] {
				seen[key] = true
				fmt.Fprintf(&b, "%08x %s, %s, %s\n", crc32.ChecksumIEEE([]byte(text)), name, style, c.name)
			}
		}
	}
	if err := os.WriteFile(changedFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

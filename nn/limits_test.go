package nn_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestAnnotationTexts: what a text is read as where it is as short as can be.
func TestAnnotationTexts(t *testing.T) {
	for text, want := range map[string]string{
		"": `""`, "-": `"-"`, "-1": "-1", "0": "0", "9": "9", "9.5": "9.5", "-0.5": "-0.5", "inf": `"inf"`, "-inf": "float32(-Inf)", "NaN": `"NaN"`, ".5": `".5"`, "1x": `"1x"`,
		"[": `"["`, "[]": "[]int{}", "[1]": "[]int{1}", "[1,2.5]": "[]float32{1, 2.5}", `["a"]`: `[]string{"a"}`, `"`: `"\""`, `"1"`: `"1"`, `[1,"a"]`: `"[1,\"a\"]"`,
	} {
		got := fmt.Sprintf("%#v", nn.ParseAnnotation(text))
		if f, ok := nn.ParseAnnotation(text).(float32); ok && strings.Contains(fmt.Sprint(f), "Inf") {
			got = fmt.Sprintf("float32(%v)", f)
		}
		if got = strings.ReplaceAll(got, "int64", "int"); got != want {
			t.Errorf("%q is read as %s, want %s", text, got, want)
		}
	}
}

// TestDeclaredTypes: types are those of what is computed; inputs keep theirs, and what nothing is known of has those that are declared.
func TestDeclaredTypes(t *testing.T) {
	a := nn.Assemble(nn.NewGraph("m", std.Operators(), map[string]int{"": 17, "my": 1}))
	declared := op.T(dtype.Float64, op.D(7))
	a.Input("x", op.T(dtype.Float32, op.Sym("N")), nil)
	a.Node(nn.NodeSpec{Type: "Relu", In: []string{"x"}, Out: []string{"y"}})
	a.Node(nn.NodeSpec{Domain: "my", Type: "Odd", In: []string{"x"}, Out: []string{"h"}})
	a.Node(nn.NodeSpec{Domain: "my", Type: "Odd", In: []string{"h"}, Out: []string{"z"}})
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "y", "h", "none"} {
		a.Type(name, declared, "from "+name)
	}
	for _, name := range []string{"x", "y", "z"} {
		a.Output(name, declared, nil)
	}
	g, err := a.Graph()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"x": "float32[N]", "y": "float32[N]", "h": "float64[7]", "z": "float64[7]"} {
		v, err := g.Value(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Type().String(); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestEditErrors: what an edit fails with is of the kind of what went wrong, and of none where that has none.
func TestEditErrors(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(e *nn.Edit)
		kind error
		text string
	}{
		"no edge":          {func(e *nn.Edit) { e.RemoveEdge(e.Value("x"), node(e, "fc")) }, nil, `does not read "x"`},
		"shapes":           {func(e *nn.Edit) { e.Node(op.Plain("Add"), e.Value("x"), e.Value("features")) }, nn.ErrShape, "Add"},
		"several":          {func(e *nn.Edit) { e.Find(nn.Ops("Conv")) }, nil, "the selection matches 2 nodes, stem and body among them: want one"},
		"none":             {func(e *nn.Edit) { e.Find(nn.Ops("Gelu")) }, nil, "the selection matches no node of 9"},
		"no operator set":  {func(e *nn.Edit) { e.SetOpset(0) }, nil, "there is no operator set 0: want 1 to"},
		"one time as wide": {func(e *nn.Edit) { e.Widen(node(e, "fc"), 0.99) }, nil, "a factor of 0.99 does not widen: want 1 or more"},
	} {
		err := nntest.Small(t).Edit(c.edit)
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", name, err, c.text)
			continue
		}
		for _, kind := range []error{nn.ErrNotFound, nn.ErrInput, nn.ErrShape, nn.ErrUnsupported} {
			if got := errors.Is(err, kind); got != (kind == c.kind) {
				t.Errorf("%s: %v is %v: %v", name, err, kind, got)
			}
		}
	}
	g := nntest.Small(t)
	before := nntest.Dump(g)
	nntest.Edit(t, g, func(e *nn.Edit) { e.Widen(node(e, "body"), 1) })
	nntest.Edit(t, g, func(e *nn.Edit) { e.Rewire(e.Value("act"), e.Value("act")) })
	if err := nntest.Clone(t, g).Edit(func(e *nn.Edit) { e.SetOpset(1) }); err != nil {
		t.Error(err)
	}
	if nntest.Dump(g) != before {
		t.Error("widening by a factor of 1 and rewiring a value to itself change something")
	}
}

// TestFoldedSizes: integers are computed ahead up to 1024 elements.
func TestFoldedSizes(t *testing.T) {
	for _, n := range []int{1, 1024, 1025} {
		g := model(t, func(e *nn.Edit) {
			d, err := dtype.FromInts(dtype.Int64, make([]int, n), n)
			e.Fail(err)
			c := e.Const("c", d)
			e.Output("y", e.Node(op.Plain("Add"), c, c).Out(0))
		})
		if known := g.Outputs()[0].Known().Value != nil; known != (n <= 1024) {
			t.Errorf("of %d elements the sum is known: %v", n, known)
		}
	}
}

// strangeConfig is that of an operator of domain my without attributes.
type strangeConfig struct{ name string }

func (c strangeConfig) Operator() op.Name { return op.Name{Domain: "my", Name: c.name} }

// TestUnreadParameters: a parameter that an edit makes, and that nothing reads at its end, stays; one that became an attribute goes.
func TestUnreadParameters(t *testing.T) {
	for opset, want := range map[int]bool{13: true, 12: false} { // before 13 the axes are an attribute
		g := nn.NewGraph("g", std.Operators(), map[string]int{"": opset})
		nntest.Edit(t, g, func(e *nn.Edit) {
			x := e.Input("x", "float32[N,4]")
			p, q := e.Param("p", initial.Ones{}, 4), e.Param("q", initial.Ones{}, 4)
			y := e.Node(op.Plain("Add"), x, p).Out(0)
			e.Rewire(p, q)
			e.Output("y", e.Node(std.UnsqueezeConfig{}, y, e.Ints("axes", 0)).Out(0))
		})
		if _, err := g.Value("p"); err != nil {
			t.Errorf("set %d: the parameter that is read no more: %v", opset, err)
		}
		if _, err := g.Value("axes"); (err == nil) != want {
			t.Errorf("set %d: axes are there: %v, want %v", opset, err == nil, want)
		}
	}
}

// TestWrappedErrors: what an operator's error is wrapped in stays around it.
func TestWrappedErrors(t *testing.T) {
	g := declaring(t, stretched("Wrap", strangeConfig{}, func(c *op.Call) ([]op.Type, error) {
		return nil, fmt.Errorf("outside: %w", c.Errorf("inside"))
	}, op.Elementwise, op.Traits{}))
	err := g.Edit(func(e *nn.Edit) { e.Node(strangeConfig{"Wrap"}, e.Input("x", "float32[N]")) })
	if err == nil || !strings.Contains(err.Error(), "outside") || !strings.Contains(err.Error(), "inside") || !strings.Contains(err.Error(), "Wrap") {
		t.Errorf("got %v", err)
	}
}

// TestWrongCouplings: an operator that says that an axis of its input is one of its output, and gives that another length, fails the cut.
func TestWrongCouplings(t *testing.T) {
	lies := false
	g := declaring(t, stretched("Wrong", strangeConfig{}, func(c *op.Call) ([]op.Type, error) {
		s := slices.Clone(c.In[0].Shape)
		if lies && s[1].Size != 6 {
			s[1] = op.D(6)
		}
		return []op.Type{c.In[0].With(s...)}, nil
	}, func(c *op.Call) []coupling.Coupling { return op.Elementwise(c) }, op.Traits{}))
	nntest.Edit(t, g, func(e *nn.Edit) {
		h := e.Apply(layers.Linear{Out: 6, Name: "fc"}, e.Input("x", "float32[N,3]"))
		e.Output("y", e.Apply(layers.Linear{Out: 2, Name: "out"}, e.Node(strangeConfig{"Wrong"}, h).Out(0)))
	})
	narrow := func() error {
		_, err := g.Plan(func(e *nn.Edit) { e.SetChannels(node(e, "fc"), 5) })
		return err
	}
	if err := narrow(); err != nil {
		t.Fatal(err)
	}
	lies = true
	if err := narrow(); err == nil || !strings.Contains(err.Error(), "want [2 5], got [2 6]") {
		t.Errorf("got %v", err)
	}
}

// TestSharedWindows: a weight that something else than windows reads, or a window in another way, keeps its size.
func TestSharedWindows(t *testing.T) {
	for name, build := range map[string]func(e *nn.Edit, w *nn.Value) *nn.Value{
		"an activation": func(e *nn.Edit, w *nn.Value) *nn.Value { return e.Node(op.Plain("Relu"), w).Out(0) },
		"a pooling": func(e *nn.Edit, w *nn.Value) *nn.Value {
			return e.Node(std.MaxPoolConfig{Kernel: []int{2, 2}}, w).Out(0)
		},
		"a window, as its input": func(e *nn.Edit, w *nn.Value) *nn.Value {
			return e.Node(std.ConvConfig{}, w, e.Param("v", initial.Ones{}, 2, 4, 1, 1)).Out(0)
		},
		"a window, twice": func(e *nn.Edit, w *nn.Value) *nn.Value { return e.Node(std.ConvConfig{}, w, w).Out(0) },
	} {
		g := model(t, func(e *nn.Edit) {
			w := e.Param("w", initial.Ones{}, 4, 4, 3, 3)
			n := e.Node(std.ConvConfig{}, e.Input("x", "float32[N,4,9,9]"), w)
			e.RenameNode(n, "conv")
			e.Output("y", n.Out(0))
			e.Output("z", build(e, w))
		})
		_, err := g.Plan(func(e *nn.Edit) { e.SetKernel(node(e, "conv"), 5) })
		if err == nil || !strings.Contains(err.Error(), `its weight "w" is also read by`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpenPadding: padding that a stride and an open length decide cannot be written as numbers; the axis is named.
func TestOpenPadding(t *testing.T) {
	for in, want := range map[string]string{"float32[N,4,9,W]": "the length of axis 3", "float32[N,4,H,8]": "the length of axis 2", "float32[N,4,9,8]": ""} {
		g := model(t, func(e *nn.Edit) { e.Output("y", e.Apply(auto("SAME_UPPER", 2), e.Input("x", in))) })
		_, err := g.Plan(func(e *nn.Edit) { e.SetKernel(node(e, "w"), 4) })
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

// TestDeriveKeepsOpset: a step without a wish for an operator set is written for the model's.
func TestDeriveKeepsOpset(t *testing.T) {
	for opset, want := range map[int]int{0: 20, 18: 18} {
		g, loss, params := derivedGraph(t, "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("Mul"), x, d.param(4)) })
		nntest.Edit(t, g, func(e *nn.Edit) { e.SetOpset(20) })
		written, err := g.Derive(nn.DeriveOptions{Loss: loss, Params: params, Opset: opset}, func(e *nn.Edit, d *nn.Derivation) { e.Output("loss", d.Loss) })
		if err != nil {
			t.Fatal(err)
		}
		if got := written.Opsets()[""]; got != want {
			t.Errorf("of set 20, with %d asked for, it is written for %d, want %d", opset, got, want)
		}
	}
}

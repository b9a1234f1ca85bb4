package nn_test

import (
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

// stretched returns a user's operator on float32 and int64 tensors with what it declares; nothing of it is ever run.
func stretched(name string, attrs op.Config, infer func(c *op.Call) ([]op.Type, error), couple func(c *op.Call) []coupling.Coupling, t op.Traits) *op.Op {
	o := &op.Op{
		Domain: "my", Name: name, Doc: "Stands for a user's operator.", Since: []int{1}, In: "X T", Out: "Y T2", Attrs: attrs,
		Infer: infer, Couple: couple, NoGrad: "not needed here", Traits: t,
		Func: func(*op.Call, []dtype.Value) ([]dtype.Value, error) { return nil, nil },
	}
	if couple == nil {
		o.Pinned = "says nothing"
	}
	return o
}

// declaring returns an empty graph whose set has a user's operator.
func declaring(t *testing.T, o *op.Op) *nn.Graph {
	t.Helper()
	ops, err := std.Operators().With(o)
	if err != nil {
		t.Fatal(err)
	}
	return nn.NewGraph("declared", ops, map[string]int{"": nn.LatestOpset, "my": 1})
}

// blurConfig has the window of a pooling.
type blurConfig struct {
	Kernel []int `onnx:"kernel"`
	Pads   []int `onnx:"pads"`
}

func (blurConfig) Operator() op.Name { return op.Name{Domain: "my", Name: "Blur"} }

// TestDeclaredWindow gives the window of a user's pooling another size, the padding with it.
func TestDeclaredWindow(t *testing.T) {
	blur := func(traits op.Traits) *op.Op {
		return stretched("Blur", blurConfig{}, func(c *op.Call) ([]op.Type, error) {
			cfg := c.Config.(blurConfig)
			s := append([]op.Dim(nil), c.In[0].Shape...)
			for i, k := range cfg.Kernel {
				s[2+i] = s[2+i].Add(op.D(cfg.Pads[i] + cfg.Pads[i+len(cfg.Kernel)] - k + 1))
			}
			return []op.Type{c.In[0].With(s...)}, nil
		}, op.Elementwise, traits)
	}
	build := func(o *op.Op) *nn.Graph {
		g := declaring(t, o)
		nntest.Edit(t, g, func(e *nn.Edit) {
			e.Output("y", e.Node(blurConfig{Kernel: []int{3, 3}, Pads: []int{1, 1, 1, 1}}, e.Input("x", "float32[N,2,8,8]")).Out(0))
		})
		return g
	}
	g := build(blur(op.Traits{Window: func(c *op.Call) *op.Window {
		cfg := c.Config.(blurConfig)
		return &op.Window{Kernel: cfg.Kernel, Pads: cfg.Pads, With: func(kernel, pads []int, _ string) op.Config { return blurConfig{kernel, pads} }}
	}}))
	var n *nn.Node
	nntest.Edit(t, g, func(e *nn.Edit) {
		n = e.Nodes()[0]
		e.SetKernel(n, 5)
	})
	c := n.Config().(blurConfig)
	if c.Kernel[0] != 5 || c.Kernel[1] != 5 || c.Pads[0] != 2 || c.Pads[3] != 2 {
		t.Errorf("the window became %+v", c)
	}
	silent := build(blur(op.Traits{}))
	if err := silent.Edit(func(e *nn.Edit) { e.SetKernel(e.Nodes()[0], 5) }); err == nil || !strings.Contains(err.Error(), "has no sliding window") {
		t.Errorf("an operator that declares no window: %v", err)
	}
}

// TestDeclaredLengths: an axis whose length only a shape follows is free, read by a user's operator as by Shape; one of the
// standard that starts later lists other lengths.
func TestDeclaredLengths(t *testing.T) {
	lengths := stretched("Lengths", nil, func(c *op.Call) ([]op.Type, error) {
		return []op.Type{op.T(dtype.Int64, op.D(len(c.In[0].Shape)))}, nil
	}, nil, op.Traits{Lengths: func(_ *op.Call, axis int) (int, bool) { return axis, true }})
	silent := *lengths
	silent.Traits = op.Traits{}
	for _, test := range []struct {
		name    string
		o       *op.Op
		lengths op.Config
		pick    int
		fixed   [3]bool
	}{
		{"a shape, of which one is computed with", lengths, op.Plain("Shape"), 2, [3]bool{false, false, true}},
		{"declared", lengths, op.Name{Domain: "my", Name: "Lengths"}, 2, [3]bool{false, false, true}},
		{"not declared", &silent, op.Name{Domain: "my", Name: "Lengths"}, 2, [3]bool{true, true, true}},
		{"the rest of a shape", lengths, std.ShapeConfig{Start: 2}, 0, [3]bool{false, false, true}},
	} {
		g := declaring(t, test.o)
		var h *nn.Value
		nntest.Edit(t, g, func(e *nn.Edit) {
			w := e.Param("w", initial.KaimingUniform{}, 6, 5, 4)
			h = e.Node(op.Plain("Relu"), w).Out(0)
			s := e.Node(test.lengths, h).Out(0)
			one := e.Node(std.GatherConfig{}, s, e.Ints("index", test.pick)).Out(0)
			y := e.Node(std.CastConfig{To: dtype.Float32}, one).Out(0)
			z := e.Node(op.Plain("Mul"), e.Input("x", "float32[1]"), y).Out(0)
			e.Output("y", z)
		})
		c := g.Channels()
		for axis, want := range test.fixed {
			if err := c.Fixed(h, axis); (err != nil) != want {
				t.Errorf("%s: axis %d: %v, want fixed %v", test.name, axis, err, want)
			}
		}
	}
}

// pageConfig spells out a shape.
type pageConfig struct {
	To []int `onnx:"to"`
}

func (pageConfig) Operator() op.Name { return op.Name{Domain: "my", Name: "Page"} }

// TestDeclaredOpen frees a dimension that a user's operator spells out.
func TestDeclaredOpen(t *testing.T) {
	page := func(traits op.Traits) *nn.Graph {
		g := declaring(t, stretched("Page", pageConfig{}, func(c *op.Call) ([]op.Type, error) {
			s := op.Dims(c.Config.(pageConfig).To...)
			if s[0] == op.Unknown() {
				s[0] = c.In[0].Shape[0]
			}
			if s[0].Differ(c.In[0].Shape[0]) {
				return nil, c.Errorf("has %v rows, want %v", c.In[0].Shape[0], s[0])
			}
			return []op.Type{c.In[0].With(s...)}, nil
		}, nil, traits))
		nntest.Edit(t, g, func(e *nn.Edit) {
			e.Output("y", e.Node(pageConfig{[]int{2, 3, 4}}, e.Input("x", "float32[2,12]")).Out(0))
		})
		return g
	}
	g := page(op.Traits{Open: func(r *op.Resizing) error {
		c := r.Call.Config.(pageConfig)
		c.To = append([]int{-1}, c.To[1:]...)
		r.Config = c
		return nil
	}})
	nntest.Edit(t, g, func(e *nn.Edit) { e.FreeBatch("N") })
	if got := g.Outputs()[0].Type().String(); got != "float32[N,3,4]" {
		t.Errorf("the output is %s", got)
	}
	err := page(op.Traits{}).Edit(func(e *nn.Edit) { e.FreeBatch("N") })
	if err == nil || !strings.Contains(err.Error(), "prevents a change of the batch dimension") {
		t.Errorf("an operator that does not say how: %v", err)
	}
}

// TestDeclaredGroups: channels that a user's operator normalizes in groups are cut from every group.
func TestDeclaredGroups(t *testing.T) {
	g := declaring(t, stretched("Levels", nil, op.Same, func(c *op.Call) []coupling.Coupling {
		list := op.CoupleAll(c, 0)
		list[1].Map = coupling.Map{Relation: coupling.NormGroup, Groups: 2}
		return list
	}, op.Traits{Zero: op.ZeroFirst}))
	nntest.Edit(t, g, func(e *nn.Edit) {
		h := e.Apply(layers.Linear{Out: 8, Name: "first"}, e.Input("x", "float32[3,4]"))
		e.Output("y", e.Apply(layers.Linear{Out: 2, Name: "second"}, e.Node(op.Name{Domain: "my", Name: "Levels"}, h).Out(0)))
	})
	found := map[int]bool{}
	for _, group := range g.Channels().Groups() {
		found[len(group.Atoms)] = true
	}
	if !found[4] || !found[2] {
		t.Errorf("groups of %v atoms, want one of 4, the places in both groups, and one of 2, whole groups", found)
	}
}

// TestDeclaredPicks: of a shape, only the element that a user's operator picks is computed with.
func TestDeclaredPicks(t *testing.T) {
	for _, test := range []struct {
		traits op.Traits
		fixed  [3]bool
	}{
		{op.Traits{Picks: func(*op.Call, int) []int { return []int{1} }}, [3]bool{false, true, false}},
		{op.Traits{}, [3]bool{true, true, true}},
	} {
		g := declaring(t, stretched("Second", nil, func(c *op.Call) ([]op.Type, error) {
			return []op.Type{op.Shaped(dtype.Int64)}, nil
		}, nil, test.traits))
		var h *nn.Value
		nntest.Edit(t, g, func(e *nn.Edit) {
			h = e.Node(op.Plain("Relu"), e.Param("w", initial.KaimingUniform{}, 6, 5, 4)).Out(0)
			one := e.Node(op.Name{Domain: "my", Name: "Second"}, e.Node(op.Plain("Shape"), h).Out(0)).Out(0)
			y := e.Node(std.CastConfig{To: dtype.Float32}, one).Out(0)
			e.Output("y", e.Node(op.Plain("Mul"), e.Input("x", "float32[1]"), y).Out(0))
		})
		c := g.Channels()
		for axis, want := range test.fixed {
			if err := c.Fixed(h, axis); (err != nil) != want {
				t.Errorf("axis %d: %v, want fixed %v", axis, err, want)
			}
		}
	}
}

// TestDeclaredOfLengths: what a user's operator makes of lengths in the model follows a cut.
func TestDeclaredOfLengths(t *testing.T) {
	blank := func(traits op.Traits) (*nn.Graph, *nn.Value) {
		g := declaring(t, stretched("Blank", nil, func(c *op.Call) ([]op.Type, error) {
			d, err := c.Dims(0)
			return []op.Type{op.T(dtype.Float32, d...)}, err
		}, nil, traits))
		var w *nn.Value
		nntest.Edit(t, g, func(e *nn.Edit) {
			w = e.Param("w", initial.KaimingUniform{}, 6, 5)
			b := e.Node(op.Name{Domain: "my", Name: "Blank"}, e.Ints("lengths", 6, 5)).Out(0)
			y := e.Node(op.Plain("ReduceSum"), e.Node(op.Plain("Add"), w, b).Out(0), e.Ints("axes", 0, 1)).Out(0)
			e.Output("y", y)
		})
		return g, w
	}
	g, w := blank(op.Traits{OfLengths: true, Resize: func(r *op.Resizing) error {
		r.Put(0, r.Out[0].New)
		return nil
	}})
	nntest.Edit(t, g, func(e *nn.Edit) { e.Resize(w, 4, nn.ResizeOptions{Axis: -1, NormalizedAxes: true}) })
	for n := range g.Nodes() {
		if n.Domain() == "my" && n.Out(0).Type().String() != "float32[6,4]" {
			t.Errorf("the operator makes %v", n.Out(0).Type())
		}
	}
	g, w = blank(op.Traits{})
	if err := g.Channels().Fixed(w, 1); err == nil || !strings.Contains(err.Error(), "Blank") {
		t.Errorf("an operator that declares nothing: %v", err)
	}
}

package nn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// window returns a model of one window named w.
func window(l nn.Layer) func(e *nn.Edit) {
	return func(e *nn.Edit) {
		y := e.Apply(l, e.Input("x", "float32[N,4,9,8]"))
		y = e.Apply(conv(2, 1, "out"), y)
		e.Output("y", y)
	}
}

// auto returns a convolution that says SAME.
func auto(pad string, stride int) nn.Layer {
	return nn.LayerFunc(func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
		w := e.Param("w.weight", initial.FanIn{}, 6, 4, 3, 3)
		n := e.Node(std.ConvConfig{AutoPad: pad, Strides: []int{stride, stride}}, in[0], w)
		e.RenameNode(n, "w")
		return n.Outputs()
	})
}

var kernels = []struct {
	name  string
	layer nn.Layer
	to    []int
	same  bool // what the model computes stays
	says  string
	err   string
}{
	{name: "3 to 5", layer: layers.Conv{Out: 6, Kernel: []int{3}, Same: true, Name: "w"}, to: []int{5}, same: true, says: "kernel of Conv w: [3 3] → [5 5]"},
	{name: "1 to 3", layer: layers.Conv{Out: 6, Kernel: []int{1}, Name: "w"}, to: []int{3}, same: true},
	{name: "3 to 4", layer: layers.Conv{Out: 6, Kernel: []int{3}, Name: "w"}, to: []int{4}, same: true},
	{name: "4 to 5 and 7", layer: layers.Conv{Out: 6, Kernel: []int{4}, Same: true, Name: "w"}, to: []int{5, 7}, same: true},
	{name: "stride", layer: layers.Conv{Out: 6, Kernel: []int{3}, Stride: []int{2}, Pad: []int{1}, Name: "w"}, to: []int{7}, same: true},
	{name: "dilation", layer: layers.Conv{Out: 6, Kernel: []int{3}, Dilation: []int{2}, Pad: []int{1}, Name: "w"}, to: []int{5}, same: true},
	{name: "groups", layer: layers.Conv{Out: 8, Kernel: []int{3}, Group: 2, Same: true, Name: "w"}, to: []int{5, 3}, same: true},
	{name: "depthwise", layer: layers.Conv{Kernel: []int{3}, Group: 4, Same: true, Name: "w"}, to: []int{5}, same: true},
	{name: "transposed", layer: layers.ConvTranspose{Out: 6, Kernel: []int{2}, Stride: []int{2}, Name: "w"}, to: []int{4}, same: true},
	{name: "transposed in groups", layer: layers.ConvTranspose{Out: 6, Kernel: []int{3}, Stride: []int{2}, Pad: []int{1}, OutPad: []int{1}, Group: 2, Name: "w"}, to: []int{5}, same: true},
	{name: "SAME_UPPER", layer: auto("SAME_UPPER", 1), to: []int{5}, same: true},
	{name: "SAME_LOWER with a stride", layer: auto("SAME_LOWER", 2), to: []int{4}, same: true},
	{name: "SAME_UPPER with a stride of 3", layer: auto("SAME_UPPER", 3), to: []int{4}, same: true},
	{name: "VALID", layer: auto("VALID", 2), to: []int{5}, same: true},
	{name: "5 to 3", layer: layers.Conv{Out: 6, Kernel: []int{5}, Same: true, Name: "w"}, to: []int{3}},
	{name: "5 to 2", layer: layers.Conv{Out: 6, Kernel: []int{5}, Same: true, Name: "w"}, to: []int{2}},
	{name: "5 to 3 without padding", layer: layers.Conv{Out: 6, Kernel: []int{5}, Name: "w"}, to: []int{3}, says: "add Slice crop1"},
	{name: "5 to 7 and 1", layer: layers.Conv{Out: 6, Kernel: []int{5}, Pad: []int{1}, Stride: []int{2}, Name: "w"}, to: []int{7, 1}},
	{name: "transposed, 4 to 2", layer: layers.ConvTranspose{Out: 6, Kernel: []int{4}, Stride: []int{2}, Pad: []int{1}, Name: "w"}, to: []int{2}},
	{name: "max pool", layer: layers.MaxPool{Kernel: []int{2}, Name: "w"}, to: []int{3}},
	{name: "mean pool", layer: layers.AvgPool{Kernel: []int{3}, Stride: []int{2}, Pad: []int{1}, CountPadding: true, Name: "w"}, to: []int{5}},
	{name: "the same", layer: layers.Conv{Out: 6, Kernel: []int{3}, Same: true, Name: "w"}, to: []int{3}, same: true, says: "nothing to change"},
	{name: "transposed needs negative padding", layer: layers.ConvTranspose{Out: 6, Kernel: []int{3}, Stride: []int{2}, Name: "w"}, to: []int{1}, err: "would need negative padding"},
	{name: "pool padding", layer: layers.MaxPool{Kernel: []int{3}, Dilation: []int{3}, Stride: []int{1}, Pad: []int{2}, Name: "w"}, to: []int{4}, err: "would reach beyond windows"},
	{name: "pool padding as long as the window", layer: layers.MaxPool{Kernel: []int{3}, Dilation: []int{2}, Stride: []int{1}, Pad: []int{2}, Name: "w"}, to: []int{4}, err: "would reach beyond windows"},
	{name: "zero", layer: layers.Conv{Out: 6, Kernel: []int{3}, Name: "w"}, to: []int{0}, err: "want 1 or more"},
	{name: "three numbers", layer: layers.Conv{Out: 6, Kernel: []int{3}, Name: "w"}, to: []int{1, 2, 3}, err: "want one number or 2"},
	{name: "none", layer: layers.Conv{Out: 6, Kernel: []int{3}, Name: "w"}, err: "has no kernel size"},
	{name: "no window", layer: layers.ReLU{Name: "w"}, to: []int{3}, err: "has no sliding window"},
}

func TestSetKernel(t *testing.T) {
	for _, c := range kernels {
		t.Run(c.name, func(t *testing.T) {
			g := model(t, window(c.layer))
			before := nntest.Dump(g)
			in, want := runDrawn(t, g)
			p, err := g.Plan(func(e *nn.Edit) { e.SetKernel(node(e, "w"), c.to...) })
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || nntest.Dump(g) != before {
					t.Fatalf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			got, err := g.Run(context.Background(), in...)
			if err != nil {
				t.Fatal(err)
			}
			if c.same {
				if err := agree(got[0], want[0], 1e-6); err != nil {
					t.Error(err)
				}
			} else if !got[0].Shape().Eq(want[0].Shape()) {
				t.Errorf("shape %v, want %v", got[0].Shape(), want[0].Shape())
			}
			if !strings.Contains(p.String(), c.says) {
				t.Errorf("the plan says\n%v", p)
			}
			if err := p.Undo(); err != nil || nntest.Dump(g) != before {
				t.Error("undo does not give the graph back", err)
			}
		})
	}
}

// TestKernelShrinks compares a cropped kernel with one that is zero outside the crop.
func TestKernelShrinks(t *testing.T) {
	for _, pad := range []int{0, 1, 2} {
		for _, to := range []int{1, 2, 3, 4} {
			g := model(t, window(layers.Conv{Out: 3, Kernel: []int{5}, Pad: []int{pad}, Stride: []int{2}, Name: "w"}))
			h := nntest.Clone(t, g)
			nntest.Edit(t, h, func(e *nn.Edit) {
				v := e.Value("w.weight")
				d := dtype.Clone(v.Param().Data())
				x := dtype.Slice[float32](d)
				lo := 5/2 - to/2
				for i := range x {
					if r, c := i/5%5, i%5; r < lo || r >= lo+to || c < lo || c >= lo+to {
						x[i] = 0
					}
				}
				e.SetData(v, d)
			})
			in, want := runDrawn(t, h)
			nntest.Edit(t, g, func(e *nn.Edit) { e.SetKernel(node(e, "w"), to) })
			got, err := g.Run(context.Background(), in...)
			if err != nil {
				t.Fatal(err)
			}
			if err := agree(got[0], want[0], 1e-6); err != nil {
				t.Error(fmt.Sprintf("padding %d, 5 to %d:", pad, to), err)
			}
		}
	}
}

// TestSharedKernel changes a weight that two convolutions read.
func TestSharedKernel(t *testing.T) {
	g := model(t, func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4,9,8]")
		w := e.Param("w", initial.FanIn{}, 4, 4, 3, 3)
		y := e.Node(std.ConvConfig{Pads: []int{1, 1, 1, 1}}, x, w)
		e.RenameNode(y, "first")
		e.Output("y", e.Node(std.ConvConfig{Dilations: []int{2, 2}}, y.Out(0), w).Out(0))
	})
	in, want := runDrawn(t, g)
	nntest.Edit(t, g, func(e *nn.Edit) { e.SetKernel(node(e, "first"), 5) })
	got, err := g.Run(context.Background(), in...)
	if err != nil {
		t.Fatal(err)
	}
	if err := agree(got[0], want[0], 1e-6); err != nil {
		t.Error(err)
	}
}

// TestSetKernelRefuses checks that a weight with other readers keeps its size, and that SAME padding needs a known size.
func TestSetKernelRefuses(t *testing.T) {
	convolve := func(e *nn.Edit, name string, x, w *nn.Value) *nn.Value {
		n := e.Node(std.ConvConfig{}, x, w)
		e.RenameNode(n, name)
		return n.Out(0)
	}
	for _, c := range []struct {
		name  string
		in    string
		build func(e *nn.Edit, x, w *nn.Value) *nn.Value
		want  string
	}{
		{"weight of two", "float32[N,4,9,8]", func(e *nn.Edit, x, w *nn.Value) *nn.Value {
			return e.Node(op.Plain("Add"), convolve(e, "w", x, w), convolve(e, "v", x, w)).Out(0)
		}, ""},
		{"read by another operator", "float32[N,4,9,8]", func(e *nn.Edit, x, w *nn.Value) *nn.Value {
			e.Output("z", e.Node(op.Plain("Relu"), w).Out(0))
			return convolve(e, "w", x, w)
		}, "is also read by Relu"},
		{"convolved by another weight", "float32[N,4,9,8]", func(e *nn.Edit, x, w *nn.Value) *nn.Value {
			e.Output("z", convolve(e, "v", w, e.Param("v.weight", initial.Ones{}, 2, 4, 1, 1)))
			return convolve(e, "w", x, w)
		}, "is also read by Conv v"},
		{"convolved by itself", "float32[N,4,9,8]", func(e *nn.Edit, x, w *nn.Value) *nn.Value {
			e.Output("z", convolve(e, "v", w, w))
			return convolve(e, "w", x, w)
		}, "is also read by Conv v"},
		{"SAME over an open length", "float32[N,4,9,W]", func(e *nn.Edit, x, w *nn.Value) *nn.Value {
			return e.Node(std.ConvConfig{AutoPad: "SAME_UPPER", Strides: []int{3, 3}}, x, w).Out(0)
		}, "depends on the length of axis 3, which is open"},
		{"SAME over an unknown length", "float32[N,4,9,?]", func(e *nn.Edit, x, w *nn.Value) *nn.Value {
			return e.Node(std.ConvConfig{AutoPad: "SAME_LOWER", Strides: []int{3, 3}}, x, w).Out(0)
		}, "depends on the length of axis 3, which is open"},
	} {
		g := model(t, func(e *nn.Edit) {
			e.Output("y", c.build(e, e.Input("x", c.in), e.Param("w.weight", initial.FanIn{}, 4, 4, 3, 3)))
		})
		before := nntest.Dump(g)
		p, err := g.Plan(func(e *nn.Edit) { e.SetKernel(e.Find(nn.Ops("Conv"), nn.Not(nn.Glob("v"))), 4) })
		if c.want == "" && err == nil {
			if err = p.Apply(); err == nil {
				err = g.Check()
			}
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || nntest.Dump(g) != before) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

package nn_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// seeing returns a network of images with a mean taken off, a normalization and two convolutions on the input's channels; with last the
// channels come last.
func seeing(t *testing.T, channels int, last bool) *nn.Graph {
	t.Helper()
	g := nn.New("seeing")
	r := rand.New(rand.NewPCG(1, 2))
	mean := make([]float32, channels)
	for i := range mean {
		mean[i] = 0.3 // one for all, so that gray images are the same to all channels
	}
	if err := g.Edit(func(e *nn.Edit) {
		d, err := dtype.FromSlice(mean, channels, 1, 1)
		e.Fail(err)
		var x *nn.Value
		if last {
			x = e.Node(std.TransposeConfig{Perm: []int{0, 3, 1, 2}}, e.Input("x", "float32[N,8,8,"+string(rune('0'+channels))+"]")).Out(0)
		} else {
			x = e.Input("x", "float32[N,"+string(rune('0'+channels))+",8,8]")
		}
		x = e.Apply(layers.BatchNorm{}, e.Node(op.Plain("Sub"), x, e.Const("mean", d)).Out(0))
		a := e.Apply(layers.Conv{Out: 4, Kernel: []int{3}, Same: true}, x)
		b := e.Apply(layers.Conv{Out: 4, Kernel: []int{1}}, x)
		e.Output("y", e.Node(op.Plain("Add"), a, b).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	for p := range g.Params() {
		if p.Role() == nn.Weight && p.Value().Type().Rank() == 4 {
			w := dtype.Slice[float32](p.Data())
			for i := range w {
				w[i] = r.Float32() - 0.5
			}
			p.Changed()
		}
	}
	return g
}

func answerTo(t *testing.T, g *nn.Graph, gray []float32, channels int, last bool) []float32 {
	t.Helper()
	all, dims := make([]float32, 0, channels*len(gray)), []int{1, channels, 8, 8}
	if last {
		dims = []int{1, 8, 8, channels}
		for _, v := range gray {
			all = append(all, slices.Repeat([]float32{v}, channels)...)
		}
	} else {
		all = slices.Repeat(gray, channels)
	}
	x, err := dtype.FromSlice(all, dims...)
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Run(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	return dtype.Slice[float32](out[0])
}

// TestInputChannels checks that gray images give the same results when repeated in any number of channels.
func TestInputChannels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	gray := make([]float32, 64)
	for i := range gray {
		gray[i] = r.Float32()
	}
	for _, last := range []bool{false, true} {
		for _, c := range [][2]int{{3, 1}, {1, 3}, {3, 6}, {3, 4}, {4, 2}} {
			g := seeing(t, c[0], last)
			want := answerTo(t, g, gray, c[0], last)
			if err := g.Edit(func(e *nn.Edit) { e.SetInputChannels(e.Value("x"), c[1], 0) }); err != nil {
				t.Fatalf("%v, last %v: %v", c, last, err)
			}
			got := answerTo(t, g, gray, c[1], last)
			for i := range want {
				if math.Abs(float64(got[i]-want[i])) > 1e-5 {
					t.Fatalf("%v, last %v: element %d is %v, was %v", c, last, i, got[i], want[i])
				}
			}
		}
	}
}

func TestInputChannelsRefused(t *testing.T) {
	for _, c := range []struct {
		build    func(e *nn.Edit)
		channels int
		axis     int
		want     string
	}{
		{func(e *nn.Edit) {
			e.Output("y", e.Node(op.Plain("Relu"), e.Input("x", "float32[N,3,8,8]")).Out(0))
		}, 1, 0, "the channels of the input are also those of output y, which would change"},
		{func(e *nn.Edit) {
			e.Output("y", e.Apply(layers.Linear{Out: 2}, e.Apply(layers.Flatten{}, e.Input("x", "float32[N,3,8,8]"))))
		}, 1, 0, "Flatten"},
		{func(e *nn.Edit) {
			e.Output("y", e.Apply(layers.Conv{Out: 3, Kernel: []int{3}, Group: 3}, e.Input("x", "float32[N,3,8,8]")))
		}, 1, 0, "the channels of the input are used in a way that cannot follow a change of their number"},
		{func(e *nn.Edit) {
			x := e.Input("x", "float32[N,3,8,8]")
			e.Output("y", e.Apply(layers.Conv{Out: 3, Kernel: []int{3}}, e.Node(op.Plain("Add"), x, e.Input("z", "float32[N,3,8,8]")).Out(0)))
		}, 1, 0, `"z", which has an element for each channel of the input, is not a parameter`},
		{func(e *nn.Edit) { e.Output("y", e.Node(op.Plain("Relu"), e.Input("x", "float32[N]")).Out(0)) }, 1, 0, "is not an input with channels"},
		{func(e *nn.Edit) { e.Output("y", e.Node(op.Plain("Relu"), e.Input("x", "float32[N,C,8,8]")).Out(0)) }, 1, 1, "axis 1 is C"},
		{func(e *nn.Edit) { e.Output("y", e.Node(op.Plain("Relu"), e.Input("x", "float32[N,3,8,8]")).Out(0)) }, 0, 0, "the new number of channels 0"},
		{func(e *nn.Edit) { e.Output("y", e.Node(op.Plain("Relu"), e.Input("x", "float32[N,3,8,8]")).Out(0)) }, 1, 4, "there is no axis 4"},
	} {
		g := nn.New("m")
		if err := g.Edit(c.build); err != nil {
			t.Fatal(err)
		}
		err := g.Edit(func(e *nn.Edit) { e.SetInputChannels(e.Value("x"), c.channels, c.axis) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

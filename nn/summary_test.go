package nn_test

import (
	"encoding/json"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
)

func TestSummary(t *testing.T) {
	g := nntest.Small(t)
	nntest.Edit(t, g, func(e *nn.Edit) { e.Freeze(nn.Glob("stem")) })
	const want = `small(x float32[N,3,8,8])
node     op                  shape             parameters  trainable  multiply-adds
stem     Conv                float32[N,4,8,8]         112                     6 912
norm     BatchNormalization  float32[N,4,8,8]          16          8
act      Relu                float32[N,4,8,8]
body     Conv                float32[N,4,8,8]         148        148          9 216
sum      Add                 float32[N,4,8,8]
pool     GlobalAveragePool   float32[N,4,1,1]
flat     Flatten             float32[N,4]
fc       Gemm                float32[N,10]             50         50             40
prob     Softmax             float32[N,10]
9 nodes                                               326        206         16 168
`
	s := g.Summary()
	if got := s.String(); got != want {
		t.Errorf("summary\n%s\nwant\n%s", got, want)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Model string
		Nodes []struct {
			Node, Op, Shape string
			MACs            int64
		}
		Total struct{ Nodes, Params, Trainable, MACs int64 }
	}
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if back.Model != "small" || len(back.Nodes) != 9 || back.Nodes[3].MACs != 9216 || back.Total.Params != 326 || back.Total.MACs != 16168 {
		t.Errorf("JSON %s", b)
	}
}

// TestSummaryOfModels compares with the numbers that torchvision publishes.
func TestSummaryOfModels(t *testing.T) {
	s := shared(t, "squeezenet1.1").Summary()
	if s.Total.Params != 1235496 {
		t.Errorf("SqueezeNet 1.1 has %d parameters, want 1235496", s.Total.Params)
	}
	if g := float64(s.Total.MACs) / 1e9; g < 0.345 || g > 0.355 {
		t.Errorf("SqueezeNet 1.1 takes %.3f billion multiply-adds, want 0.35", g)
	}
}

// TestSummaryPeak: a chain needs two of its values at a time, one that is read at its end is there all along.
func TestSummaryPeak(t *testing.T) {
	for _, c := range []struct {
		kept bool
		want int64 // values of 400 bytes
	}{{false, 800}, {true, 1200}} {
		g := nn.New("chain")
		nntest.Edit(t, g, func(e *nn.Edit) {
			y := e.Node(op.Plain("Exp"), e.Input("x", "float32[100]")).Out(0)
			first := y
			for range 6 {
				y = e.Node(op.Plain("Tanh"), y).Out(0)
			}
			if c.kept {
				y = e.Node(op.Plain("Add"), y, first).Out(0)
			}
			e.Output("y", y)
		})
		if got := g.Summary().Total.Peak; got != c.want {
			t.Errorf("kept %v: %d bytes, want %d", c.kept, got, c.want)
		}
	}
}

// The costs of a run are those at the sizes of its inputs, whether their dimensions have names or not.
func TestSummaryFor(t *testing.T) {
	for _, typ := range []string{"float32[N,3,H,W]", "float32[?,3,?,?]", "float32[2,3,?,6]"} {
		g := nn.New("open")
		nntest.Edit(t, g, func(e *nn.Edit) {
			x, other := e.Input("x", typ), e.Input("other", "float32[N,4]")
			e.Output("y", e.Apply(layers.Conv{Out: 5, Kernel: []int{3}, Same: true}, x))
			e.Output("z", e.Apply(layers.Linear{Out: 7}, other))
		})
		x := dtype.New(dtype.Float32, 2, 3, 5, 6)
		want := int64(2 * 5 * 6 * 5 * 3 * 9) // of the convolution
		linear := int64(4 * 7)
		if typ == "float32[N,3,H,W]" {
			linear *= 2
		}
		if got := g.SummaryFor(nn.Feed{"x": x}).Total.MACs; got != want+linear {
			t.Errorf("%s: %d multiply-adds, want %d + %d", typ, got, want, linear)
		}
		if got := g.SummaryFor(nn.Feed{"x": x, "other": dtype.New(dtype.Float32, 9, 4)}).Total.MACs; got != want+9*4*7 {
			t.Errorf("%s: %d multiply-adds with both inputs, want %d", typ, got, want+9*4*7)
		}
		if a, b := g.SummaryFor(nil).Total, g.Summary().Total; a != b {
			t.Errorf("%s: without inputs %+v, want %+v", typ, a, b)
		}
	}
}

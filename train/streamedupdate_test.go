package train_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
)

// Updating each parameter on arrival of its gradient gives the bits that updating all at once gives.
func TestOnArrivalIsWhole(t *testing.T) {
	for name, rule := range map[string]optim.Rule{"SGD": optim.SGD{LR: 0.1, Momentum: 0.9, WeightDecay: 0.01}, "AdamW": optim.AdamW{}, "Lion": optim.Lion{}} {
		var infos [2][]train.StepInfo
		var after [2]map[string][]byte
		for i, whole := range []bool{false, true} {
			g := small(t)
			tr, err := train.New(g, train.Config{Rule: rule, Whole: whole, EMA: 0.9, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			for k := range 5 {
				info, err := tr.Step(context.Background(), batch(t, blobs(16, uint64(k))))
				if err != nil {
					t.Fatal(err)
				}
				infos[i] = append(infos[i], info)
			}
			after[i] = weights(g)
		}
		same(t, name, after[0], after[1])
		for k, a := range infos[0] {
			if a != infos[1][k] || a.Norm == 0 {
				t.Errorf("%s: step %d: %v, whole: %v", name, k, a, infos[1][k])
			}
		}
	}
}

// rooted takes the square root of a square that is 0: the loss is a number there, the gradient is not.
func rooted(t *testing.T) *nn.Graph {
	g := nn.New("rooted")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		h := e.Node(std.GemmConfig{TransB: true}, x, e.Param("w1", nn.FanIn{}, 8, 4)).Out(0)
		h = e.Node(std.BatchNormalizationConfig{}, h, e.Param("scale", nn.Ones{}, 8), e.Param("bias", nn.Zeros{}, 8), e.Param("mean", nn.Zeros{}, 8), e.Param("var", nn.Ones{}, 8)).Out(0)
		h = e.Node(op.Plain("Relu"), h).Out(0)
		zero := e.Node(op.Plain("Sub"), h, h).Out(0)
		h = e.Node(op.Plain("Add"), h, e.Node(op.Plain("Sqrt"), e.Node(op.Plain("Mul"), zero, zero).Out(0)).Out(0)).Out(0)
		e.Output("y", e.Node(std.GemmConfig{TransB: true}, h, e.Param("w2", nn.FanIn{}, 3, 8), e.Param("b2", nn.Zeros{}, 3)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A gradient that is no number changes no parameter it belongs to and no statistic; with Whole
// nothing changes at all.
func TestGradientThatIsNoNumber(t *testing.T) {
	for _, whole := range []bool{false, true} {
		g := rooted(t)
		tr, err := train.New(g, train.Config{Whole: whole, Rule: optim.SGD{LR: 0.1}})
		if err != nil {
			t.Fatal(err)
		}
		before := weights(g)
		info, err := tr.Step(context.Background(), batch(t, blobs(8, 1)))
		if err == nil || !strings.Contains(err.Error(), "step 1: the gradient ") || !strings.Contains(err.Error(), "keep") {
			t.Fatalf("%+v, %v", info, err)
		}
		after := weights(g)
		if !whole {
			for _, behind := range []string{"w2", "b2"} {
				delete(before, behind)
			}
		}
		same(t, "after the step", before, after)
		for p := range g.Params() {
			for _, v := range dtype.Slice[float32](p.Data) {
				if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
					t.Fatalf("%s has %v", p.Name(), v)
				}
			}
		}
	}
}

package prune_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/prune"
	"gorgonia.org/tensor"
)

// chain is two convolutions; channel i of the first has weights of size i+1.
func chain(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("chain")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,1,4,4]")
		y := e.Apply(nn.Sequential{
			layers.Conv{Out: 8, Kernel: []int{1}, Name: "a"}, layers.BatchNorm{Name: "bn"}, layers.ReLU{}, layers.Conv{Out: 8, Kernel: []int{1}, Name: "b"},
			layers.ReLU{}, layers.Conv{Out: 2, Kernel: []int{1}, Name: "c"},
		}, x)
		e.Output("y", y)
		set(e, "a.weight", func(i int) float64 { return float64(i + 1) })
		set(e, "a.bias", func(i int) float64 { return 0 })
		set(e, "b.weight", func(i int) float64 { return 1 })
		set(e, "bn.weight", func(i int) float64 { return float64(8 - i) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func set(e *nn.Edit, name string, f func(i int) float64) {
	v := e.Value(name)
	if v == nil {
		return
	}
	shape := []int(v.Param().Data().Shape())
	n, _ := dtype.Count(shape)
	x := make([]float64, n)
	for i := range x {
		x[i] = f(i)
	}
	d, err := dtype.FromFloats(dtype.Float32, x, shape...)
	e.Fail(err)
	e.SetData(v, d)
}

// gradients yields the same gradient of one for every weight, twice.
func gradients(g *nn.Graph) func(func(nn.Grads, error) bool) {
	return func(yield func(nn.Grads, error) bool) {
		for range 2 {
			grads := nn.Grads{}
			for p := range g.Params() {
				if p.Trainable() {
					x := make([]float64, p.Size())
					for i := range x {
						x[i] = 1
					}
					d, _ := dtype.FromFloats(dtype.Float32, x, []int(p.Data().Shape())...)
					grads[p] = d
				}
			}
			if !yield(grads, nil) {
				return
			}
		}
	}
}

func TestCriteria(t *testing.T) {
	g := chain(t)
	first := g.Channels().Groups()[0]
	for name, c := range map[string]struct {
		by    prune.Criterion
		least int // of the first convolution's channels
	}{
		"L1": {prune.Magnitude{P: 1, Reduce: prune.First}, 0}, "L2": {prune.Magnitude{Reduce: prune.First}, 0},
		"max": {prune.Magnitude{Reduce: prune.Max}, -1}, "bn": {prune.BNScale, 7}, "LAMP": {prune.LAMP, -1},
		"FPGM": {prune.FPGM, 3}, "random": {prune.Random(1), -1},
		"Taylor": {prune.Taylor(gradients(g)), -1}, "activation": {prune.ActivationGradient(gradients(g)), -1},
		"Hessian": {prune.Hessian(gradients(g)), -1},
	} {
		s, err := c.by.Score(context.Background(), g, first)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		least := 0
		for i := range s {
			if s[i] < s[least] {
				least = i
			}
			if math.IsNaN(s[i]) || s[i] < 0 {
				t.Errorf("%s: score %v", name, s)
			}
		}
		if len(s) != 8 || c.least >= 0 && least != c.least {
			t.Errorf("%s: scores %v, want the least at %d", name, s, c.least)
		}
	}
	none := func(yield func(nn.Grads, error) bool) { yield(nil, errors.New("no data")) }
	if _, err := prune.Taylor(none).Score(context.Background(), g, first); err == nil {
		t.Error("an error of the gradients is lost")
	}
}

func TestPruner(t *testing.T) {
	ctx := context.Background()
	g := chain(t)
	plan, err := prune.Pruner{}.Plan(ctx, g)
	if err != nil || len(plan.Cuts()) != 0 || !strings.Contains(plan.String(), "8 atoms") {
		t.Errorf("no target: %v %v", plan, err)
	}
	plan, err = prune.Pruner{Target: prune.Target{Channels: 0.5}, RoundTo: 4, PerLayer: true}.Plan(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.Cuts() {
		if c.After != 4 {
			t.Errorf("%+v", c)
		}
	}
	plan, err = prune.Pruner{Target: prune.Target{Params: 0.7}, Keep: []nn.Selector{nn.Glob("a")}}.Plan(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.Cuts() {
		if strings.HasPrefix(c.Initializer, "a.") {
			t.Errorf("what is kept is cut: %+v", c)
		}
	}
	rounds := 0
	p := prune.Pruner{Target: prune.Target{MACs: 0.3}, By: prune.Taylor(gradients(g))}
	before := g.Summary().Total.MACs
	for plan, err := range p.Steps(ctx, g, 3) {
		if err != nil {
			t.Fatal(err)
		}
		rounds++
		if g.Version() < 2 || len(plan.Cuts()) == 0 {
			t.Error("the plan is not applied in the body")
		}
	}
	if left := float64(g.Summary().Total.MACs) / float64(before); rounds != 3 || left > 0.4 || left < 0.2 {
		t.Errorf("%d rounds leave %.2f of the multiply-adds", rounds, left)
	}
	if _, err := (prune.Pruner{Target: prune.Target{MACs: 2}}).Plan(ctx, g); err == nil {
		t.Error("a target of 2 is taken")
	}
	if _, err := (prune.Pruner{Target: prune.Target{MACs: 0.5}, Keep: []nn.Selector{nn.Glob("*")}}).Plan(ctx, g); err == nil {
		t.Error("everything is kept, and still there is a plan")
	}
}

// TestSparsity masks two of four weights, checks them, and bakes them in.
func TestSparsity(t *testing.T) {
	g := chain(t)
	x, _ := dtype.FromFloats(dtype.Float32, make([]float64, 16), 1, 1, 4, 4)
	for _, s := range []prune.Sparsity{{N: 2, M: 4, Keep: []nn.Selector{nn.Glob("a")}}, {Share: 0.5}} {
		m := nntest.Clone(t, g)
		if err := m.Edit(s.Mask); err != nil {
			t.Fatal(err)
		}
		w, err := m.Value("b.weight")
		if err != nil || !w.Param().Trainable() {
			t.Fatal("a masked weight is not trained", err)
		}
		want, err := m.Run(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Edit(prune.Bake); err != nil {
			t.Fatal(err)
		}
		zero := 0
		d, _ := dtype.Float64s(w.Param().Data())
		for _, v := range d {
			if v == 0 {
				zero++
			}
		}
		if zero != 32 {
			t.Errorf("%+v: %d of 64 weights are zero", s, zero)
		}
		got, err := m.Run(context.Background(), x)
		if err != nil || !same(got[0], want[0]) {
			t.Error("baking changes the model", err)
		}
	}
	if err := g.Edit(prune.Sparsity{N: 3, M: 2}.Mask); err == nil {
		t.Error("3 of 2 is taken")
	}
}

func same(a, b *tensor.Dense) bool {
	x, _ := dtype.Float64s(a)
	y, _ := dtype.Float64s(b)
	for i := range x {
		if math.Abs(x[i]-y[i]) > 1e-5*(1+math.Abs(y[i])) {
			return false
		}
	}
	return true
}

// TestLasso compares the penalty with the sum of the rows' norms.
func TestLasso(t *testing.T) {
	g := chain(t)
	if err := g.Edit(func(e *nn.Edit) {
		drop := false
		l := e.Node(std.ReduceSumConfig{KeepDims: &drop}, e.Value("y"), e.Ints("axes", 0, 1, 2, 3)).Out(0)
		l = e.Node(op.Plain("Mul"), l, e.Scalar("zero", l, 0)).Out(0)
		e.Output("loss", prune.Lasso{Strength: 0.5, Sel: []nn.Selector{nn.Glob("a", "b")}}.Build(e, l))
	}); err != nil {
		t.Fatal(err)
	}
	x, _ := dtype.FromFloats(dtype.Float32, make([]float64, 16), 1, 1, 4, 4)
	out, err := g.Grad(context.Background(), nn.Feed{"x": x}, "loss", "a.weight")
	if err != nil {
		t.Fatal(err)
	}
	v, _ := dtype.Float64s(out["loss"].(*tensor.Dense))
	want := 0.5 * (36 + 8*math.Sqrt(8))
	if math.Abs(v[0]-want) > 1e-3 {
		t.Errorf("the penalty is %v, want %v", v[0], want)
	}
	d, _ := dtype.Float64s(out["a.weight"].(*tensor.Dense))
	if math.Abs(d[3]-0.5) > 1e-4 {
		t.Errorf("its gradient is %v", d)
	}
}

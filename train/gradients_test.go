package train_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

func TestFreeze(t *testing.T) {
	g := small(t)
	if err := g.Edit(func(e *nn.Edit) { e.Freeze(nn.Any(nn.Glob("w1"), nn.Ops("BatchNormalization"))) }); err != nil {
		t.Fatal(err)
	}
	before := weights(g)
	if _, err := train.Fit(context.Background(), g, quiet(train.Config{}), blobs(64, 1), nil); err != nil {
		t.Fatal(err)
	}
	after := weights(g)
	for _, n := range []string{"w1", "scale", "bias", "mean", "var"} {
		if !bytes.Equal(before[n], after[n]) {
			t.Errorf("%s is frozen and changed", n)
		}
	}
	for _, n := range []string{"w2", "b2"} {
		if bytes.Equal(before[n], after[n]) {
			t.Errorf("%s did not change", n)
		}
	}
	if err := g.Edit(func(e *nn.Edit) { e.Freeze() }); err != nil {
		t.Fatal(err)
	}
	if _, err := train.New(g, train.Config{}); err == nil || !strings.Contains(err.Error(), "no trainable parameter") {
		t.Errorf("all frozen: %v", err)
	}
}

func TestGroups(t *testing.T) {
	b := batch(t, blobs(32, 1))
	run := func(groups ...train.ParamGroup) map[string][]byte {
		g := small(t)
		tr, err := train.New(g, train.Config{Rule: optim.AdamW{LR: 0.1, WeightDecay: 0.5}, Groups: groups})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Step(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		return weights(g)
	}
	start, plain := weights(small(t)), run()
	off := run(train.ParamGroup{Match: []string{"w*"}, Rate: optim.Off})
	if !bytes.Equal(off["w1"], start["w1"]) || !bytes.Equal(off["b2"], plain["b2"]) {
		t.Error("Rate Off")
	}
	decay := run(train.ParamGroup{Rank: 1, WeightDecay: optim.Off})
	if bytes.Equal(decay["scale"], plain["scale"]) || !bytes.Equal(decay["w2"], plain["w2"]) {
		t.Error("no decay on rank 1")
	}
	for _, c := range []struct {
		group train.ParamGroup
		want  string
	}{
		{train.ParamGroup{Match: []string{"x*"}}, `group 0, "x*", matches none`},
		{train.ParamGroup{Rule: optim.Lion{}, WeightDecay: 1, Rate: -3}, "Rate is -3"},
		{train.ParamGroup{Rule: optim.Chain{optim.SGD{}}, WeightDecay: 1}, "WeightDecay is set for parameters, but the rule optim.Chain has no such setting"},
	} {
		if _, err := train.New(small(t), train.Config{Groups: []train.ParamGroup{c.group}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

func TestGradients(t *testing.T) {
	g := small(t)
	tr, err := train.New(g, quiet(train.Config{Batch: 16}))
	if err != nil {
		t.Fatal(err)
	}
	before, n := weights(g), 0
	for grads, err := range tr.Gradients(context.Background(), blobs(32, 1)) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		for _, name := range []string{"w1", "w2", "scale", "bias", "b2"} {
			if d := grads[param(t, g, name)]; d == nil || squares(t, d) == 0 {
				t.Errorf("no gradient of %s", name)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d batches", n)
	}
	same(t, "gradients only", before, weights(g))
}

func squares(t testing.TB, d *tensor.Dense) (s float64) {
	x, err := dtype.Float64s(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range x {
		s += v * v
	}
	return s
}

package train

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// TestRaceSetsShare checks that if few samples validate, three tenths of the training set do so as
// well, and are not trained on.
func TestRaceSetsShare(t *testing.T) {
	var all []data.Sample
	for i := range 10 {
		all = append(all, data.Sample{X: []*tensor.Dense{numbered(t, float32(i))}})
	}
	tu := &tuning{fit: data.Of(all...), val: data.Of(all[0])}
	fit, held, err := tu.trialSets(context.Background())
	if err != nil || fit.Len() != 7 || held.Len() != 4 {
		t.Fatalf("%d to fit, %d held out, %v", fit.Len(), held.Len(), err)
	}
	seen := map[float32]int{}
	for _, s := range []data.Dataset[data.Sample]{fit, held} {
		for i := range s.Len() {
			v, err := s.At(i, nil)
			if err != nil {
				t.Fatal(err)
			}
			seen[dtype.Slice[float32](v.X[0])[0]]++
		}
	}
	if len(seen) != 10 || seen[0] != 2 { // the sample of the validation comes twice
		t.Errorf("%v", seen)
	}
}

// TestAnswers checks the loss of each sample, and whether the prediction is right; an error of the set is returned. With a right and a
// wrong prediction of the same confidence, the smallest scale of the scores, ¼, has the lowest loss.
func TestAnswers(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Node(op.Plain("Add"), e.Input("x", "float32[N,2]"), e.Param("b", initial.Zeros{}, 2)).Out(0)
		e.Output("y", e.Node(op.Plain("Softmax"), x).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	sample := func(a, b float32, class int64) data.Sample {
		return data.Sample{X: []*tensor.Dense{numbered(t, a, b)}, Y: []*tensor.Dense{tensor.New(tensor.FromScalar(class))}}
	}
	set := data.Of(sample(0, 0, 1), sample(3, 1, 0), sample(3, 1, 1))
	tu := &tuning{g: g, fit: set}
	got, err := tu.answers(t.Context(), set)
	want := []answer{{math.Ln2, false}, {math.Log(1 + math.Exp(-0.5)), true}, {math.Log(1 + math.Exp(0.5)), false}}
	if err != nil || len(got) != len(want) {
		t.Fatal(got, err)
	}
	for i, a := range got {
		if math.Abs(a.loss-want[i].loss) > 1e-5 || a.right != want[i].right {
			t.Errorf("sample %d: %+v, want %+v", i, a, want[i])
		}
	}
	if v, err := tu.evaluate(t.Context(), set); err != nil || !slices.Equal(v.answers, got) || v.samples != 3 || v.figures["accuracy"] != 1./3 {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := tu.evaluate(t.Context(), nil); err != nil || v.figures != nil || v.answers != nil || v.samples != 0 {
		t.Errorf("of nothing: %+v, %v", v, err)
	}
	if got, err := tu.answers(t.Context(), data.Of(sample(0, 0, 2), sample(0, 0, -100), sample(3, 1, 0))); err != nil || len(got) != 1 || !got[0].right {
		t.Errorf("of classes that the model does not have: %v, %v", got, err)
	}
	broken := errors.New("broken")
	if _, err := tu.answers(t.Context(), unreadable{broken}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := tu.evaluate(t.Context(), unreadable{broken}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type unreadable struct{ err error }

func (u unreadable) Len() int { return 1 }

func (u unreadable) At(int, *rand.Rand) (data.Sample, error) { return data.Sample{}, u.err }

// TestKeepsAllLayers checks that training of all layers is undone only if there is a validation, a
// classifier to return to, and a choice.
func TestKeepsAllLayers(t *testing.T) {
	head := map[string]float64{"accuracy": 0.9}
	good, bad := evaluation{figures: map[string]float64{"accuracy": 0.95, "loss": 0.1}}, evaluation{figures: map[string]float64{"accuracy": 0.5, "loss": 2}}
	val := data.Of(make([]data.Sample, 1000)...)
	for name, c := range map[string]struct {
		t     *tuning
		after evaluation
		want  bool
	}{
		"worse":             {&tuning{val: val, out: Outcome{Head: head}}, bad, false},
		"better":            {&tuning{val: val, out: Outcome{Head: head}}, good, true},
		"no validation":     {&tuning{out: Outcome{Head: head}}, bad, true},
		"no classifier":     {&tuning{val: val}, bad, true},
		"told to, all":      {&tuning{val: val, FineTuner: FineTuner{Policy: Full}, out: Outcome{Head: head}}, bad, true},
		"told to, from new": {&tuning{val: val, FineTuner: FineTuner{Policy: FromScratch}, out: Outcome{Head: head}}, bad, true},
	} {
		if got := c.t.keeps(evaluation{figures: map[string]float64{"accuracy": 0.9, "loss": 0.3}}, c.after); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestVerdictSums checks that three predictions more and one less are within chance.
func TestVerdictSums(t *testing.T) {
	of := func(right ...bool) (v evaluation) {
		for _, r := range right {
			v.answers = append(v.answers, answer{1, r})
		}
		return v
	}
	before := of(false, false, false, true, false, false)
	for _, c := range []struct {
		after evaluation
		want  bool
	}{{of(true, true, true, false, false, false), false}, {of(true, true, true, true, false, false), true}, {of(true, true, true, true, true, true), true}, {of(true, false, false, true, false, false), false}, {of(true, true, false, true, false, false), true}} {
		if got := c.after.better(before); got != c.want {
			t.Errorf("%v: %v", c.after.answers, got)
		}
	}
}

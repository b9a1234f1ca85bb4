package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// TestArrivalChecks checks what is verified of gradients and statistics as they arrive.
func TestArrivalChecks(t *testing.T) {
	g := nn.New("g")
	var list [3]*nn.Param // trained, a statistic, neither
	if err := g.Edit(func(e *nn.Edit) {
		for i := range list {
			list[i] = e.Const(fmt.Sprint("p", i), numbered(t, 1, 2)).Param()
		}
	}); err != nil {
		t.Fatal(err)
	}
	nan, inf := float32(math.NaN()), math.Inf(1)
	for _, c := range []struct {
		p      int
		silent bool
		x      []float32
		bound  float64
		want   string
		square float64
		has    bool
		sum    float64 // of the norm's square
	}{
		{p: 0, x: []float32{3, 4}, square: 25, has: true, sum: 25}, {p: 0, bound: 1e30, square: 1e30, sum: 2e60}, {p: 0, bound: 3, square: 3, sum: 18}, {p: 0, bound: 1.1e30, want: "the gradient of p0 may be as large as 1.1e+30"},
		{p: 0, bound: inf, want: "the gradient of p0 is not finite"}, {p: 0, x: []float32{nan, 0}, want: "the gradient of p0 is not finite"}, {p: 1, x: []float32{nan, 0}, want: "the statistic p1 is not finite"},
		{p: 1, x: []float32{1, 2}}, {p: 2, x: []float32{nan, 0}}, {p: 0, silent: true, x: []float32{nan, 0}}, {p: 1, silent: true, x: []float32{nan, 0}},
	} {
		s := &state{typ: dtype.Float32}
		tr := &Trainer{g: g, params: map[*nn.Param]*state{list[0]: s}, stats: map[*nn.Param]*state{list[1]: {}}}
		a := &streamedUpdate{t: tr, d: &binding{origin: map[*nn.Param]*nn.Param{list[0]: list[0], list[1]: list[1], list[2]: list[2]}}, counts: !c.silent}
		var x *tensor.Dense
		if c.x != nil {
			x = numbered(t, c.x...)
		}
		err := a.check(list[c.p], x, c.bound)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
		if s.square != c.square || s.has != c.has {
			t.Errorf("%+v: squares %v, there %v", c, s.square, s.has)
		}
		if c.want == "" && math.Abs(a.square-c.sum) > 1e-9*c.sum {
			t.Errorf("%+v: the sum of squares is %v", c, a.square)
		}
	}
	a := &streamedUpdate{t: &Trainer{g: g, seen: g.Version()}, counts: true}
	if a.begin(1) != nil || a.begin(math.NaN()) == nil || (&streamedUpdate{t: a.t}).begin(math.NaN()) != nil {
		t.Error("the loss of samples that count")
	}
	first := errors.New("first")
	if err := a.failed(first); !errors.Is(err, first) || !errors.As(err, new(halted)) {
		t.Error("nothing was updated by then")
	}
	a.taken, a.d = 1, &binding{params: list[:2]}
	if err := a.failed(first); !errors.Is(err, first) || !strings.Contains(err.Error(), "; 1 of 2 parameters were already updated") {
		t.Error(err)
	}
}

// TestArrivalTakes checks that arriving gradients update parameters and statistics at once, or not at
// all if no sample counts.
func TestArrivalTakes(t *testing.T) {
	for _, counts := range []bool{true, false} {
		g := nn.New("g")
		var list [3]*nn.Param // trained, checked before; trained; a statistic
		if err := g.Edit(func(e *nn.Edit) {
			for i := range list {
				list[i] = e.Const(fmt.Sprint("p", i), numbered(t, 1, 2)).Param()
			}
		}); err != nil {
			t.Fatal(err)
		}
		of := func(has bool) *state {
			return &state{typ: dtype.Float32, plan: plan{optim.SGD{LR: 0.5}, 2}, has: has, square: 7, n: 4}
		}
		tr := &Trainer{g: g, params: map[*nn.Param]*state{list[0]: of(true), list[1]: of(false)}, stats: map[*nn.Param]*state{list[2]: {}}}
		a := &streamedUpdate{t: tr, d: &binding{origin: map[*nn.Param]*nn.Param{list[0]: list[0], list[1]: list[1], list[2]: list[2]}}, counts: counts, rate: 0.5}
		for i, p := range list {
			if err := a.take(p, numbered(t, 3, 4)); err != nil {
				t.Fatal(i, err)
			}
		}
		want := [3][]float32{{-0.5, 0}, {-0.5, 0}, {3, 4}} // the rate is 0.5·0.5·2
		taken, updates, square := 2, 5, 25.0
		if !counts {
			want = [3][]float32{{1, 2}, {1, 2}, {1, 2}}
			taken, updates, square = 0, 4, 7
		}
		for i, p := range list {
			if !slices.Equal(p.Data().Float32s(), want[i]) {
				t.Errorf("counts %v: %v, want %v", counts, p.Data(), want[i])
			}
		}
		first, second := tr.params[list[0]], tr.params[list[1]]
		if a.taken != taken || first.n != updates || second.n != updates || first.square != 7 || second.square != square || second.has != counts {
			t.Errorf("counts %v: %d taken, %+v, %+v", counts, a.taken, first, second)
		}
	}
}

// TestStanding checks that changes undone since the last synchronization are skipped; an undo of older
// ones is kept, and an undo of nothing.
func TestStanding(t *testing.T) {
	changes := []nn.Change{{Version: 1}, {Version: 2}, {Version: 3, Undoes: 2}, {Version: 4}}
	for since, want := range map[int][]int{0: {1, 4}, 1: {1, 4}, 2: {1, 2, 3, 4}} {
		var got []int
		for _, c := range standing(slices.Values(changes), since) {
			got = append(got, c.Version)
		}
		if !slices.Equal(got, want) {
			t.Errorf("since %d: versions %v, want %v", since, got, want)
		}
	}
}

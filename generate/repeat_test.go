package generate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/op"
)

// numberedSteps returns n steps of a few forms.
func numberedSteps(r *rand.Rand, n, forms int) []*step {
	list := make([]*step, n)
	for i := range list {
		list[i] = &step{number: r.IntN(forms), op: op.Name{Name: "Add"}}
	}
	return list
}

// TestCut: of the steps of unknown scope at the end of a segment those are kept that another segment has in the same order.
func TestCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var list []segment
		for range 1 + r.IntN(6) {
			s := segment{steps: numberedSteps(r, 1+r.IntN(5), 2)}
			s.steps[0].scope = []string{"layer1"}
			list = append(list, s)
		}
		for i, got := range cut(list) {
			want := 0
			for k, s := range list {
				n := 1
				for k != i && n < len(s.steps) && n < len(list[i].steps) && s.steps[n].number == list[i].steps[n].number {
					n++
				}
				want = max(want, n)
			}
			if len(got.steps) != want || !slices.Equal(got.steps, list[i].steps[:want]) {
				t.Fatalf("segment %d is cut to %d of %d steps, want %d", i, len(got.steps), len(list[i].steps), want)
			}
		}
	}
}

// TestAlign: a segment is assigned to a template, in order, if that is possible.
func TestAlign(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x := &reader{ctx: t.Context(), work: 1 << 30}
	found := 0
	for range 2000 {
		a := numberedSteps(r, 2+r.IntN(8), 2)
		b := numberedSteps(r, 1+r.IntN(9), 2)
		k := 0 // the longest beginning of b that is in a
		for _, s := range a {
			if k < len(b) && s.number == b[k].number {
				k++
			}
		}
		possible := k == len(b) && 5*len(b) >= 3*len(a)
		got := x.align(a, b)
		if (got != nil) != possible {
			t.Fatalf("aligned %v, want %v", got != nil, possible)
		}
		if got == nil {
			continue
		}
		found++
		k = 0
		for i, s := range got {
			if s != nil {
				if s != b[k] || s.number != a[i].number {
					t.Fatal("aligned out of order")
				}
				k++
			}
		}
		if k != len(b) {
			t.Fatal("a step is missing")
		}
	}
	if found < 50 {
		t.Fatalf("%d alignments", found)
	}
}

// TestSearchEnds: the search for blocks among many that are all different takes no more than it may, and keeps what it found before.
func TestSearchEnds(t *testing.T) {
	var steps []*step
	for i := range 3000 { // the first two are equal
		n := max(i, 1)
		for k := range 12 {
			s := &step{op: op.Name{Name: fmt.Sprint("Op", n>>k&1)}, kind: "op", scope: []string{fmt.Sprint("layer", i)}, in: []arg{{val: &value{}}}, out: []*value{{}}}
			if len(steps) > 0 {
				s.in[0].val = steps[len(steps)-1].out[0]
			}
			s.in[0].val.users, s.out[0].step = 1, s
			steps = append(steps, s)
		}
	}
	steps[len(steps)-1].out[0].users = 1
	r := &reader{ctx: t.Context(), steps: steps, style: Layers}
	r.numberForms()
	r.work = 1 << 21
	best := r.family(map[*step]bool{})
	if best == nil || r.work < 0 {
		t.Fatalf("found %v, left %d", best, r.work)
	}
	if r.work > 1<<20 {
		t.Fatalf("the search among blocks that are all different took only %d", 1<<21-r.work)
	}
}

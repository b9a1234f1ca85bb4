package indices

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/op/coupling"
)

// describe writes forms down: axes with counts, and the sets as index numbers of their axes.
func describe(s *System, forms []*Form) string {
	var b strings.Builder
	for _, f := range forms {
		for _, x := range f.Axes {
			fmt.Fprintf(&b, "%d×%d ", x.Axis, x.Count)
		}
		if f.Normalized {
			b.WriteString("normalized ")
		}
		fmt.Fprintln(&b, f.Sets)
	}
	return b.String()
}

func every(Axis) bool { return true }

func checkForms(t *testing.T, s *System, want string) {
	t.Helper()
	want = strings.ReplaceAll(strings.TrimPrefix(want, "\n"), "\t", "")
	if got := describe(s, s.Forms(s.Views(), every)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// system has axes of these lengths.
func system(lengths ...int32) *System {
	s := &System{}
	for _, n := range lengths {
		s.Add(n)
	}
	return s
}

func TestMaps(t *testing.T) {
	for _, c := range []struct {
		name string
		n, m int32
		f    coupling.Map
		want string
	}{
		{"identity", 2, 2, coupling.Map{}, "\n0×1 1×1 [[0 2] [1 3]]\n"},
		{"shifted", 2, 4, coupling.Map{Relation: coupling.Offset, Shift: 1}, "\n1×1 [[2] [5]]\n0×1 1×1 [[0 3] [1 4]]\n"},
		{"shifted back", 3, 2, coupling.Map{Relation: coupling.Offset, Shift: -1}, "\n0×1 [[0]]\n0×1 1×1 [[1 3] [2 4]]\n"},
		{"a part", 4, 6, coupling.Map{Relation: coupling.Offset, Shift: 2, Count: 1}, "\n0×1 1×1 [[0 6]]\n0×1 [[1] [2] [3]]\n1×1 [[4] [5] [7] [8] [9]]\n"},
		{"permuted", 3, 3, coupling.Map{Relation: coupling.Permutation, Perm: []int{2, 0, 1}}, "\n0×1 1×1 [[0 5] [1 3] [2 4]]\n"},
		{"chosen", 2, 3, coupling.Map{Relation: coupling.Permutation, Perm: []int{-1, 2}}, "\n0×1 [[0]]\n0×1 1×1 [[1 4]]\n1×1 [[2] [3]]\n"},
		{"chosen past the end", 2, 2, coupling.Map{Relation: coupling.Permutation, Perm: []int{2, 1}}, "\n0×1 [[0]]\n0×1 1×1 [[1 3]]\n1×1 [[2]]\n"},
		{"factor", 2, 12, coupling.Map{Relation: coupling.Factor, Outer: 2, Inner: 3}, "\n0×1 1×6 [[0 2 3 4 8 9 10] [1 5 6 7 11 12 13]]\n"},
		{"gates", 2, 6, coupling.Map{Relation: coupling.Gates, Groups: 3}, "\n0×1 1×3 [[0 2 4 6] [1 3 5 7]]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := system(c.n, c.m)
			s.Relations = []Relation{{A: 0, B: 1, Map: c.f}}
			want := strings.TrimPrefix(c.want, "\n")
			lines := func(x string) []string { l := strings.Split(x, "\n"); slices.Sort(l); return l }
			if got := describe(s, s.Forms(s.Views(), every)); !slices.Equal(lines(got), lines(want)) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		f    coupling.Map
		n, m int
		want bool
	}{
		{coupling.Map{}, 3, 3, true}, {coupling.Map{}, 3, 4, false},
		{coupling.Map{Relation: coupling.Norm}, 3, 3, true}, {coupling.Map{Relation: coupling.Norm}, 3, 2, false},
		{coupling.Map{Relation: coupling.Factor, Outer: 2, Inner: 5}, 3, 30, true}, {coupling.Map{Relation: coupling.Factor, Outer: 2, Inner: 5}, 3, 31, false},
		{coupling.Map{Relation: coupling.Gates, Groups: 4}, 3, 12, true}, {coupling.Map{Relation: coupling.Gates, Groups: 4}, 3, 7, false},
		{coupling.Map{Relation: coupling.Permutation, Perm: []int{0, 1}}, 2, 9, true}, {coupling.Map{Relation: coupling.Permutation, Perm: []int{0, 1}}, 3, 9, false},
		{coupling.Map{Relation: coupling.Group, Groups: 2}, 6, 4, true}, {coupling.Map{Relation: coupling.Group, Groups: 2}, 6, 3, true},
		{coupling.Map{Relation: coupling.Group, Groups: 2}, 6, 5, false}, {coupling.Map{Relation: coupling.Group, Groups: 2}, 5, 4, false}, {coupling.Map{Relation: coupling.Group}, 6, 4, false},
		{coupling.Map{Relation: coupling.NormGroup, Groups: 3}, 6, 6, true}, {coupling.Map{Relation: coupling.NormGroup, Groups: 3}, 6, 9, false},
		{coupling.Map{Relation: coupling.NormGroup, Groups: 4}, 6, 6, false}, {coupling.Map{Relation: coupling.NormGroup}, 6, 6, false},
		{coupling.Map{Relation: coupling.Offset, Shift: 9}, 2, 3, true},
	} {
		if got := Fits(c.f, c.n, c.m); got != c.want {
			t.Errorf("%+v between %d and %d: %v", c.f, c.n, c.m, got)
		}
	}
}

func TestSetsThatAreLeftOut(t *testing.T) {
	s := system(3, 2, 1, 2)
	s.Relations = []Relation{{A: 1, B: 3, Map: coupling.Map{Relation: coupling.Permutation, Perm: []int{0, 0}}}} // both of axis 1 on one of axis 3
	s.Pins = []Pin{{Axis: 0, Lo: 1, Hi: 2, By: 7}}
	checkForms(t, s, `
		0×1 [[0] [2]]
		2×1 [[5]]
		3×1 [[7]]
	`)
	if forms := s.Forms(s.Views(), func(id Axis) bool { return id == 3 }); describe(s, forms) != "3×1 [[7]]\n" {
		t.Errorf("only axis 3 is useful:\n%s", describe(s, forms))
	}
	v := s.Views()[0]
	for e, fixed := range []bool{false, true, false} {
		if p := v.Pin(int32(e)); (p != nil) != fixed || fixed && (p.By != 7 || p.Split) {
			t.Errorf("index %d: %+v", e, p)
		}
	}
}

// TestFirstPinCounts: of several pins the first is the reason, in whichever order the indices are tied.
func TestFirstPinCounts(t *testing.T) {
	for _, swap := range []bool{false, true} {
		s := system(2, 2, 2)
		s.Relations = []Relation{{A: 0, B: 1}, {A: 1, B: 2}}
		if swap {
			slices.Reverse(s.Relations)
		}
		s.Pins = []Pin{{Axis: 2, Hi: 2, By: 5}, {Axis: 0, Hi: 2, By: 6}}
		v := s.base()
		for e := range int32(6) {
			if p := v.Pin(e); p == nil || p.By != 5 {
				t.Errorf("index %d: %+v", e, p)
			}
		}
		if got := s.Forms(s.Views(), every); got != nil {
			t.Errorf("all is fixed, got %s", describe(s, got))
		}
	}
}

func TestNormalized(t *testing.T) {
	s := system(2, 2, 2)
	s.Relations = []Relation{{A: 0, B: 1}}
	s.Norms = []Relation{{A: 1, B: 1, Map: coupling.Map{Relation: coupling.Norm}}}
	checkForms(t, s, `
		0×1 1×1 normalized [[0 2] [1 3]]
		2×1 [[4] [5]]
	`)
}

// TestHeads: an axis of 6 is 2 heads of 3 features on two other axes. Either the features can leave or the heads.
func TestHeads(t *testing.T) {
	s := system(6, 2, 3)
	split := Split{Reshaped: true, By: 4, Factors: []Factor{{Size: 2}, {Size: 3}}}
	split.Place(0, 0, 1, 3)
	split.Place(0, 1, 1, 1)
	split.Place(1, 0, 2, 1)
	split.Place(1, 2, 1, 1)
	split.Place(1, 2, 1, 1) // it stands there already
	s.Splits = []Split{split}
	checkForms(t, s, `
		0×3 1×1 [[0 1 2 6] [3 4 5 7]]
		0×2 2×1 [[0 3 8] [1 4 9] [2 5 10]]
	`)
	heads := s.Views()[0]
	if p := heads.Pin(8); p == nil || !p.Split || p.By != 4 || p.Axis != 2 {
		t.Errorf("features, where heads are free: %+v", p)
	}
	if p := heads.Pin(6); p != nil {
		t.Errorf("heads, where they are free: %+v", p)
	}

	s.Splits[0].Factors[1].Normalized = true
	checkForms(t, s, `
		0×3 1×1 [[0 1 2 6] [3 4 5 7]]
		0×2 2×1 normalized [[0 3 8] [1 4 9] [2 5 10]]
	`)

	s.Pins = []Pin{{Axis: 1, Hi: 2}} // the heads stay: no choice
	if n := len(s.Views()); n != 1 {
		t.Errorf("%d views where one factor can be free", n)
	}
	checkForms(t, s, `
		0×2 2×1 normalized [[0 3 8] [1 4 9] [2 5 10]]
	`)
	s.Pins = []Pin{{Axis: 1, Lo: 1, Hi: 2}} // one of the heads
	checkForms(t, s, `
		0×3 1×1 [[0 1 2 6]]
		0×2 2×1 normalized [[0 3 8] [1 4 9] [2 5 10]]
	`)
}

// TestChoicesComeFirst: an axis that leaves no choice gets what the one of 6, which does, leaves it, whichever comes first.
func TestChoicesComeFirst(t *testing.T) {
	s := system(2, 3, 6)
	split := Split{Reshaped: true, Factors: []Factor{{Size: 2}, {Size: 3}}}
	split.Place(0, 0, 1, 1)
	split.Place(0, 2, 1, 3)
	split.Place(1, 1, 1, 1)
	split.Place(1, 2, 2, 1)
	s.Splits = []Split{split}
	checkForms(t, s, `
		0×1 2×3 [[0 5 6 7] [1 8 9 10]]
		1×1 2×2 [[2 5 8] [3 6 9] [4 7 10]]
	`)
}

// TestSplitsKeepWhatHolds: what a split ties stays normalized or fixed, for the reason that comes first.
func TestSplitsKeepWhatHolds(t *testing.T) {
	heads := func(pins ...Pin) *System {
		s := system(6, 2, 3)
		split := Split{Reshaped: true, Factors: []Factor{{Size: 2}, {Size: 3}}}
		split.Place(0, 0, 1, 3)
		split.Place(0, 1, 1, 1)
		split.Place(1, 0, 2, 1)
		split.Place(1, 2, 1, 1)
		s.Splits, s.Pins = []Split{split}, pins
		return s
	}
	on := func(id Axis, at int32, by int) Pin { return Pin{Axis: id, Lo: at, Hi: at + 1, By: by} }
	for _, c := range []struct {
		pins []Pin
		want int
	}{
		{[]Pin{on(0, 0, 1), on(1, 0, 2)}, 1},
		{[]Pin{on(1, 0, 2), on(0, 0, 1)}, 2},
		{[]Pin{on(1, 0, 2)}, 2},
		{[]Pin{on(0, 1, 3)}, 3},
		{[]Pin{on(0, 2, 4), on(0, 1, 3)}, 4},
	} {
		v := heads(c.pins...).Views()[0] // the heads are free
		for _, e := range []int32{0, 1, 2, 6} {
			if p := v.Pin(e); p == nil || p.By != c.want {
				t.Errorf("pins %v: index %d is fixed by %+v, want %d", c.pins, e, p, c.want)
			}
		}
		if p := v.Pin(7); p != nil {
			t.Errorf("pins %v: the other head is fixed by %+v", c.pins, p)
		}
	}

	for id := range Axis(2) {
		s := heads()
		s.Norms = []Relation{{A: id, B: id, Map: coupling.Map{Relation: coupling.Norm}}}
		if f := s.Forms(s.Views()[:1], every)[0]; !f.Normalized || len(f.Sets) != 2 {
			t.Errorf("heads, of which axis %d is normalized: %s", id, describe(s, []*Form{f}))
		}
	}
}

// TestNormalizedApart: sets of one form, some of them normalized, are two forms.
func TestNormalizedApart(t *testing.T) {
	s := system(4, 2)
	s.Relations = []Relation{{A: 1, B: 0, Map: coupling.Map{Relation: coupling.Offset, Shift: 2}}}
	s.Norms = []Relation{{A: 1, B: 1, Map: coupling.Map{Relation: coupling.Norm}}}
	checkForms(t, s, `
		0×1 [[0] [1]]
		0×1 1×1 normalized [[2 4] [3 5]]
	`)
	s = system(3, 3, 2) // axis 2 is index 1 and 2 of axis 0, which is axis 1
	s.Relations = []Relation{{A: 0, B: 1}}
	s.Norms = []Relation{{A: 2, B: 2, Map: coupling.Map{Relation: coupling.Norm}}}
	checkForms(t, s, `
		0×1 1×1 [[0 3] [1 4] [2 5]]
		2×1 normalized [[6] [7]]
	`)
	s = system(4, 2) // index 1 is normalized for itself alone
	s.Norms = []Relation{{A: 1, B: 1, Map: coupling.Map{Relation: coupling.Norm}}}
	s.Relations = []Relation{{A: 1, B: 0, Map: coupling.Map{Relation: coupling.Permutation, Perm: []int{1, -1}}}}
	checkForms(t, s, `
		0×1 [[0] [2] [3]]
		0×1 1×1 normalized [[1 4]]
		1×1 normalized [[5]]
	`)
}

// TestTakenInTurn: where the preferred factor of an axis is taken by another choice, the next one is free.
func TestTakenInTurn(t *testing.T) {
	s := system(24, 2, 3, 4) // 2·3·4 on one axis: three choices, each factor once
	split := Split{Reshaped: true, Factors: []Factor{{Size: 2}, {Size: 3}, {Size: 4}}}
	split.Place(0, 0, 1, 12)
	split.Place(1, 0, 2, 4)
	split.Place(2, 0, 6, 1)
	for i := range split.Factors {
		split.Place(i, Axis(1+i), 1, 1)
	}
	s.Splits = []Split{split}
	counts := func(s *System) (list []string) {
		for _, f := range s.Forms(s.Views(), every) {
			list = append(list, fmt.Sprint(f.Axes, len(f.Sets)))
		}
		return list
	}
	if got, want := fmt.Sprint(counts(s)), "[[{0 12} {1 1}] 2 [{0 8} {2 1}] 3 [{0 6} {3 1}] 4]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := len(s.Views()); n != 3 {
		t.Errorf("%d views", n)
	}

	// A second axis of 3·4 that shares the factor 3 (axis 2) and has one of its own: with 2 free on the first, 3 is taken, and 4 is free on the second.
	s.Add(12)
	s.Add(4)
	second := Split{Reshaped: true, Factors: []Factor{{Size: 3}, {Size: 4}}}
	second.Place(0, 2, 1, 1)
	second.Place(0, 4, 1, 4)
	second.Place(1, 4, 3, 1)
	second.Place(1, 5, 1, 1)
	s.Splits = append(s.Splits, second)
	if got, want := fmt.Sprint(counts(s)), "[[{0 12} {1 1}] 2 [{4 3} {5 1}] 4 [{0 8} {2 1} {4 4}] 3 [{0 6} {3 1}] 4]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestChosenTogether: two splits of tied axes by the same factors have the same one free.
func TestChosenTogether(t *testing.T) {
	s := system(6, 2, 3, 6, 2, 3)
	for _, first := range []Axis{0, 3} {
		split := Split{Reshaped: true, Factors: []Factor{{Size: 2}, {Size: 3}}}
		split.Place(0, first, 1, 3)
		split.Place(0, first+1, 1, 1)
		split.Place(1, first, 2, 1)
		split.Place(1, first+2, 1, 1)
		s.Splits = append(s.Splits, split)
	}
	s.Relations = []Relation{{A: 0, B: 3}}
	checkForms(t, s, `
		0×3 1×1 3×3 4×1 [[0 1 2 6 11 12 13 17] [3 4 5 7 14 15 16 18]]
		0×2 2×1 3×2 5×1 [[0 3 8 11 14 19] [1 4 9 12 15 20] [2 5 10 13 16 21]]
	`)
}

// TestFactorsOfThree: c·h·w on one axis, h and w of length 1 are no choice; and choices of groups and of reshaped axes are independent.
func TestFactorsOfThree(t *testing.T) {
	s := system(4, 4, 1)
	split := Split{Reshaped: true, Factors: []Factor{{Size: 4}, {Size: 1}}}
	split.Place(0, 0, 1, 1)
	split.Place(0, 1, 1, 1)
	split.Place(1, 0, 4, 1)
	split.Place(1, 2, 1, 1)
	s.Splits = []Split{split}
	if n := len(s.Views()); n != 1 {
		t.Errorf("%d views", n)
	}
	checkForms(t, s, `
		0×1 1×1 [[0 4] [1 5] [2 6] [3 7]]
	`)

	s = system(4, 2, 2, 6, 2, 3)
	for i, n := range []int{2, 3} {
		first := Axis(3 * i)
		split := Split{Reshaped: i == 0, Factors: []Factor{{Size: 2}, {Size: n}}}
		split.Place(0, first, 1, n)
		split.Place(0, first+1, 1, 1)
		split.Place(1, first, 2, 1)
		split.Place(1, first+2, 1, 1)
		s.Splits = append(s.Splits, split)
	}
	if n := len(s.Views()); n != 4 {
		t.Errorf("%d views of two independent choices", n)
	}
	checkForms(t, s, `
		0×2 1×1 [[0 1 4] [2 3 5]]
		3×3 4×1 [[8 9 10 14] [11 12 13 15]]
		3×2 5×1 [[8 11 16] [9 12 17] [10 13 18]]
		0×2 2×1 [[0 2 6] [1 3 7]]
	`)
}

// TestRandomRelations compares with sets that grow until nothing is added any more.
func TestRandomRelations(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := &System{}
		for range 2 + r.IntN(4) {
			s.Add(int32(1 + r.IntN(5)))
		}
		tied := map[[2]int32]bool{}
		for range r.IntN(5) {
			a, b := Axis(r.IntN(len(s.Spans))), Axis(r.IntN(len(s.Spans)))
			x, y := s.Spans[a], s.Spans[b]
			shift := r.IntN(3) - 1
			s.Relations = append(s.Relations, Relation{A: a, B: b, Map: coupling.Map{Relation: coupling.Offset, Shift: shift}})
			for i := range int(x.Size) {
				if j := i + shift; j >= 0 && j < int(y.Size) {
					tied[[2]int32{x.First + int32(i), y.First + int32(j)}] = true
				}
			}
		}
		fixed := make([]bool, s.Elements())
		for range r.IntN(3) {
			id := r.IntN(len(s.Spans))
			lo := r.Int32N(s.Spans[id].Size)
			s.Pins = append(s.Pins, Pin{Axis: Axis(id), Lo: lo, Hi: lo + 1})
			fixed[s.Spans[id].First+lo] = true
		}
		got := map[string]bool{}
		for _, f := range s.Forms(s.Views(), every) {
			for _, set := range f.Sets {
				got[fmt.Sprint(set)] = true
			}
		}
		want := grown(s, tied, fixed)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: got %v, want %v", seed, got, want)
		}
	}
}

// grown returns the sets that can leave, found without any bookkeeping.
func grown(s *System, tied map[[2]int32]bool, fixed []bool) map[string]bool {
	list := map[string]bool{}
	for e := range s.Elements() {
		in := map[int32]bool{e: true}
		for more := true; more; {
			more = false
			for p := range tied {
				if in[p[0]] != in[p[1]] {
					in[p[0]], in[p[1]], more = true, true, true
				}
			}
		}
		var set []int32
		free := true
		for i := range in {
			set = append(set, i)
			free = free && !fixed[i]
		}
		slices.Sort(set)
		for _, x := range s.Spans {
			n := int32(0)
			for _, i := range set {
				if i >= x.First && i < x.First+x.Size {
					n++
				}
			}
			free = free && (n < x.Size || x.Size == 1)
		}
		if free {
			list[fmt.Sprint(set)] = true
		}
	}
	return list
}

// TestFill compares with trying everything.
func TestFill(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		list := make([]Offer, 1+r.IntN(3))
		for i := range list {
			list[i] = Offer{Sets: 1 + r.IntN(4), Per: 1 + r.IntN(3), Lost: []float64{0}}
			for range list[i].Sets {
				list[i].Lost = append(list[i].Lost, list[i].Lost[len(list[i].Lost)-1]+r.Float64())
			}
		}
		need := r.IntN(13) - 7
		least, possible := math.Inf(1), false
		var try func(i, left int, lost float64)
		try = func(i, left int, lost float64) {
			if i == len(list) {
				if left == 0 {
					least, possible = min(least, lost), true
				}
				return
			}
			o := list[i]
			if need < 0 {
				for k := range o.Sets {
					try(i+1, left+k*o.Per, lost+o.Lost[k])
				}
				return
			}
			for k := 0; k*o.Per <= left; k++ {
				try(i+1, left-k*o.Per, lost+float64(k)/float64(o.Sets+1))
			}
		}
		try(0, need, 0)
		k, lost, ok := Fill(list, need)
		if ok != possible || ok && math.Abs(lost-least) > 1e-9 {
			t.Fatalf("seed %d, %+v by %d: %v %g %v; %g %v by trying", seed, list, need, k, lost, ok, least, possible)
		}
		sum := 0
		for i := range k {
			sum += k[i] * list[i].Per
		}
		if ok && sum != need {
			t.Fatalf("seed %d: %v changes by %d, not %d", seed, k, sum, need)
		}
	}
}

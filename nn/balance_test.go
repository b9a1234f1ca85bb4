package nn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/nn"
)

// price returns what it costs to add k atoms to each group, or take them away: the indices that change; what the atoms that go are worth,
// by which any change counts for less than the worst of them; among atoms that come, those at the end and of large groups before others.
// ok: the two sides of the gap meet, the rule allows it, and each group keeps an atom.
func price(list []nn.MetShare, k []int, need int, p nn.Prefer) (total float64, ok bool) {
	all, left := 0.0, need
	for _, s := range list {
		for _, x := range s.Lost {
			all += x
		}
	}
	for i, s := range list {
		left -= k[i] * (s.In - s.Out)
		allowed := map[nn.Prefer]bool{nn.PreferGrow: k[i] > 0, nn.PreferShrink: k[i] < 0, nn.PreferBefore: s.Out == 0, nn.PreferAfter: s.In == 0}
		if k[i] != 0 && !allowed[p] || -k[i] >= len(s.Lost) {
			return 0, false
		}
		n := float64(max(k[i], -k[i]))
		total += n * float64(max(s.In, s.Out))
		for _, x := range s.Lost[:max(-k[i], 0)] {
			total += x / max(all, 1e-30) * float64(2*max(need, -need)+64)
		}
		if k[i] > 0 {
			total += n * 1e-3 / float64(len(s.Lost)+1)
			if s.Ends {
				total -= n * 1e-2
			}
		}
	}
	return total, left == 0
}

// TestMeet compares how the two sides of a gap are made to agree with all ways there are.
func TestMeet(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	met := 0
	for trial := range 3000 {
		var list []nn.MetShare
		for range 1 + r.IntN(3) {
			s := nn.MetShare{In: r.IntN(4), Out: r.IntN(4), Ends: r.IntN(3) == 0}
			for range 1 + r.IntN(4) {
				s.Lost = append(s.Lost, float64(r.IntN(3)))
			}
			for i := range s.Lost[1:] { // ascending
				s.Lost[i+1] += s.Lost[i]
			}
			list = append(list, s)
		}
		need := r.IntN(13) - 6
		p := []nn.Prefer{nn.PreferGrow, nn.PreferShrink, nn.PreferBefore, nn.PreferAfter}[trial%4]
		best := math.Inf(1)
		k := make([]int, len(list))
		var try func(i int)
		try = func(i int) {
			if i < len(list) {
				for k[i] = -4; k[i] <= 6; k[i]++ {
					if k[i] == 0 || list[i].In != list[i].Out { // else it would bring nothing
						try(i + 1)
					}
				}
				return
			}
			if c, ok := price(list, k, need, p); ok {
				best = min(best, c)
			}
		}
		try(0)
		got, ok := nn.Meet(list, need, nn.Realign{Prefer: p})
		if !ok {
			if !math.IsInf(best, 1) {
				t.Fatalf("trial %d: %+v by %d, %v: no way is found, there is one of %g", trial, list, need, p, best)
			}
			continue
		}
		met++
		c, valid := price(list, got, need, p)
		if !valid || c > best+1e-9 { // there may be ways with more atoms than were tried
			t.Fatalf("trial %d: %+v by %d, %v: %v costs %g, %v, want %g", trial, list, need, p, got, c, valid, best)
		}
	}
	if met < 800 {
		t.Errorf("only %d of 3000 gaps were met", met)
	}
}

package optim

import "math"

// CosineLR falls from 1 to To along half a cosine (Loshchilov and Hutter, 2017),
// as torch's CosineAnnealingLR with T_max = total and eta_min = To·LR.
type CosineLR struct {
	To float64 // 0
}

// At implements [Schedule].
func (s CosineLR) At(step, total int) float64 {
	return between(1, or(s.To, 0), progress(step, total), false)
}

// between interpolates from a to b as p goes from 0 to 1, along half a cosine or
// linearly.
func between(a, b, p float64, straight bool) float64 {
	if straight {
		return a + (b-a)*p
	}
	return b + (a-b)*(1+math.Cos(math.Pi*p))/2
}

// OneCycleLR rises to 1 and falls to almost nothing (Smith and Topin, 2019), as
// torch's OneCycleLR with max_lr = LR; momentum is not cycled.
type OneCycleLR struct {
	Up         float64 // 0.3; fraction of the run in which the rate rises
	Div        float64 // 25; the first value is 1/Div
	FinalDiv   float64 // 1e4; the last value is 1/(Div·FinalDiv)
	Straight   bool    // straight lines instead of half cosines
	ThreePhase bool    // fall to 1/Div in as many steps as it rose, then to the last value
}

// At implements [Schedule].
func (s OneCycleLR) At(step, total int) float64 {
	start := 1 / positive(s.Div, 25)
	end := start / positive(s.FinalDiv, 1e4)
	if total <= 0 {
		return start
	}
	up, last := or(s.Up, 0.3)*float64(total)-1, float64(total-1)
	at := min(max(float64(step), 0), last)
	share := func(from, to float64) float64 {
		if to <= from {
			return 1
		}
		return (at - from) / (to - from)
	}
	switch {
	case up > 0 && at <= up:
		return between(start, 1, share(0, up), s.Straight)
	case !s.ThreePhase:
		return between(1, end, share(max(up, 0), last), s.Straight)
	case at <= 2*up:
		return between(1, start, share(up, 2*up), s.Straight)
	}
	return between(start, end, share(max(2*up, 0), last), s.Straight)
}

// positive returns v if it is positive, otherwise def.
func positive(v, def float64) float64 {
	if v > 0 {
		return v
	}
	return def
}

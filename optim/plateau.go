package optim

// Plateau lowers the rate when a metric stops improving, as torch's
// ReduceLROnPlateau with a relative threshold. It depends on results, so it is
// not a [Schedule]: Next is called once per epoch, and its state is kept with
// the checkpoint.
type Plateau struct {
	Factor    float64 // 0.1
	Patience  int     // 10; epochs without improvement that are tolerated; negative: none
	Threshold float64 // 1e-4; relative change that counts
	Cooldown  int     // 0; epochs after a reduction that are not counted
	Min       float64 // 0; lower bound of the factor on the rate
	Higher    bool    // a higher metric is better
}

// PlateauState is the state of a Plateau; the zero value is the initial state.
type PlateauState struct {
	Rate    float64 // factor on the rate; 0 counts as 1
	Best    float64 // the best value so far
	HasBest bool    // Best holds a value
	Bad     int     // epochs without improvement
	Cool    int     // epochs left that are not counted
}

// Next takes the metric of one more epoch. A NaN is not an improvement.
func (p Plateau) Next(s PlateauState, metric float64) PlateauState {
	if s.Rate == 0 {
		s.Rate = 1
	}
	if metric == metric && (!s.HasBest || p.better(metric, s.Best)) {
		s.Best, s.HasBest, s.Bad = metric, true, 0
	} else {
		s.Bad++
	}
	if s.Cool > 0 {
		s.Cool--
		s.Bad = 0
	}
	patience := p.Patience
	switch {
	case patience == 0:
		patience = 10
	case patience < 0:
		patience = 0
	}
	if s.Bad > patience {
		s.Rate = max(s.Rate*or(p.Factor, 0.1), or(p.Min, 0))
		s.Cool, s.Bad = p.Cooldown, 0
	}
	return s
}

func (p Plateau) better(v, best float64) bool {
	t := or(p.Threshold, 1e-4)
	if p.Higher {
		return v > best*(1+t)
	}
	return v < best*(1-t)
}

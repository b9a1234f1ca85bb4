package optim

// Warmup rises in a straight line before another schedule begins. The steps of
// the rise come off the total that the other sees. The first value is above
// zero, so that no step is wasted: From + (1−From)·(step+1)/(Steps+1).
type Warmup struct {
	Steps int      // length of the rise; 0: Share decides
	Share float64  // 0.05; length as a share of the run, where Steps is 0
	From  float64  // 0
	Then  Schedule // nil: ConstantLR
}

// At implements [Schedule]; while it rises the value is that of Then's start,
// scaled.
func (s Warmup) At(step, total int) float64 {
	n := s.Steps
	if n <= 0 {
		n = int(or(s.Share, 0.05) * float64(max(total, 0)))
	}
	then := s.Then
	if then == nil {
		then = ConstantLR{}
	}
	rest := total - n
	if total <= 0 {
		rest = 0
	}
	if step >= n {
		return then.At(step-n, rest)
	}
	from := or(s.From, 0)
	return then.At(0, rest) * (from + (1-from)*float64(max(step, 0)+1)/float64(n+1))
}

package train

import (
	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// average updates the moving averages with the parameters and statistics of this step. The
// decay is that of the configuration, but smaller during the first steps.
func (t *Trainer) average() {
	if t.c.EMA == 0 {
		return
	}
	n := float64(t.progress.Step)
	keep := min(t.c.EMA, (1+n)/(10+n))
	t.averaged(func(p *nn.Param, s *state) {
		if dtype.Of(direct.Data(p).Dtype()) == dtype.Float32 {
			blend(dtype.Slice[float32](s.ema), dtype.Slice[float32](direct.Data(p)), float32(1-keep))
		} else {
			blend(dtype.Slice[float64](s.ema), dtype.Slice[float64](direct.Data(p)), 1-keep)
		}
	})
}

func blend[F float32 | float64](to, from []F, share F) {
	from = from[:len(to)]
	for i, x := range to {
		to[i] = x + share*(from[i]-x)
	}
}

// averaged calls f for every parameter and statistic that has an average.
func (t *Trainer) averaged(f func(*nn.Param, *state)) {
	for _, m := range []map[*nn.Param]*state{t.params, t.stats} {
		for p, s := range m {
			if s.ema != nil && s.fits(p) {
				f(p, s)
			}
		}
	}
}

// hold swaps the averages into the graph's parameters, or back out of them; the states keep the other values.
func (t *Trainer) hold(averages bool) {
	if t.c.EMA == 0 || t.held == averages {
		return
	}
	t.held = averages
	t.averaged(func(p *nn.Param, s *state) { exchange(direct.Data(p), s.ema); p.Changed() })
}

func exchange(a, b *tensor.Dense) {
	x, y := dtype.Bytes(a), dtype.Bytes(b)
	var block [4096]byte
	for len(x) > 0 {
		n := copy(block[:], x)
		copy(x, y[:n])
		copy(y, block[:n])
		x, y = x[n:], y[n:]
	}
}

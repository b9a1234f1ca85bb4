package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// RateFinder is a learning-rate range test (Smith, 2017): it trains for some steps at exponentially increasing rates,
// to find where the loss falls. The zero value of each field is the default that its comment states.
type RateFinder struct {
	Min, Max float64 // first and last rate; 0: 1e-7 and 10
	Steps    int     // number of steps; 0: 100
	Config   Config  // loss, rule, groups, batch, seed; the rule's rate, schedule and epochs are not used
}

// RateCurve is the result of a RateFinder.
type RateCurve struct {
	Rate       []float64 `json:"rate"`       // learning rates tried, in ascending order
	Loss       []float64 `json:"loss"`       // smoothed loss at each rate
	Suggestion float64   `json:"suggestion"` // rate at which the loss fell most steeply, at most an eighth of the rate at which it began to rise
}

// FindRate runs a learning-rate range test with the default settings of RateFinder.
func FindRate(ctx context.Context, g *nn.Graph, fit data.Dataset[data.Sample]) (RateCurve, error) {
	return RateFinder{}.FindRate(ctx, g, fit)
}

// FindRate runs the test. The parameters of the graph are restored afterwards.
func (r RateFinder) FindRate(ctx context.Context, g *nn.Graph, fit data.Dataset[data.Sample]) (c RateCurve, err error) {
	if r.Min == 0 {
		r.Min = 1e-7
	}
	if r.Max == 0 {
		r.Max = 10
	}
	if r.Steps == 0 {
		r.Steps = 100
	}
	if !(r.Min > 0 && r.Max > r.Min) || r.Steps < 4 {
		return c, fmt.Errorf("train: rates from %v to %v in %d steps: want rising rates above 0 and 4 steps or more", r.Min, r.Max, r.Steps)
	}
	if fit == nil || fit.Len() == 0 {
		return c, errors.New("train: there are no samples to find a rate with")
	}
	config := r.Config
	if config.Rule, err = with(config.rule(), "LR", 1); err != nil {
		return c, err
	}
	config.Schedule, config.Dir, config.Resume, config.Log, config.EMA = rising{r.Min, r.Max, r.Steps}, "", false, Quiet, 0
	config.Observe, config.Whole, config.Plateau, config.Keep, config.Accumulate = nil, true, nil, 0, 0
	saved, err := snapshot.Of(ctx, g)
	if err != nil {
		return c, err
	}
	defer saved.Restore()
	t, err := New(g, config.until(ctx))
	if err != nil {
		return c, err
	}
	if err := errors.Join(r.walk(ctx, t, fit, &c), t.Close()); err != nil {
		return c, err
	}
	c.suggest()
	return c, nil
}

// walk trains until the last rate, or until the loss has risen far.
func (r RateFinder) walk(ctx context.Context, t *Trainer, fit data.Dataset[data.Sample], c *RateCurve) error {
	const keep = 0.7
	loader, err := t.loader()
	if err != nil {
		return err
	}
	mean, weight, least := 0.0, 0.0, math.Inf(1)
	for epoch := 0; len(c.Rate) < r.Steps; epoch++ {
		before := len(c.Rate)
		for b, err := range loader.Batches(ctx, fit, epoch) {
			if err != nil {
				return t.withdraw(err)
			}
			info, err := t.Step(ctx, b)
			if err != nil && t.interrupted(ctx, err) {
				return err
			}
			if err != nil && len(c.Rate) < 4 {
				return err
			}
			if err != nil {
				return nil // the rate is so high that the loss or gradients are not finite
			}
			mean, weight = keep*mean+(1-keep)*info.Loss, keep*weight+1-keep
			loss := mean / weight
			c.Rate, c.Loss = append(c.Rate, info.Rate), append(c.Loss, loss)
			if least = min(least, loss); loss > 4*least+0.1 || len(c.Rate) == r.Steps {
				return nil
			}
		}
		if len(c.Rate) == before {
			return fmt.Errorf("train: %d samples do not fill a batch of %d, which the model fixes", fit.Len(), loader.Unit)
		}
	}
	return nil
}

// rising is an exponentially increasing schedule.
type rising struct {
	min, max float64
	steps    int
}

func (s rising) At(step, _ int) float64 {
	return s.min * math.Pow(s.max/s.min, float64(step)/float64(s.steps-1))
}

// suggest chooses a rate.
func (c *RateCurve) suggest() {
	n := len(c.Loss)
	low := 0
	for i, v := range c.Loss {
		if v < c.Loss[low] {
			low = i
		}
	}
	start := c.Loss[0]
	first := c.Loss[:max(2, n/4)] // at these rates the loss varies only with the batches
	noise := slices.Max(first) - slices.Min(first)
	up := n - 1 // index at which the loss has clearly risen
	for i := low; i < n; i++ {
		if c.Loss[i] > c.Loss[low]+0.25*math.Abs(start)+2*noise {
			up = i
			break
		}
	}
	c.Suggestion = c.Rate[up] / 8
	if start-c.Loss[low] < 0.05*math.Abs(start) {
		return // it did not fall: the weights are near a minimum
	}
	steep, at := 0.0, low
	const span = 3 // number of steps over which a slope is measured
	for i := span; i <= low; i++ {
		if low >= len(first) && c.Loss[i] >= slices.Min(first) {
			continue // not yet below the losses at the first rates
		}
		if fall := c.Loss[i-span] - c.Loss[i]; fall > steep {
			steep, at = fall, i-span/2
		}
	}
	c.Suggestion = min(c.Suggestion, c.Rate[at])
}

// WritePNG draws the smoothed loss over the rate.
func (c RateCurve) WritePNG(w io.Writer) error {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("suggested rate %.2g", c.Suggestion)
	p.X.Label.Text, p.Y.Label.Text = "learning rate", "loss"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 3}
	p.Add(plotter.NewGrid())
	var xy plotter.XYs
	for i, r := range c.Rate {
		if finite(c.Loss[i]) {
			xy = append(xy, plotter.XY{X: r, Y: c.Loss[i]})
		}
	}
	line, err := plotter.NewLine(xy)
	if err != nil {
		return fmt.Errorf("train: curve of the rates: %w", err)
	}
	line.Color = plotutil.Color(0)
	at := c.Suggestion
	mark, err := plotter.NewLine(plotter.XYs{{X: at, Y: slices.Min(c.Loss)}, {X: at, Y: c.Loss[0]}})
	if err != nil {
		return err
	}
	mark.Color, mark.Dashes = plotutil.Color(1), []vg.Length{vg.Points(4), vg.Points(3)}
	p.Add(line, mark)
	return writePlot(w, p, 16, 10)
}

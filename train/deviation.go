package train

import (
	"math"

	"gorgonia.org/tensor"
)

// Deviation measures regression, over all elements: "mae", the mean absolute error, "rmse", the root of the mean
// squared error, and "r2", the fraction of the targets' variance that is explained (0 if all targets are equal).
type Deviation struct {
	n, abs, square float64
	shift          float64 // the first target, subtracted from all to keep the variance accurate
	y, yy          float64 // Σ of shifted targets and of their squares
}

// Add implements Metric.
func (d *Deviation) Add(out, want []*tensor.Dense) error {
	x, y, err := elements("deviation", out, want)
	if err != nil {
		return err
	}
	for i, v := range x {
		if d.n == 0 {
			d.shift = y[i]
		}
		e, t := v-y[i], y[i]-d.shift
		d.n++
		d.abs += math.Abs(e)
		d.square += e * e
		d.y += t
		d.yy += t * t
	}
	return nil
}

// Result implements Metric.
func (d *Deviation) Result() map[string]float64 {
	r := map[string]float64{"mae": ratio(d.abs, d.n), "rmse": math.Sqrt(ratio(d.square, d.n)), "r2": 0}
	if total := d.yy - ratio(d.y*d.y, d.n); total > 0 {
		r["r2"] = 1 - d.square/total
	}
	*d = Deviation{}
	return r
}

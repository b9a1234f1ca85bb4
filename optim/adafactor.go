package optim

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"
)

// Adafactor keeps the mean square of a matrix as one number per row and one
// per column (Shazeer and Stern, 2018), like torch.optim.Adafactor since 2.5:
// the rate is relative to the weight's own scale and falls with 1/√step.
// Weights of rank 2 and more are factored over their last two axes.
//
// Slots: row_var [..., r, 1] and col_var [..., 1, c], or variance for rank 0
// and 1.
type Adafactor struct {
	LR          float64 // 1e-2; cap of the relative rate
	Beta2Decay  float64 // 0.8; the decay of the mean square is 1 − step^−Beta2Decay
	Eps1        float64 // 2⁻²³ in float32, 2⁻⁵² in float64; lower bound of the root mean square
	Eps2        float64 // 1e-3; lower bound of the scale of a weight
	Clip        float64 // 1; largest root mean square of an update, Off: unlimited
	WeightDecay float64 // 0; decoupled
}

func (r Adafactor) resolve() (Adafactor, error) {
	c := resolver{rule: "Adafactor"}
	off := r.Clip == Off
	r.LR = c.value("LR", r.LR, 1e-2, inf)
	r.Beta2Decay = c.value("Beta2Decay", r.Beta2Decay, 0.8, inf)
	r.Eps2 = c.value("Eps2", r.Eps2, 1e-3, inf)
	r.Clip = c.value("Clip", r.Clip, 1, inf)
	r.WeightDecay = c.value("WeightDecay", r.WeightDecay, 0, inf)
	if r.Eps1 != 0 { // its default depends on the element type
		r.Eps1 = c.value("Eps1", r.Eps1, 0, inf)
		r.Eps1 = max(r.Eps1, math.SmallestNonzeroFloat64) // Off, distinguished from unset
	}
	if off {
		r.Clip = inf
	}
	return r, c.err
}

// Init implements [Rule].
func (r Adafactor) Init(w *tensor.Dense) ([]Slot, error) {
	if _, err := r.resolve(); err != nil {
		return nil, err
	}
	if err := usable("Adafactor", "weight", w); err != nil {
		return nil, err
	}
	if w.Dims() < 2 {
		return fresh("Adafactor", w, "variance")
	}
	row, err := factored("row_var", w, 1)
	if err != nil {
		return nil, err
	}
	column, err := factored("col_var", w, 2)
	return []Slot{row, column}, err
}

// factored makes a slot of w's shape with the axis last from the end reduced.
func factored(name string, w *tensor.Dense, last int) (Slot, error) {
	shape, axes := slices.Clone(w.Shape()), make([]int, w.Dims())
	for i := range axes {
		axes[i] = i
	}
	shape[len(shape)-last], axes[len(axes)-last] = 1, -1
	return slot(name, w, shape, axes)
}

// Step implements [Rule].
func (r Adafactor) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	r, err := r.resolve()
	if err != nil {
		return err
	}
	if err := sound("Adafactor", w, grad, h); err != nil {
		return err
	}
	if err := r.check(w, s); err != nil {
		return err
	}
	if r.Eps1 == 0 {
		r.Eps1 = 0x1p-52
		if w.Dtype() == tensor.Float32 {
			r.Eps1 = 0x1p-23
		}
	}
	r.LR *= h.Rate
	if w.Dtype() == tensor.Float32 {
		adafactor[float32](r, w, grad, s, float64(h.Step+1))
	} else {
		adafactor[float64](r, w, grad, s, float64(h.Step+1))
	}
	return nil
}

func (r Adafactor) check(w *tensor.Dense, s []Slot) error {
	d := w.Dims()
	if d < 2 {
		if err := count("Adafactor", s, 1); err != nil {
			return err
		}
		return like("Adafactor", s, 0, "variance", w)
	}
	if err := count("Adafactor", s, 2); err != nil {
		return err
	}
	for i, name := range [...]string{"row_var", "col_var"} {
		v := s[i].Data
		if err := usable("Adafactor", name, v); err != nil {
			return err
		}
		fits := s[i].Name == name && v.Dtype() == w.Dtype() && v.Dims() == d
		for a := 0; fits && a < d; a++ {
			want := w.Shape()[a]
			if a == d-1-i {
				want = 1
			}
			fits = v.Shape()[a] == want
		}
		if !fits {
			return fmt.Errorf("optim: Adafactor: slot %d is %q of type %v and shape %v, does not fit %q of a weight %v %v",
				i, s[i].Name, v.Dtype(), v.Shape(), name, w.Dtype(), w.Shape())
		}
	}
	return nil
}

// adafactor makes update number t, counted from 1. The estimate overwrites the
// gradient, so that nothing is allocated.
func adafactor[F float](r Adafactor, weight, grad *tensor.Dense, s []Slot, t float64) {
	w, g := elems[F](weight), elems[F](grad)
	if len(w) == 0 {
		return
	}
	const tiny = 1e-37 // slightly above the smallest normal float32: divisors are never zero
	rate := min(r.LR, 1/math.Sqrt(t)) * max(r.Eps2, rms(w))
	take := F(math.Pow(t, -r.Beta2Decay))
	keep, eps, floor := F(1-r.LR*r.WeightDecay), max(F(r.Eps1), tiny), max(F(r.Eps1*r.Eps1), tiny)
	if weight.Dims() < 2 {
		v := elems[F](s[0].Data)
		for i, d := range g {
			v[i] += take * (d*d - v[i])
			g[i] = d / sqrt(max(v[i], floor))
		}
	} else {
		shape := weight.Shape()
		rows, cols := shape[len(shape)-2], shape[len(shape)-1]
		row, col := elems[F](s[0].Data), elems[F](s[1].Data)
		for at := 0; at < len(w)/(rows*cols); at++ {
			block := g[at*rows*cols:][:rows*cols]
			factor(block, row[at*rows:][:rows], col[at*cols:][:cols], take, eps, floor)
		}
	}
	step := F(rate / max(1, rms(g)/r.Clip))
	for i, u := range g {
		w[i] = w[i]*keep - step*u
	}
}

// factor updates the statistics of one matrix and divides its gradient by the
// square root of the mean square that they estimate.
func factor[F float](g, row, col []F, take, eps, floor F) {
	rows, cols := len(row), len(col)
	for j := range col {
		col[j] *= 1 - take
	}
	var mean F
	for i := range row {
		var sum F
		line := g[i*cols:][:cols]
		for j, d := range line {
			sum += d * d
			col[j] += take * d * d / F(rows)
		}
		row[i] += take * (sum/F(cols) - row[i])
		mean += row[i]
	}
	mean = max(mean/F(rows), eps)
	for i, v := range row {
		line := g[i*cols:][:cols]
		for j := range line {
			line[j] /= sqrt(max(v*col[j]/mean, floor))
		}
	}
}

// rms returns the root mean square of x, summed in float64.
func rms[F float](x []F) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(x)))
}

package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gorgonia.org/tensor"
)

// MixUp blends each sample with another random one of the set, with weights λ and 1−λ (Zhang et al., 2018); λ is drawn
// from Beta(Alpha, Alpha). The class becomes a float32 vector of these weights, for a loss with soft targets. With
// CutMix a rectangle of the other sample, with the fraction 1−λ of the area, is pasted instead (Yun et al., 2019);
// inputs are then [channels, height, width].
type MixUp struct {
	Classes int     // number of classes; required
	Alpha   float64 // parameter of the Beta distribution; 0: 0.2, with CutMix 1
	CutMix  bool
}

// Of returns s with mixing. Its samples have one float32 input and one class. Read without randomness (a nil r),
// samples are not mixed; their class is a one-hot vector.
func (m MixUp) Of(s Dataset[Sample]) Dataset[Sample] { return mixed{s, m} }

type mixed struct {
	from Dataset[Sample]
	MixUp
}

func (m mixed) Len() int { return m.from.Len() }

func (m mixed) At(i int, r *rand.Rand) (Sample, error) {
	if err := m.check(); err != nil {
		return Sample{}, err
	}
	a, class, err := m.one(i, r)
	if err != nil {
		return Sample{}, err
	}
	x := slices.Clone(a.Float32s())
	y := make([]float32, m.Classes)
	y[class] = 1
	if r != nil {
		b, other, err := m.one(r.IntN(m.from.Len()), r)
		if err != nil {
			return Sample{}, err
		}
		if !slices.Equal(a.Shape(), b.Shape()) {
			return Sample{}, fmt.Errorf("data: mix-up: shapes %v and %v differ", a.Shape(), b.Shape())
		}
		keep := beta(m.alpha(), r)
		if m.CutMix {
			keep = paste(x, b.Float32s(), a.Shape(), keep, r)
		} else {
			for k, v := range b.Float32s() {
				x[k] = float32(keep)*x[k] + float32(1-keep)*v
			}
		}
		y[class] = float32(keep)
		y[other] += float32(1 - keep)
	}
	return Sample{
		X: []*tensor.Dense{tensor.New(tensor.WithShape(a.Shape()...), tensor.WithBacking(x))},
		Y: []*tensor.Dense{tensor.New(tensor.WithShape(m.Classes), tensor.WithBacking(y))},
	}, nil
}

// check returns an error for invalid settings.
func (m MixUp) check() error {
	switch {
	case m.Classes < 1:
		return fmt.Errorf("data: mix-up: Classes is %d: want the number of classes", m.Classes)
	case !(m.Alpha >= 0) || math.IsInf(m.Alpha, 0):
		return fmt.Errorf("data: mix-up: Alpha is %v: want a finite number, 0 or more", m.Alpha)
	}
	return nil
}

func (m MixUp) alpha() float64 {
	switch {
	case m.Alpha > 0:
		return m.Alpha
	case m.CutMix:
		return 1
	}
	return 0.2
}

// one returns the input and the class of sample i.
func (m mixed) one(i int, r *rand.Rand) (*tensor.Dense, int, error) {
	s, err := m.from.At(i, r)
	if err != nil {
		return nil, 0, err
	}
	if len(s.X) != 1 || len(s.Y) != 1 || s.X[0].Dtype() != tensor.Float32 || s.Y[0].Dtype() != tensor.Int64 || elements(s.Y[0].Shape()) != 1 || !contiguous(s.X[0]) {
		return nil, 0, fmt.Errorf("data: mix-up: sample %d is not one float32 input and one int64 class", i)
	}
	if m.CutMix && s.X[0].Dims() != 3 {
		return nil, 0, fmt.Errorf("data: mix-up: sample %d has shape %v, want [channels, height, width] to cut from", i, s.X[0].Shape())
	}
	class := s.Y[0].Int64s()[0]
	if class < 0 || class >= int64(m.Classes) {
		return nil, 0, fmt.Errorf("data: mix-up: sample %d is of class %d, want 0 to %d", i, class, m.Classes-1)
	}
	return s.X[0], int(class), nil
}

// paste copies a random rectangle of from, with the fraction 1−keep of the area, to x. It
// returns the fraction of x that remains, which may be larger than keep because the rectangle is clipped.
func paste(x, from []float32, shape []int, keep float64, r *rand.Rand) float64 {
	h, w := shape[1], shape[2]
	if h == 0 || w == 0 {
		return 1
	}
	side := math.Sqrt(1 - keep)
	ch, cw := int(side*float64(h)), int(side*float64(w))
	cy, cx := r.IntN(h), r.IntN(w)
	top, bottom := max(cy-ch/2, 0), min(cy-ch/2+ch, h)
	left, right := max(cx-cw/2, 0), min(cx-cw/2+cw, w)
	for c := range shape[0] {
		for y := top; y < bottom; y++ {
			line := (c*h + y) * w
			copy(x[line+left:line+right], from[line+left:line+right])
		}
	}
	return 1 - float64((bottom-top)*(right-left))/float64(h*w)
}

// beta draws from Beta(a, a), as the ratio of a gamma variate to the sum of two. It uses
// their logarithms, since for a small a the variates underflow float64.
func beta(a float64, r *rand.Rand) float64 {
	return 1 / (1 + math.Exp(logGamma(a, r)-logGamma(a, r)))
}

// logGamma draws the logarithm of a Gamma(a, 1) variate (Marsaglia and Tsang,
// 2000; for shapes below 1 from shape a+1).
func logGamma(a float64, r *rand.Rand) float64 {
	boost := 0.0
	if a < 1 {
		boost = math.Log(1-r.Float64()) / a
		a++
	}
	d := a - 1.0/3
	for {
		x := r.NormFloat64()
		v := 1 + x/math.Sqrt(9*d)
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return math.Log(d*v) + boost
		}
	}
}

package recurrent

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// roundedReference is an LSTM to whose hidden states before each step something is added when R multiplies them: offsets,
// [Seq][Batch][Hidden], or, if these are nil, the errors of rounding, which it returns.
func roundedReference(s *RNNShape, d *RNNData[float64], offsets [][][]float64) (*RNNData[float64], [][][]float64) {
	hid := s.Hidden
	r := *d
	r.Y, r.YH, r.YC = make([]float64, len(d.Y)), make([]float64, s.Batch*hid), make([]float64, s.Batch*hid)
	copy(r.YH, d.H0)
	copy(r.YC, d.C0)
	count := slices.Clone(r.YH) // what counts for the scale: 0 after the end
	var made [][][]float64
	for step := range s.Seq {
		lo, hi := min(0, slices.Min(count)), max(0, slices.Max(count))
		scale, errors := (hi-lo)/255, make([][]float64, s.Batch)
		for n := range s.Batch {
			h, c := r.YH[n*hid:][:hid], r.YC[n*hid:][:hid]
			length := s.Seq
			if s.Lens != nil {
				length = s.Lens[n]
			}
			if step >= length {
				clear(count[n*hid:][:hid])
				continue
			}
			t := step
			if s.Reverse {
				t = length - 1 - step
			}
			factor := slices.Clone(h)
			for q := range factor {
				if offsets != nil {
					factor[q] += offsets[step][n][q]
				} else if scale > 0 {
					zero := math.RoundToEven(-lo / scale)
					level := min(max(math.RoundToEven(h[q]/scale)+zero, 0), 255)
					factor[q] = (level - zero) * scale
				}
				errors[n] = append(errors[n], factor[q]-h[q])
			}
			h1, c1 := lstmFormula(s, d, d.X[(t*s.Batch+n)*s.Input:][:s.Input], factor, c)
			copy(h, h1)
			copy(c, c1)
			copy(count[n*hid:], h1)
			copy(r.Y[t*s.yStride()+n*hid:], h1)
		}
		made = append(made, errors)
	}
	return &r, made
}

// TestRounded compares with the formula; gradients are those of the LSTM to whose states the errors of rounding are added
// as constants.
func TestRounded(t *testing.T) {
	for name, p := range kerneltest.Pools(t) {
		for j, s := range recurrentShapes(t) {
			for _, rich := range []bool{false, true} {
				what := fmt.Sprint(name, " ", j, " ", rich)
				s.Rounded = true
				d := recurrentData(&cells[0], &s, rich)
				want, errors := roundedReference(&s, d, nil)
				LSTM(p, &s, d, nil)
				kerneltest.Near(t, what+" Y", d.Y, want.Y, 1e-12)
				kerneltest.Near(t, what+" YH", d.YH, want.YH, 1e-12)
				kerneltest.Near(t, what+" YC", d.YC, want.YC, 1e-12)
				g := &RNNGrads[float64]{
					DY: kerneltest.Random[float64](len(d.Y), 11), DYH: kerneltest.Random[float64](len(d.YH), 12), DYC: kerneltest.Random[float64](len(d.YC), 13),
					DX: make([]float64, len(d.X)), DW: make([]float64, len(d.W)), DR: make([]float64, len(d.R)),
					DH0: make([]float64, s.Batch*s.Hidden), DC0: make([]float64, s.Batch*s.Hidden),
					DB: make([]float64, len(d.B)), DP: make([]float64, len(d.P)),
				}
				if !rich {
					g.DB, g.DP = nil, nil
				}
				LSTMGrad(p, &s, d, g, nil)
				loss := func() float64 {
					e, _ := roundedReference(&s, d, errors)
					total := kerneltest.Weighted(e.YH, g.DYH) + kerneltest.Weighted(e.YC, g.DYC)
					for t := range s.Seq {
						at := t * s.yStride()
						total += kerneltest.Weighted(e.Y[at:][:s.Batch*s.Hidden], g.DY[at:])
					}
					return total
				}
				for _, v := range []struct {
					name string
					x, g []float64
				}{{"X", d.X, g.DX}, {"W", d.W, g.DW}, {"R", d.R, g.DR}, {"B", d.B, g.DB}, {"P", d.P, g.DP}, {"H0", d.H0, g.DH0}, {"C0", d.C0, g.DC0}} {
					kerneltest.Slope(t, what+" "+v.name, v.x, v.g, loss)
				}
			}
		}
	}
}

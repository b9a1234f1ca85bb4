package recurrent

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// cellCase is a recurrent operator under test.
type cellCase struct {
	name    string
	gates   int
	run     func(p *kernel.Pool, s *RNNShape, d *RNNData[float64], scratch func(n int) []float64)
	grad    func(p *kernel.Pool, s *RNNShape, d *RNNData[float64], g *RNNGrads[float64], scratch func(n int) []float64)
	run32   func(p *kernel.Pool, s *RNNShape, d *RNNData[float32], scratch func(n int) []float32)
	reserve func(s *RNNShape) int
	// step is the operator's formula for one batch element: x projections wx and
	// recurrent ones through rec(gate, h), new state from the old.
	step func(s *RNNShape, d *RNNData[float64], x, h, c []float64) (h1, c1 []float64)
}

var cells = []cellCase{
	{"LSTM", 4, LSTM[float64], LSTMGrad[float64], LSTM[float32], LSTMReserve, lstmFormula},
	{"GRU", 3, GRU[float64], GRUGrad[float64], GRU[float32], GRUReserve, gruFormula},
	{"RNN", 1, RNN[float64], RNNGrad[float64], RNN[float32], RNNReserve, rnnFormula},
}

func value(a elementwise.Activation, kind elementwise.ActivationKind, clip, x float64) float64 {
	if clip > 0 {
		x = max(-clip, min(clip, x))
	}
	v := []float64{x}
	elementwise.Apply(a.Or(kind), v)
	return v[0]
}

// linearRow returns x·W[row] + b: one row of one gate.
func linearRow(w, b, x []float64, row int) float64 {
	s := 0.0
	for i, v := range x {
		s += w[row*len(x)+i] * v
	}
	if b != nil {
		s += b[row]
	}
	return s
}

func halves(b []float64) (wb, rb []float64) {
	if b == nil {
		return nil, nil
	}
	return b[:len(b)/2], b[len(b)/2:]
}

func lstmFormula(s *RNNShape, d *RNNData[float64], x, h, c []float64) (h1, c1 []float64) {
	hid := s.Hidden
	wb, rb := halves(d.B)
	peep := func(gate, q int, c []float64) float64 {
		if d.P == nil {
			return 0
		}
		return d.P[gate*hid+q] * c[q]
	}
	pre := func(gate, q int) float64 {
		return linearRow(d.W, wb, x, gate*hid+q) + linearRow(d.R, rb, h, gate*hid+q)
	}
	h1, c1 = make([]float64, hid), make([]float64, hid)
	for q := range hid {
		i := value(s.Act[0], elementwise.ActSigmoid, s.Clip, pre(0, q)+peep(0, q, c))
		f := value(s.Act[0], elementwise.ActSigmoid, s.Clip, pre(2, q)+peep(2, q, c))
		if s.InputForget {
			f = 1 - i
		}
		g := value(s.Act[1], elementwise.ActTanh, s.Clip, pre(3, q))
		c1[q] = f*c[q] + i*g
		o := value(s.Act[0], elementwise.ActSigmoid, s.Clip, pre(1, q)+peep(1, q, c1))
		h1[q] = o * value(s.Act[2], elementwise.ActTanh, 0, c1[q])
	}
	return h1, c1
}

func gruFormula(s *RNNShape, d *RNNData[float64], x, h, c []float64) (h1, c1 []float64) {
	hid := s.Hidden
	wb, rb := halves(d.B)
	z, r, rh, h1 := make([]float64, hid), make([]float64, hid), make([]float64, hid), make([]float64, hid)
	for q := range hid {
		z[q] = value(s.Act[0], elementwise.ActSigmoid, s.Clip, linearRow(d.W, wb, x, q)+linearRow(d.R, rb, h, q))
		r[q] = value(s.Act[0], elementwise.ActSigmoid, s.Clip, linearRow(d.W, wb, x, hid+q)+linearRow(d.R, rb, h, hid+q))
		rh[q] = r[q] * h[q]
	}
	for q := range hid {
		a := linearRow(d.W, wb, x, 2*hid+q)
		if s.LinearBeforeReset {
			a += r[q] * linearRow(d.R, rb, h, 2*hid+q)
		} else {
			a += linearRow(d.R, rb, rh, 2*hid+q)
		}
		h1[q] = (1-z[q])*value(s.Act[1], elementwise.ActTanh, s.Clip, a) + z[q]*h[q]
	}
	return h1, c
}

func rnnFormula(s *RNNShape, d *RNNData[float64], x, h, c []float64) (h1, c1 []float64) {
	wb, rb := halves(d.B)
	h1 = make([]float64, s.Hidden)
	for q := range h1 {
		h1[q] = value(s.Act[0], elementwise.ActTanh, s.Clip, linearRow(d.W, wb, x, q)+linearRow(d.R, rb, h, q))
	}
	return h1, c
}

// recurrentReference fills Y, YH and YC of a copy of d by the formula.
func recurrentReference(c *cellCase, s *RNNShape, d *RNNData[float64]) *RNNData[float64] {
	hid := s.Hidden
	r := *d
	r.Y, r.YH, r.YC = make([]float64, len(d.Y)), make([]float64, s.Batch*hid), make([]float64, s.Batch*hid)
	for n := range s.Batch {
		h, cell := make([]float64, hid), make([]float64, hid)
		if d.H0 != nil {
			copy(h, d.H0[n*hid:])
		}
		if d.C0 != nil {
			copy(cell, d.C0[n*hid:])
		}
		length := s.Seq
		if s.Lens != nil {
			length = s.Lens[n]
		}
		for step := range length {
			t := step
			if s.Reverse {
				t = length - 1 - step
			}
			h, cell = c.step(s, d, d.X[(t*s.Batch+n)*s.Input:][:s.Input], h, cell)
			copy(r.Y[t*s.yStride()+n*hid:][:hid], h)
		}
		copy(r.YH[n*hid:], h)
		copy(r.YC[n*hid:], cell)
	}
	return &r
}

func act(t *testing.T, names ...string) (a [3]elementwise.Activation) {
	for i, n := range names {
		var ok bool
		if a[i], ok = elementwise.ActivationByName(n); !ok {
			t.Fatalf("no activation %q", n)
		}
	}
	return a
}

func recurrentShapes(t *testing.T) []RNNShape {
	return []RNNShape{
		{Seq: 4, Batch: 3, Input: 5, Hidden: 7},
		{Seq: 5, Batch: 2, Input: 3, Hidden: 17, Reverse: true, LinearBeforeReset: true},
		{Seq: 5, Batch: 4, Input: 3, Hidden: 6, Lens: []int{5, 2, 0, 3}},
		{Seq: 5, Batch: 4, Input: 3, Hidden: 6, Lens: []int{5, 2, 1, 3}, Reverse: true, LinearBeforeReset: true},
		{Seq: 3, Batch: 2, Input: 2, Hidden: 5, Clip: 0.4, InputForget: true, YStride: 20},
		{Seq: 3, Batch: 2, Input: 2, Hidden: 5, Act: act(t, "HardSigmoid", "Softsign", "Elu")},
		{Seq: 3, Batch: 2, Input: 2, Hidden: 5, Act: act(t, "softplus", "ScaledTanh", "affine"), LinearBeforeReset: true},
		{Seq: 3, Batch: 2, Input: 2, Hidden: 5, Act: act(t, "leakyrelu", "relu", "ThresholdedRelu")},
		{Seq: 0, Batch: 2, Input: 2, Hidden: 5},
		{Seq: 3, Batch: 19, Input: 2, Hidden: 5, LinearBeforeReset: true}, // enough for each thread to take some
		{Seq: 3, Batch: 9, Input: 2, Hidden: 4, Lens: []int{1, 2, 3, 0, 3, 2, 2, 1, 3}, Reverse: true},
	}
}

func recurrentData(c *cellCase, s *RNNShape, rich bool) *RNNData[float64] {
	hid, g := s.Hidden, c.gates
	d := &RNNData[float64]{
		X: kerneltest.Random[float64](s.rows()*s.Input, 1), W: kerneltest.Random[float64](g*hid*s.Input, 2), R: kerneltest.Random[float64](g*hid*hid, 3),
		Y: make([]float64, s.Seq*s.yStride()), YH: make([]float64, s.Batch*hid), Reserve: make([]float64, c.reserve(s)),
	}
	for i := range d.R {
		d.R[i] *= 0.4
	}
	if rich {
		d.B, d.H0 = kerneltest.Random[float64](2*g*hid, 4), kerneltest.Random[float64](s.Batch*hid, 5)
	}
	if g == 4 {
		d.YC = make([]float64, s.Batch*hid)
		if rich {
			d.C0, d.P = kerneltest.Random[float64](s.Batch*hid, 6), kerneltest.Random[float64](3*hid, 7)
		}
	}
	return d
}

func eachRecurrent(t *testing.T, f func(what string, p *kernel.Pool, c *cellCase, s *RNNShape, d *RNNData[float64])) {
	for name, p := range kerneltest.Pools(t) {
		for i := range cells {
			for j, s := range recurrentShapes(t) {
				for _, rich := range []bool{false, true} {
					f(fmt.Sprint(name, " ", cells[i].name, " ", j, " ", rich), p, &cells[i], &s, recurrentData(&cells[i], &s, rich))
				}
			}
		}
	}
}

func TestRecurrent(t *testing.T) {
	eachRecurrent(t, func(what string, p *kernel.Pool, c *cellCase, s *RNNShape, d *RNNData[float64]) {
		want := recurrentReference(c, s, d)
		c.run(p, s, d, nil)
		kerneltest.Near(t, what+" Y", d.Y, want.Y, 1e-12)
		kerneltest.Near(t, what+" YH", d.YH, want.YH, 1e-12)
		if c.gates == 4 {
			kerneltest.Near(t, what+" YC", d.YC, want.YC, 1e-12)
		}
		d32 := &RNNData[float32]{X: kerneltest.Narrow(d.X), W: kerneltest.Narrow(d.W), R: kerneltest.Narrow(d.R), Y: make([]float32, len(d.Y)), YH: make([]float32, len(d.YH))}
		for _, v := range []struct {
			to   *[]float32
			from []float64
		}{{&d32.B, d.B}, {&d32.P, d.P}, {&d32.H0, d.H0}, {&d32.C0, d.C0}} {
			if v.from != nil {
				*v.to = kerneltest.Narrow(v.from)
			}
		}
		c.run32(p, s, d32, nil)
		kerneltest.Near(t, what+" Y float32", kerneltest.Wide(d32.Y), want.Y, 1e-4)
	})
}

func TestRecurrentGrad(t *testing.T) {
	eachRecurrent(t, func(what string, p *kernel.Pool, c *cellCase, s *RNNShape, d *RNNData[float64]) {
		g := &RNNGrads[float64]{
			DY: kerneltest.Random[float64](len(d.Y), 11), DYH: kerneltest.Random[float64](len(d.YH), 12), DYC: kerneltest.Random[float64](len(d.YC), 13),
			DX: make([]float64, len(d.X)), DW: make([]float64, len(d.W)), DR: make([]float64, len(d.R)),
			DH0: make([]float64, s.Batch*s.Hidden), DC0: make([]float64, s.Batch*s.Hidden),
		}
		if d.B != nil {
			g.DB = make([]float64, len(d.B))
		}
		if d.P != nil {
			g.DP = make([]float64, len(d.P))
		}
		c.run(p, s, d, nil)
		c.grad(p, s, d, g, nil)
		loss := func() float64 {
			e := *d
			e.Reserve = nil
			c.run(nil, s, &e, nil)
			total := kerneltest.Weighted(e.YH, g.DYH) + kerneltest.Weighted(e.YC, g.DYC)
			for t := range s.Seq { // only this direction's part of Y counts
				at := t * s.yStride()
				total += kerneltest.Weighted(e.Y[at:][:s.Batch*s.Hidden], g.DY[at:])
			}
			return total
		}
		kerneltest.Slope(t, what+" X", d.X, g.DX, loss)
		kerneltest.Slope(t, what+" W", d.W, g.DW, loss)
		kerneltest.Slope(t, what+" R", d.R, g.DR, loss)
		kerneltest.Slope(t, what+" B", d.B, g.DB, loss)
		kerneltest.Slope(t, what+" P", d.P, g.DP, loss)
		kerneltest.Slope(t, what+" H0", d.H0, g.DH0, loss)
		kerneltest.Slope(t, what+" C0", d.C0, g.DC0, loss)
	})
}

func TestActivationDerivatives(t *testing.T) {
	for _, name := range []string{"Tanh", "Sigmoid", "Relu", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus"} {
		a := act(t, name)[0]
		if name == "ScaledTanh" {
			a.Alpha, a.Beta = 1.7, 0.6
		}
		for _, x := range []float64{-3, -1.3, -0.2, 0.4, 1.2, 2.9} {
			const eps = 1e-6
			v := []float64{x - eps, x, x + eps}
			elementwise.Apply(a, v)
			d := []float64{1}
			elementwise.TimesSlopeAt(a, v[1:2], d)
			if want := (v[2] - v[0]) / (2 * eps); math.Abs(d[0]-want) > 1e-7 {
				t.Errorf("%s'(%v) = %v, want %v", name, x, d[0], want)
			}
		}
	}
	if _, ok := elementwise.ActivationByName("nothing"); ok {
		t.Error("an unknown activation was found")
	}
}

func BenchmarkLSTM(b *testing.B) {
	s := &RNNShape{Seq: 32, Batch: 32, Input: 128, Hidden: 128}
	n := s.Batch * s.Hidden
	d := &RNNData[float32]{
		X: kerneltest.Random[float32](s.rows()*s.Input, 1), W: kerneltest.Random[float32](4*s.Hidden*s.Input, 2), R: kerneltest.Random[float32](4*s.Hidden*s.Hidden, 3),
		B: kerneltest.Random[float32](8*s.Hidden, 4), Y: make([]float32, s.Seq*n), Reserve: make([]float32, LSTMReserve(s)),
	}
	elementwise.Scale(nil, 0.08, d.W, d.W)
	elementwise.Scale(nil, 0.08, d.R, d.R)
	g := &RNNGrads[float32]{
		DY: kerneltest.Random[float32](len(d.Y), 5), DX: make([]float32, len(d.X)), DW: make([]float32, len(d.W)), DR: make([]float32, len(d.R)), DB: make([]float32, len(d.B)),
	}
	arena := make([]float32, 1<<22)
	flop := 2 * float64(s.rows()) * 4 * float64(s.Hidden) * float64(s.Input+s.Hidden)
	for _, threads := range []int{1, 2} {
		p := kernel.NewPool(threads)
		defer p.Close()
		b.Run(fmt.Sprintf("threads=%d/forward", threads), func(b *testing.B) {
			for b.Loop() {
				free := arena
				LSTM(p, s, d, func(n int) []float32 { s := free[:n:n]; free = free[n:]; return s })
			}
			b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
		b.Run(fmt.Sprintf("threads=%d/gradient", threads), func(b *testing.B) {
			for b.Loop() {
				free := arena
				LSTMGrad(p, s, d, g, func(n int) []float32 { s := free[:n:n]; free = free[n:]; return s })
			}
			b.ReportMetric(2*flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func TestRecurrentEmptyBatch(t *testing.T) {
	for _, c := range cells {
		s := &RNNShape{Seq: 2, Input: 3, Hidden: 4}
		d := &RNNData[float64]{W: make([]float64, c.gates*12), R: make([]float64, c.gates*16)}
		c.run(nil, s, d, nil)
	}
}

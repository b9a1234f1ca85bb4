package norm

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// TestFusedBatchNorm compares the passes that do several things with those things one by one.
func TestFusedBatchNorm(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	for _, s := range []struct{ n, c, space int }{{9, 3, 1}, {3, 2, 9}, {2, 5, 31}, {8, 3, 64}, {2, 2, 77}, {1, 3, 5000}} {
		for _, act := range []elementwise.Activation{{}, {Kind: elementwise.ActRelu}, {Kind: elementwise.ActClip, Alpha: -0.5, Beta: 0.75}, {Kind: elementwise.ActTanh}} {
			for _, residual := range []bool{false, true} {
				fusedBatchNorm(t, r, s.n, s.c, s.space, act, residual)
			}
		}
	}
}

func fusedBatchNorm(t *testing.T, r *rand.Rand, n, c, space int, act elementwise.Activation, residual bool) {
	t.Helper()
	draw := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64()) + 3
		}
		return x
	}
	size := n * c * space
	x, dy, scale, bias, add := draw(size), draw(size), draw(c), draw(c), draw(size)
	const eps = 1e-5
	e := elementwise.Epilogue[float32]{Act: act}
	if residual {
		e.Add = add
	}
	wide := func(x []float32) []float64 {
		w := make([]float64, len(x))
		for i, v := range x {
			w[i] = float64(v)
		}
		return w
	}
	want, mean, variance := make([]float64, size), make([]float64, c), make([]float64, c)
	ChannelMoments(nil, n, c, space, wide(x), mean, variance)
	BatchNorm(nil, n, c, space, eps, wide(x), wide(scale), wide(bias), mean, variance, want)
	if residual {
		elementwise.Add(nil, want, want, wide(add))
	}
	elementwise.Activate(act, want)
	got, m, v := make([]float32, size), make([]float32, c), make([]float32, c)
	BatchNormTrain(nil, n, c, space, eps, x, scale, bias, e, m, v, got)
	agreeWith(t, "y", got, want)
	agreeWith(t, "mean", m, mean)
	agreeWith(t, "variance", v, variance)
	again := make([]float32, size)
	BatchNormRematerialize(nil, n, c, space, eps, x, scale, bias, e, m, v, again)
	if !slices.Equal(again, got) {
		t.Error("the second time y is another")
	}

	lo, hi, _ := e.Limits()
	if act.Kind == elementwise.ActTanh {
		return
	}
	masked, narrow := make([]float64, size), make([]float32, size)
	for i, y := range want {
		if float32(y) > lo && float32(y) < hi {
			masked[i] = float64(dy[i])
		}
		narrow[i] = float32(y)
	}
	for _, train := range []bool{true, false} {
		dx, ds, db := make([]float64, size), make([]float64, c), make([]float64, c)
		BatchNormGrad(nil, n, c, space, eps, train, wide(x), masked, Gate[float64]{}, wide(scale), mean, variance, dx, ds, db)
		gate := Gate[float32]{narrow, math.Nextafter32(lo, float32(math.Inf(1))), math.Nextafter32(hi, float32(math.Inf(-1)))}
		gotX, gotS, gotB := make([]float32, size), make([]float32, c), make([]float32, c)
		BatchNormGrad(nil, n, c, space, eps, train, x, dy, gate, scale, m, v, gotX, gotS, gotB)
		agreeWith(t, "dx", gotX, dx)
		agreeWith(t, "dscale", gotS, ds, float64(n*space))
		agreeWith(t, "dbias", gotB, db, float64(n*space))
	}
}

// agreeWith allows float32's error relative to the largest element, or to the number of terms of a sum.
func agreeWith(t *testing.T, what string, got []float32, want []float64, terms ...float64) {
	t.Helper()
	size := slices.Max(append(terms, 1))
	for _, w := range want {
		size = max(size, math.Abs(w))
	}
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= 3e-5*size) {
			t.Fatalf("%s[%d] of %d: got %v, want %v", what, i, len(want), got[i], w)
		}
	}
}

// TestPlaneMoments: the first element says nothing about the others.
func TestPlaneMoments(t *testing.T) {
	x := make([]float32, 3*40)
	for i := range x {
		x[i] = 1000 + float32(i%7)
	}
	x[0] = 0
	var s, sq float64
	for _, v := range x {
		s += float64(v)
	}
	for _, v := range x {
		sq += (float64(v) - s/120) * (float64(v) - s/120)
	}
	mean, variance := make([]float32, 1), make([]float32, 1)
	ChannelMoments(nil, 3, 1, 40, x, mean, variance)
	if math.Abs(float64(mean[0])-s/120) > 1e-3 || math.Abs(float64(variance[0])/(sq/120)-1) > 1e-5 {
		t.Errorf("got %v and %v, want %v and %v", mean[0], variance[0], s/120, sq/120)
	}
	x[0] = 1003
	for i := range x {
		x[i] = 1003
	}
	if ChannelMoments(nil, 3, 1, 40, x, mean, variance); mean[0] != 1003 || variance[0] != 0 {
		t.Errorf("of equal numbers: got %v and %v", mean[0], variance[0])
	}
	x[7] = float32(math.NaN())
	if ChannelMoments(nil, 3, 1, 40, x, mean, variance); mean[0] == mean[0] || variance[0] == variance[0] {
		t.Errorf("with NaN: got %v and %v", mean[0], variance[0])
	}
}

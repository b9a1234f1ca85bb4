package softmax

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
)

// TestAttention compares with the definition in float64, on tiles with rests and heads that are
// apart, forward and backward.
func TestAttention(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {5, 7, 3}, {13, 40, 16}, {128, 128, 64}, {70, 1100, 8}} {
		for _, rowsFirst := range []bool{false, true} {
			t.Run(fmt.Sprint(size, rowsFirst), func(t *testing.T) {
				a := Attention{Batch: 2, Heads: 3, Rows: size[0], Keys: size[1], Depth: size[2], Width: size[2] + 1, Scale: 0.3, Mask: [4]int{0, 0, 0, 1}}
				place := func(rows, features int) HeadStrides {
					if rowsFirst {
						return HeadStrides{rows * a.Heads * features, features, a.Heads * features}
					}
					return HeadStrides{a.Heads * rows * features, rows * features, features}
				}
				a.Q, a.K, a.V, a.Y = place(a.Rows, a.Depth), place(a.Keys, a.Depth), place(a.Keys, a.Width), place(a.Rows, a.Width)
				want, want64 := attentionRun[float64](&a, nil), attentionByDefinition(&a)
				got := attentionRun[float32](&a, kernel.NewPool(2))
				for i, name := range []string{"y", "dq", "dk", "dv"} {
					if i == 0 {
						compareAttention(t, name+" in float64", want[i], want64, 1e-12)
					}
					compareAttention(t, name, got[i], want[i], 2e-5)
				}
			})
		}
	}
}

func attentionData[T kernel.Float](n int, seed uint64) []T {
	r := rand.New(rand.NewPCG(seed, 7))
	v := make([]T, n)
	for i := range v {
		v[i] = T(float32(r.NormFloat64()))
	}
	return v
}

// attentionRun gives y and the gradients for fixed inputs.
func attentionRun[T kernel.Float](a *Attention, p *kernel.Pool) [4][]float64 {
	heads := a.Batch * a.Heads
	q, k, v := attentionData[T](heads*a.Rows*a.Depth, 1), attentionData[T](heads*a.Keys*a.Depth, 2), attentionData[T](heads*a.Keys*a.Width, 3)
	dy, mask := attentionData[T](heads*a.Rows*a.Width, 4), attentionData[T](a.Keys, 5)
	y, again, prob := make([]T, len(dy)), make([]T, len(dy)), make([]T, heads*a.Rows*a.Keys)
	AttentionForward(p, a, q, k, v, mask, y, prob)
	AttentionForward(p, a, q, k, v, mask, again, nil)
	dq, dk, dv := make([]T, len(q)), make([]T, len(k)), make([]T, len(v))
	AttentionBackward(p, a, dy, q, k, v, prob, dq, dk, dv, nil)
	for i := range y {
		if y[i] != again[i] {
			again[i] = T(math.NaN()) // keeping the probabilities must change nothing
		}
	}
	var out [4][]float64
	for i, s := range [][]T{again, dq, dk, dv} {
		for _, x := range s {
			out[i] = append(out[i], float64(x))
		}
	}
	return out
}

func attentionByDefinition(a *Attention) []float64 {
	heads := a.Batch * a.Heads
	q, k, v := attentionData[float64](heads*a.Rows*a.Depth, 1), attentionData[float64](heads*a.Keys*a.Depth, 2), attentionData[float64](heads*a.Keys*a.Width, 3)
	mask, y := attentionData[float64](a.Keys, 5), make([]float64, heads*a.Rows*a.Width)
	p := make([]float64, a.Keys)
	for b := range a.Batch {
		for h := range a.Heads {
			for r := range a.Rows {
				total := 0.0
				for t := range p {
					s := 0.0
					for d := range a.Depth {
						s += q[a.Q.at(b, h)+r*a.Q.Row+d] * k[a.K.at(b, h)+t*a.K.Row+d]
					}
					p[t] = math.Exp(a.Scale*s + mask[t])
					total += p[t]
				}
				for e := range a.Width {
					for t, w := range p {
						y[a.Y.at(b, h)+r*a.Y.Row+e] += w / total * v[a.V.at(b, h)+t*a.V.Row+e]
					}
				}
			}
		}
	}
	return y
}

func compareAttention(t *testing.T, name string, got, want []float64, tol float64) {
	t.Helper()
	top := 0.0
	for _, v := range want {
		top = max(top, math.Abs(v))
	}
	for i, v := range want {
		if !(math.Abs(got[i]-v) <= tol*(1+top)) {
			t.Errorf("%s: element %d is %v, want %v", name, i, got[i], v)
			return
		}
	}
}

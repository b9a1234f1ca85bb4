package optim

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// TestVectorBits: vector instructions and the Go loops give the same bits. The
// Go loops are reached by updating fewer elements at a time than a vector has.
func TestVectorBits(t *testing.T) {
	if !simd {
		t.Skip("no vector instructions here")
	}
	const n = 8*5 + 3
	make32 := func(seed int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(math.Sin(float64(i*i+seed)) * math.Pow(10, float64(i%9-4)))
		}
		return v
	}
	one := func(v []float32) *tensor.Dense { return tensor.New(tensor.WithShape(len(v)), tensor.WithBacking(v)) }
	for _, r := range []Rule{
		SGD{LR: 0.3, Momentum: 0.9, Dampening: 0.2, WeightDecay: 0.1},
		Adam{LR: 0.1, WeightDecay: 0.1}, AdamW{LR: 0.1}, Adam{LR: 0.1, Eps: Off},
	} {
		whole, parts := make32(1), make32(1)
		ws, err := r.Init(one(whole))
		if err != nil {
			t.Fatal(err)
		}
		ps, err := r.Init(one(parts))
		if err != nil {
			t.Fatal(err)
		}
		for step := range 4 {
			g := make32(step + 2)
			h := Hyper{Rate: 0.7, Step: step}
			if err := r.Step(one(whole), one(slices.Clone(g)), ws, h); err != nil {
				t.Fatal(err)
			}
			for at := 0; at < n; at += 5 {
				to := min(at+5, n)
				s := slices.Clone(ps)
				for i := range s {
					s[i].Data = one(ps[i].Data.Float32s()[at:to])
				}
				if err := r.Step(one(parts[at:to]), one(g[at:to]), s, h); err != nil {
					t.Fatal(err)
				}
			}
			if i := differs(whole, parts); i >= 0 {
				t.Fatalf("%T step %d: weight %d is %v by vectors, %v by the loop", r, step, i, whole[i], parts[i])
			}
			for k := range ws {
				if i := differs(ws[k].Data.Float32s(), ps[k].Data.Float32s()); i >= 0 {
					t.Fatalf("%T step %d: %s differs at %d", r, step, ws[k].Name, i)
				}
			}
		}
	}
}

// differs returns the first place where the bits of a and b differ, or −1.
func differs(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return i
		}
	}
	return -1
}

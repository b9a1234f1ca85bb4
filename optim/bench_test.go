package optim_test

import (
	"testing"

	"gorgonia.org/tensor"
)

// BenchmarkStep measures one update of a million float32 weights.
func BenchmarkStep(b *testing.B) {
	const n = 1 << 20
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			w := dense(tensor.Float32, noise(n, 1), 1024, 1024)
			g := dense(tensor.Float32, noise(n, 2), 1024, 1024)
			s, err := c.rule.Init(w)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(4 * n)
			for b.Loop() {
				if err := c.rule.Step(w, g, s, hyper(9)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

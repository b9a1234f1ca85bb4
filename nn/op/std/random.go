package std

import (
	"math"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// Random numbers are counter-based: element i of an operator's stream is a hash of the key (seed
// and step, an input), the operator's number in the model, its seed attribute and i. Every way
// of running draws the same.

// streamKey mixes the key input with the number that identifies the operator.
func streamKey(c *op.Call, key *tensor.Dense, seed *uint64) uint64 {
	h := mix64(c.Stream + 0x9E3779B97F4A7C15)
	if seed != nil {
		h = mix64(h ^ *seed)
	}
	if key != nil {
		for _, k := range dtype.Slice[uint64](key) {
			h = mix64(h ^ k)
		}
	}
	return h
}

// mix64 returns the finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
func mix64(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// draw is number i of a stream.
func draw(key uint64, i int) uint64 { return mix64(key + uint64(i)*0xD1342543DE82EF95) }

// uniform is number i of a stream, in [0, 1).
func uniform(key uint64, i int) float64 { return float64(draw(key, i)>>11) / (1 << 53) }

// gauss is number i of a stream, normally distributed (Box and Muller, 1958).
func gauss(key uint64, i int) float64 {
	u, v := uniform(key, 2*i), uniform(key, 2*i+1)
	return math.Sqrt(-2*math.Log(1-u)) * math.Cos(2*math.Pi*v)
}

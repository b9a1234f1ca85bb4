package initial_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/nn/initial"
)

// Initializers draw with the mean and deviation that their formulas say, and within their bounds. The
// weight has 32·9 inputs and 64·9 outputs.
func TestInitializers(t *testing.T) {
	shape := []int{64, 32, 3, 3}
	const in, out = 32 * 9.0, 64 * 9.0
	flat := func(std float64) float64 { return std * math.Sqrt(3) } // bound of a uniform distribution
	for _, c := range []struct {
		name             string
		init             initial.Filler
		mean, std, bound float64 // bound 0: none
	}{
		{"Uniform", initial.Uniform{Low: 1, High: 3}, 2, 1 / math.Sqrt(3), 3},
		{"Normal", initial.Normal{Mean: 1, Std: 0.5}, 1, 0.5, 0},
		{"TruncatedNormal", initial.TruncatedNormal{Std: 0.1}, 0, 0.1 * 0.87963, 0.2}, // two deviations off are drawn again
		{"KaimingUniform", initial.KaimingUniform{}, 0, math.Sqrt(2 / in), flat(math.Sqrt(2 / in))},
		{"KaimingNormal", initial.KaimingNormal{}, 0, math.Sqrt(2 / in), 0},
		{"KaimingNormal with a gain", initial.KaimingNormal{Gain: 1}, 0, math.Sqrt(1 / in), 0},
		{"XavierUniform", initial.XavierUniform{}, 0, math.Sqrt(2 / (in + out)), flat(math.Sqrt(2 / (in + out)))},
		{"XavierNormal", initial.XavierNormal{}, 0, math.Sqrt(2 / (in + out)), 0},
		{"FanIn", initial.FanIn{}, 0, 1 / math.Sqrt(3*in), 1 / math.Sqrt(in)},
		{"BiasFanIn", initial.BiasFanIn{Fan: 25}, 0, 0.2 / math.Sqrt(3), 0.2},
	} {
		v := make([]float64, 64*32*9)
		c.init.Fill(v, shape, rand.New(rand.NewPCG(1, 2)))
		var sum, square, most float64
		for _, x := range v {
			sum += x
			square += (x - c.mean) * (x - c.mean)
			most = max(most, math.Abs(x))
		}
		n := float64(len(v))
		if mean := sum / n; !(math.Abs(mean-c.mean) <= 4*c.std/math.Sqrt(n)) { // or not a number
			t.Errorf("%s: the mean is %g, want %g", c.name, mean, c.mean)
		}
		if std := math.Sqrt(square / n); !(math.Abs(std/c.std-1) <= 0.02) {
			t.Errorf("%s: the deviation is %g, want %g", c.name, std, c.std)
		}
		if c.bound > 0 && (most > c.bound || most < 0.98*c.bound) {
			t.Errorf("%s: the largest is %g, want nearly %g", c.name, most, c.bound)
		}
	}
}

package initial_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/initial"
)

// TestInitializers checks that initializers draw with the documented mean and standard deviation, and
// within their bounds. The weight has 32·9 inputs and 64·9 outputs.
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

// TestMoments: where the mean is not zero, and where the zero value means a default, the formulas hold as well.
func TestMoments(t *testing.T) {
	for _, c := range []struct {
		name      string
		init      initial.Filler
		low, high float64 // of nearly all numbers drawn
		mean, std float64
	}{
		{"Normal", initial.Normal{Mean: 3}, -2, 8, 3, 1}, {"Normal of zero", initial.Normal{}, -5, 5, 0, 1},
		{"TruncatedNormal", initial.TruncatedNormal{Mean: 5}, 4.96, 5.04, 5, 0.02 * 0.87963}, {"TruncatedNormal of 2", initial.TruncatedNormal{Mean: -1, Std: 2}, -5, 3, -1, 2 * 0.87963},
		{"Uniform of zero", initial.Uniform{}, -1, 1, 0, 1 / math.Sqrt(3)}, {"Uniform from zero", initial.Uniform{High: 2}, 0, 2, 1, 1 / math.Sqrt(3)},
		{"Uniform to zero", initial.Uniform{Low: -4}, -4, 0, -2, 2 / math.Sqrt(3)}, {"BiasFanIn of none", initial.BiasFanIn{}, -1, 1, 0, 1 / math.Sqrt(3)},
	} {
		v := make([]float64, 20000)
		c.init.Fill(v, []int{len(v)}, rand.New(rand.NewPCG(3, 4)))
		var sum, square float64
		for _, x := range v {
			if x < c.low || x > c.high {
				t.Fatalf("%s: %g is not between %g and %g", c.name, x, c.low, c.high)
			}
			sum += x
			square += (x - c.mean) * (x - c.mean)
		}
		n := float64(len(v))
		if mean, std := sum/n, math.Sqrt(square/n); math.Abs(mean-c.mean) > 4*c.std/math.Sqrt(n) || math.Abs(std/c.std-1) > 0.03 {
			t.Errorf("%s: mean %g and deviation %g, want %g and %g", c.name, mean, std, c.mean, c.std)
		}
	}
}

// TestFilled: what is not drawn, element by element.
func TestFilled(t *testing.T) {
	counted := initial.FillerFunc(func(v []float64, shape []int, _ *rand.Rand) {
		for i := range v {
			v[i] = float64(100*shape[0] + i)
		}
	})
	for _, c := range []struct {
		name  string
		init  initial.Filler
		shape []int
		want  []float64
	}{
		{"Zeros", initial.Zeros{}, []int{2}, []float64{0, 0}}, {"Ones", initial.Ones{}, []int{2}, []float64{1, 1}}, {"Full", initial.Full{Value: 3}, []int{2}, []float64{3, 3}},
		{"Eye", initial.Eye{}, []int{2, 3}, []float64{1, 0, 0, 0, 1, 0}}, {"Eye upright", initial.Eye{}, []int{3, 2}, []float64{1, 0, 0, 1, 0, 0}}, {"Eye of a vector", initial.Eye{}, []int{2}, []float64{0, 0}},
		{"Transposed", initial.Transposed{Of: counted}, []int{2, 3}, []float64{300, 302, 304, 301, 303, 305}}, {"Transposed vector", initial.Transposed{Of: counted}, []int{2}, []float64{0, 0}},
		{"Values", initial.Values{Data: []float64{7, 8, 9}}, []int{2}, []float64{7, 8}},
		{"Dirac of a matrix", initial.Dirac{}, []int{2, 3}, []float64{1, 0, 0, 0, 1, 0}}, {"Dirac of a vector", initial.Dirac{}, []int{3}, []float64{0, 0, 0}},
		{"Dirac", initial.Dirac{}, []int{2, 2, 3}, []float64{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}},
		{"Dirac of even length", initial.Dirac{}, []int{1, 1, 2, 4}, []float64{0, 0, 0, 0, 0, 0, 1, 0}},
		{"Dirac of two axes", initial.Dirac{}, []int{1, 1, 3, 5}, []float64{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}},
		{"Dirac of groups", initial.Dirac{Groups: 2}, []int{4, 2, 1}, []float64{1, 0, 0, 1, 1, 0, 0, 1}},
		{"Dirac that widens", initial.Dirac{}, []int{3, 2, 1}, []float64{1, 0, 0, 1, 0, 0}},
		{"Dirac that narrows", initial.Dirac{}, []int{2, 3, 1}, []float64{1, 0, 0, 0, 1, 0}},
		{"Dirac of many groups", initial.Dirac{Groups: 3}, []int{6, 1, 1}, []float64{1, 0, 1, 0, 1, 0}},
	} {
		n := 1
		for _, k := range c.shape {
			n *= k
		}
		v := make([]float64, n)
		c.init.Fill(v, c.shape, nil)
		if !slices.Equal(v, c.want) {
			t.Errorf("%s: %v, want %v", c.name, v, c.want)
		}
	}
}

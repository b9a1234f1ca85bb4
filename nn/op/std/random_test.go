package std_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

func TestRandomOperators(t *testing.T) {
	x := optest.Rand(1, 3, 4)
	p := optest.Spread(1, 0.1, 0.9, 3, 4)
	optest.Run(t,
		optest.Case{Name: "normal", Config: std.RandomNormalConfig{Shape: []int{2, 3}, DType: dtype.Float64, Mean: 2, Scale: ptr(float32(3)), Seed: ptr(float32(1))}},
		optest.Case{Name: "uniform", Config: std.RandomUniformConfig{Shape: []int{2, 3}, Low: -1, High: ptr(float32(3)), Seed: ptr(float32(1))}},
		optest.Case{Name: "normal like", Config: std.RandomNormalLikeConfig{DType: dtype.Float64, Mean: 1, Scale: ptr(float32(2)), Seed: ptr(float32(1))}, In: []dtype.Value{x}},
		optest.Case{Name: "uniform like", Config: std.RandomUniformLikeConfig{DType: dtype.Float16, Low: 1, High: ptr(float32(2)), Seed: ptr(float32(1))}, In: []dtype.Value{x}},
		optest.Case{Name: "bernoulli", Config: std.BernoulliConfig{DType: dtype.Bool, Seed: ptr(float32(1))}, In: []dtype.Value{p}},
		optest.Case{Name: "bernoulli floats", Config: op.Plain("Bernoulli"), In: []dtype.Value{p}},
		optest.Case{Name: "multinomial", Config: std.MultinomialConfig{DType: dtype.Int64, SampleSize: 5, Seed: ptr(float32(2))}, In: []dtype.Value{x}},
	)
	optest.Fails(t, optest.Case{Config: std.RandomNormalConfig{Shape: []int{-1}}, Refusal: "shape [-1] has a negative dimension"})
	optest.Fails(t, optest.Case{Config: std.RandomNormalConfig{Shape: []int{1 << 40, 1 << 40}}, Refusal: "shape [1099511627776 1099511627776] has too many elements"})
	optest.Fails(t, optest.Case{Config: std.MultinomialConfig{DType: dtype.Float32}, In: []dtype.Value{x}, Refusal: "dtype is float32, want int32 or int64"})
}

// moments draws with a key and gives mean and variance.
func moments(t *testing.T, c optest.Case) (mean, variance float64) {
	t.Helper()
	out, err := optest.Forward(c)
	if err != nil {
		t.Fatal(err)
	}
	v, err := dtype.Float64s(out[0].(*tensor.Dense))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		variance += (x - mean) * (x - mean) / float64(len(v))
	}
	return mean, variance
}

func TestRandomMoments(t *testing.T) {
	logits := optest.Floats([]int{1, 2}, float32(math.Log(1)), float32(math.Log(3)))
	cases := []struct {
		c              optest.Case
		mean, variance float64
	}{
		{optest.Case{Config: std.RandomNormalConfig{Shape: []int{20000}, Mean: 2, Scale: ptr(float32(3))}}, 2, 9},
		{optest.Case{Config: std.RandomUniformConfig{Shape: []int{20000}, Low: 1, High: ptr(float32(4))}}, 2.5, 0.75},
		{optest.Case{Config: std.MultinomialConfig{SampleSize: 20000}, In: []dtype.Value{logits}}, 0.75, 0.1875},
	}
	for _, c := range cases {
		c.c.Key = [2]uint64{7, 9}
		m, v := moments(t, c.c)
		if math.Abs(m-c.mean) > 0.06 || math.Abs(v-c.variance) > 0.2 {
			t.Errorf("%T: mean %v, variance %v, want %v and %v", c.c.Config, m, v, c.mean, c.variance)
		}
	}
}

// TestStreams: numbers number 0 to 3 of the stream of the key (7, 9), by the formulas in random.go worked out in Python. Training that is
// resumed draws what it would have drawn.
func TestStreams(t *testing.T) {
	flat := []float64{0.21092364548096687, 0.6100149966286901, 0.8147457139636899, 0.3908269227244142}
	normal := []float64{-0.5303183060200063, -1.420967320198455, 1.3321538621040565, 1.1150884654599709}
	chances := optest.Tensor([]float64{0.21, 0.61, 0.82, 0.4}, 4)
	key := [2]uint64{7, 9}
	optest.Run(t,
		optest.Case{Name: "uniform", Config: std.RandomUniformConfig{DType: dtype.Float64, Shape: []int{4}}, Key: key, Want: values(optest.Tensor(flat, 4)), Tol: 1e-12},
		optest.Case{Name: "normal", Config: std.RandomNormalConfig{DType: dtype.Float64, Shape: []int{4}}, Key: key, Want: values(optest.Tensor(normal, 4)), Tol: 1e-12},
		optest.Case{Name: "bernoulli", Config: std.BernoulliConfig{DType: dtype.Bool}, In: values(chances), Key: key, Want: values(optest.Tensor([]bool{false, false, true, true}, 4))},
		optest.Case{Name: "multinomial", Config: std.MultinomialConfig{SampleSize: 4}, In: values(optest.Floats([]int{1, 5}, 0, 0, 0, 0, 0)), Key: key,
			Want: values(optest.Tensor([]int32{1, 3, 4, 1}, 1, 4))},
	)
}

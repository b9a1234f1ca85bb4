// Package initial holds initial values for parameters: constants, random numbers (Kaiming, Xavier and others), and
// identities.
//
// Fans are computed as in PyTorch: for a weight of shape [out, in, kernel…], fan-in is in·kernel and fan-out is
// out·kernel.
package initial

import (
	"cmp"
	"math"
	"math/rand/v2"
)

// Filler fills a parameter with its initial values.
type Filler interface {
	// Fill writes all elements of v, a tensor of the given shape in row-major order. All elements of v are zero before.
	Fill(v []float64, shape []int, r *rand.Rand)
}

// Zeros fills with 0.
type Zeros struct{}

// Ones fills with 1.
type Ones struct{}

// Full fills with Value.
type Full struct{ Value float64 }

// Normal draws from a normal distribution. Std is its standard deviation; 0: 1.
type Normal struct{ Mean, Std float64 }

// Uniform draws uniformly from [Low, High); both 0: [−1, 1).
type Uniform struct{ Low, High float64 }

// KaimingUniform draws uniformly from ±Gain·√(3/fan-in) (He and others, 2015). Gain 0: √2, which is right before a ReLU.
type KaimingUniform struct{ Gain float64 }

// KaimingNormal draws from a normal distribution with standard deviation Gain/√fan-in (He and others, 2015). Gain 0: √2, which
// is right before a ReLU.
type KaimingNormal struct{ Gain float64 }

// XavierUniform draws uniformly from ±Gain·√(6/(fan-in+fan-out)) (Glorot and Bengio, 2010). Gain 0: 1.
type XavierUniform struct{ Gain float64 }

// XavierNormal draws from a normal distribution with standard deviation Gain·√(2/(fan-in+fan-out)) (Glorot and Bengio, 2010).
// Gain 0: 1.
type XavierNormal struct{ Gain float64 }

// FanIn draws uniformly from ±1/√fan-in, which is PyTorch's default for the weights of Linear and Conv.
type FanIn struct{}

// BiasFanIn draws uniformly from ±1/√Fan, which is PyTorch's default for biases; Fan is the fan-in of the weight.
type BiasFanIn struct{ Fan int }

// TruncatedNormal draws from a normal distribution truncated at two standard deviations. Std is the standard deviation before
// the truncation; 0: 0.02.
type TruncatedNormal struct{ Mean, Std float64 }

// Dirac makes a convolution the identity: the kernel is 1 in its middle where input and output channel agree within their
// group, and 0 elsewhere. Groups is the number of groups of the convolution; 0: 1.
type Dirac struct{ Groups int }

// Eye fills a matrix with the identity.
type Eye struct{}

// Transposed fills a matrix [in, out] as Of fills a matrix [out, in].
type Transposed struct{ Of Filler }

// Values fills with the given numbers, in row-major order.
type Values struct{ Data []float64 }

// FillerFunc is a function that is a Filler.
type FillerFunc func(v []float64, shape []int, r *rand.Rand)

// Fill calls f, which must not be nil.
func (f FillerFunc) Fill(v []float64, shape []int, r *rand.Rand) {
	if f == nil {
		panic("initial: the FillerFunc is nil")
	}
	f(v, shape, r)
}

// Fill writes zeros.
func (Zeros) Fill(v []float64, _ []int, _ *rand.Rand) { clear(v) }

// Fill writes ones.
func (Ones) Fill(v []float64, shape []int, r *rand.Rand) { Full{1}.Fill(v, shape, r) }

// Fill writes the value.
func (f Full) Fill(v []float64, _ []int, _ *rand.Rand) {
	for i := range v {
		v[i] = f.Value
	}
}

// Fill draws from the normal distribution.
func (n Normal) Fill(v []float64, _ []int, r *rand.Rand) {
	std := n.Std
	if std == 0 {
		std = 1
	}
	for i := range v {
		v[i] = n.Mean + std*r.NormFloat64()
	}
}

// Fill draws uniformly.
func (u Uniform) Fill(v []float64, _ []int, r *rand.Rand) {
	if u.Low == 0 && u.High == 0 {
		u.Low, u.High = -1, 1
	}
	for i := range v {
		v[i] = u.Low + (u.High-u.Low)*r.Float64()
	}
}

// Fill draws uniformly within the bound.
func (k KaimingUniform) Fill(v []float64, shape []int, r *rand.Rand) {
	in, _ := fans(shape)
	symmetric(v, cmp.Or(k.Gain, math.Sqrt2)*math.Sqrt(3/in), r)
}

// Fill draws from the normal distribution.
func (k KaimingNormal) Fill(v []float64, shape []int, r *rand.Rand) {
	in, _ := fans(shape)
	Normal{Std: cmp.Or(k.Gain, math.Sqrt2) / math.Sqrt(in)}.Fill(v, shape, r)
}

// Fill draws uniformly within the bound.
func (x XavierUniform) Fill(v []float64, shape []int, r *rand.Rand) {
	in, out := fans(shape)
	symmetric(v, cmp.Or(x.Gain, 1)*math.Sqrt(6/(in+out)), r)
}

// Fill draws from the normal distribution.
func (x XavierNormal) Fill(v []float64, shape []int, r *rand.Rand) {
	in, out := fans(shape)
	Normal{Std: cmp.Or(x.Gain, 1) * math.Sqrt(2/(in+out))}.Fill(v, shape, r)
}

// Fill draws uniformly within 1/√fan-in.
func (FanIn) Fill(v []float64, shape []int, r *rand.Rand) {
	in, _ := fans(shape)
	symmetric(v, 1/math.Sqrt(in), r)
}

// Fill draws uniformly within 1/√Fan.
func (b BiasFanIn) Fill(v []float64, _ []int, r *rand.Rand) {
	symmetric(v, 1/math.Sqrt(float64(max(b.Fan, 1))), r)
}

// Fill draws from the truncated normal distribution.
func (t TruncatedNormal) Fill(v []float64, _ []int, r *rand.Rand) {
	std := cmp.Or(t.Std, 0.02)
	for i := range v {
		x := r.NormFloat64()
		for math.Abs(x) > 2 {
			x = r.NormFloat64()
		}
		v[i] = t.Mean + std*x
	}
}

// Fill writes the kernel. A tensor of rank 0 or 1 is not changed.
func (d Dirac) Fill(v []float64, shape []int, _ *rand.Rand) {
	if len(shape) < 2 {
		return
	}
	groups := max(d.Groups, 1)
	kernel, middle := 1, 0
	for _, k := range shape[2:] {
		kernel *= k
		middle = middle*k + k/2
	}
	per := max(shape[0]/groups, 1)
	for o := range shape[0] {
		if c := o % per; c < shape[1] {
			v[(o*shape[1]+c)*kernel+middle] = 1
		}
	}
}

// Fill writes the identity matrix. A tensor of another rank is not changed.
func (Eye) Fill(v []float64, shape []int, _ *rand.Rand) {
	if len(shape) == 2 {
		for i := range min(shape[0], shape[1]) {
			v[i*shape[1]+i] = 1
		}
	}
}

// Fill writes the transpose of the values that Of, which must not be nil, writes. A tensor of another
// rank is not changed.
func (t Transposed) Fill(v []float64, shape []int, r *rand.Rand) {
	if len(shape) != 2 {
		return
	}
	if t.Of == nil {
		panic("initial: Transposed has nothing to transpose: Of is nil")
	}
	in, out := shape[0], shape[1]
	w := make([]float64, len(v))
	t.Of.Fill(w, []int{out, in}, r)
	for o := range out {
		for i := range in {
			v[i*out+o] = w[o*in+i]
		}
	}
}

// Fill copies Data.
func (d Values) Fill(v []float64, _ []int, _ *rand.Rand) { copy(v, d.Data) }

func symmetric(v []float64, bound float64, r *rand.Rand) {
	Uniform{-bound, bound}.Fill(v, nil, r)
}

func fans(shape []int) (in, out float64) {
	if len(shape) == 0 {
		return 1, 1
	}
	if len(shape) == 1 {
		return float64(shape[0]), float64(shape[0])
	}
	kernel := 1
	for _, k := range shape[2:] {
		kernel *= k
	}
	return float64(shape[1] * kernel), float64(shape[0] * kernel)
}

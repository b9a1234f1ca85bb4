// Package initial holds what parameters start as: constants, random numbers by the formulas of Kaiming, Xavier and others, identities.
package initial

import (
	"cmp"
	"math"
	"math/rand/v2"
)

// Filler gives a parameter its first values.
type Filler interface {
	// Fill writes the elements of a tensor of the given shape, row-major.
	Fill(v []float64, shape []int, r *rand.Rand)
}

// Zeros, Ones and the like are what their names say. Fans are counted as PyTorch does: of a
// weight [out, in, kernel…] the fan-in is in·kernel, the fan-out out·kernel.
type (
	Zeros           struct{}
	Ones            struct{}
	Full            struct{ Value float64 }
	Normal          struct{ Mean, Std float64 } // Std 0 means 1
	Uniform         struct{ Low, High float64 } // both 0: −1 … 1
	KaimingUniform  struct{ Gain float64 }      // bound = gain·√(3/fan-in); 0 means √2
	KaimingNormal   struct{ Gain float64 }      // deviation = gain/√fan-in; 0 means √2
	XavierUniform   struct{ Gain float64 }      // bound = gain·√(6/(fan-in+fan-out)); 0 means 1
	XavierNormal    struct{ Gain float64 }      // deviation = gain·√(2/(fan-in+fan-out)); 0 means 1
	FanIn           struct{}                    // PyTorch's default for Linear and Conv: uniform within 1/√fan-in
	BiasFanIn       struct{ Fan int }           // uniform within 1/√Fan
	TruncatedNormal struct{ Mean, Std float64 } // cut at two deviations; Std 0 means 0.02
	Dirac           struct{ Groups int }        // the identity of a convolution
	Eye             struct{}                    // the identity matrix
	Transposed      struct{ Of Filler }         // a matrix [in, out], filled as Of fills [out, in]
	Values          struct{ Data []float64 }    // as given
	Func            func(v []float64, shape []int, r *rand.Rand)
)

// Fill calls f, which must not be nil.
func (f Func) Fill(v []float64, shape []int, r *rand.Rand) {
	if f == nil {
		panic("initial: the Func is nil")
	}
	f(v, shape, r)
}

// Fill leaves the zeros.
func (Zeros) Fill([]float64, []int, *rand.Rand) {}

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

// Fill draws from the normal distribution, again when two deviations off.
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

// Fill writes the kernel that copies each channel: 1 in the middle, where input and output
// channel agree within their group.
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
	per := shape[0] / groups
	for o := range shape[0] {
		if c := o % per; c < shape[1] {
			v[(o*shape[1]+c)*kernel+middle] = 1
		}
	}
}

// Fill writes the identity matrix.
func (Eye) Fill(v []float64, shape []int, _ *rand.Rand) {
	if len(shape) == 2 {
		for i := range min(shape[0], shape[1]) {
			v[i*shape[1]+i] = 1
		}
	}
}

// Fill writes a matrix [in, out] as Of, which must not be nil, fills [out, in]. Other shapes are left.
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

// Fill copies the data.
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

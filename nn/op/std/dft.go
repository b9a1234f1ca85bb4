package std

import (
	"errors"
	"math"
	"math/bits"
	"math/cmplx"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// DFTConfig has the attributes of DFT.
type DFTConfig struct {
	Axis     *int `onnx:"axis,until=19,nil=1"` // 1 when nil; an input from version 20 on, -2 when absent
	Inverse  bool `onnx:"inverse"`             // compute the inverse transform, divided by the number of points
	OneSided bool `onnx:"onesided"`            // only the first ⌊n/2⌋ + 1 frequencies, which determine those of a real signal
}

// Operator makes DFTConfig a Config.
func (DFTConfig) Operator() op.Name { return op.Name{Name: "DFT"} }

// STFTConfig has the attributes of STFT. OneSided is true when nil.
type STFTConfig struct {
	OneSided *bool `onnx:"onesided,nil=true"` // only the first ⌊n/2⌋ + 1 frequencies; nil: true
}

// Operator makes STFTConfig a Config.
func (STFTConfig) Operator() op.Name { return op.Name{Name: "STFT"} }

func fourier() []*op.Op {
	return []*op.Op{
		{Name: "DFT", Since: []int{17, 20}, Versions: dftVersions(), Doc: "Discrete Fourier transform; complex numbers are pairs on the last axis.",
			In: "input T1, dft_length? T2 shape, axis? int64 shape", Out: "output T1", Where: op.Where{"T1": op.Floats(), "T2": op.Indices()}, Attrs: DFTConfig{},
			Infer: func(c *op.Call) ([]op.Type, error) {
				if c.In[0].Unranked {
					return op.Same(c)
				}
				_, _, out, err := dftOf(c)
				if err != nil {
					return []op.Type{c.In[0].With(anyDims(len(c.In[0].Shape))...)}, err
				}
				return convOutput(c, out)
			},
			Kernel: valueFunction(transformFourier).kernel, Grad: dftGradient, Pinned: "the axes are time and frequency"},
		{Name: "STFT", Since: []int{17}, Doc: "Spectra of overlapping frames of a signal.",
			In: "signal T1, frame_step T2 shape, window? T1, frame_length? T2 shape", Out: "output T1", Where: op.Where{"T1": op.Floats(), "T2": op.Indices()}, Attrs: STFTConfig{},
			Infer: func(c *op.Call) ([]op.Type, error) {
				if c.In[0].Unranked {
					return op.Same(c)
				}
				_, _, out, err := stftOf(c)
				if err != nil {
					return []op.Type{c.In[0].With(anyDims(4)...)}, err
				}
				return convOutput(c, out)
			},
			Kernel: valueFunction(shortFourier).kernel, Grad: stftGradient, Pinned: "the axes are time and frequency"},
	}
}

// scalarOf returns the value of an input that holds one number.
func scalarOf(c *op.Call, i int) (int, error) {
	n, err := c.Ints(i)
	if err != nil {
		return 0, err
	}
	if len(n) != 1 {
		return 0, c.Mismatch(i, "one number", c.In[i])
	}
	return n[0], nil
}

// dftOf returns the axis, the length of the transform and the shape of the result.
func dftOf(c *op.Call) (axis int, length op.Dim, out []op.Dim, err error) {
	cfg, s := c.Config.(DFTConfig), c.In[0].Shape
	rank := len(s)
	if rank < 2 || s[rank-1].Differ(op.D(1)) && s[rank-1].Differ(op.D(2)) {
		return 0, length, nil, c.Mismatch(0, "a last axis of length 1 or 2", c.In[0])
	}
	axis = -2
	if c.Version < 20 {
		axis = orInt(cfg.Axis, 1)
	} else if c.Has(2) {
		if axis, err = scalarOf(c, 2); err != nil {
			return 0, length, nil, err
		}
	}
	if axis, err = c.Axis(axis, rank); err != nil {
		return 0, length, nil, err
	}
	if axis == rank-1 {
		return 0, length, nil, c.Errorf("axis %d holds real and imaginary parts and cannot be transformed", axis)
	}
	half := cfg.Inverse && cfg.OneSided
	if length = s[axis]; half {
		length = length.Sub(op.D(1)).Mul(op.D(2))
	}
	if c.Has(1) {
		n, err := scalarOf(c, 1)
		if err != nil {
			return 0, length, nil, err
		}
		if length = op.D(n); n < 1 {
			return 0, length, nil, c.Errorf("cannot transform %d points", n)
		}
	}
	if length.Sym == "" && length.Known() && (length.Size < 1 || length.Size > maxExtent) {
		return 0, length, nil, c.Errorf("cannot transform %v points", length)
	}
	out = slices.Clone(s)
	out[axis], out[rank-1] = length, op.D(2)
	if half {
		out[rank-1] = op.D(1)
	} else if cfg.OneSided {
		out[axis] = length.Div(op.D(2)).Add(op.D(1))
	}
	return axis, length, out, nil
}

func transformFourier(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	axis, length, out, err := dftOf(c)
	if err != nil {
		return nil, err
	}
	cfg, from, to := c.Config.(DFTConfig), c.In[0].Sizes(), op.Sizes(out)
	rank, n := len(from), length.Size
	parts, results := from[rank-1], to[rank-1]
	outer, inner := around(from[:rank-1], axis)
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		x, err := numbersOf(p, c, 0, in[0])
		if err != nil {
			return nil, err
		}
		f, err := newFFT(c, p, n)
		if err != nil {
			return nil, err
		}
		defer f.release()
		y, line := kernel.Zeros[float64](p, dtype.Product(to)), f.line
		for r := range outer * inner {
			o, i := r/inner, r%inner
			clear(line)
			for k := range min(from[axis], n) {
				at := ((o*from[axis]+k)*inner + i) * parts
				if line[k] = complex(x[at], 0); parts == 2 {
					line[k] = complex(x[at], x[at+1])
				}
			}
			if cfg.Inverse && cfg.OneSided { // the other half mirrors this one
				for k := n/2 + 1; k < n; k++ {
					line[k] = cmplx.Conj(line[n-k])
				}
			}
			z := f.transform(cfg.Inverse)
			for k := range to[axis] {
				checkAt(p, k)
				at := ((o*to[axis]+k)*inner + i) * results
				if y[at] = real(z[k]); results == 2 {
					y[at+1] = imag(z[k])
				}
			}
		}
		d, err := tensorOf(p, c.In[0].DType, y, to...)
		return []dtype.Value{d}, err
	}, nil
}

// fft transforms lines of n points, one after another, in memory that is charged until release.
type fft struct {
	pool       *kernel.Pool
	line       []complex128 // what is transformed
	y, scratch []complex128
	chirp      chirpBuffers
	release    func()
}

// chirpBuffers is the memory of convolve.
type chirpBuffers struct {
	n     int // points; 0: no part of the transform has a large prime factor
	turns []complex128
	long  [4][]complex128
}

func newFFT(c *op.Call, p *kernel.Pool, n int) (f *fft, err error) {
	f = &fft{pool: p}
	rest := n // without its small factors
	for {
		q := smallestFactor(rest)
		if q > mostParts {
			f.chirp.n = rest
			break
		}
		if rest /= q; rest <= 1 {
			break
		}
	}
	long := chirpLength(f.chirp.n)
	if f.release, err = reserve(c, 16*(3*n+f.chirp.n+len(f.chirp.long)*long)); err != nil {
		return nil, err
	}
	f.line, f.y, f.scratch, f.chirp.turns = kernel.Zeros[complex128](p, n), kernel.Zeros[complex128](p, n), kernel.Zeros[complex128](p, n), kernel.Zeros[complex128](p, f.chirp.n)
	for i := range f.chirp.long {
		f.chirp.long[i] = kernel.Zeros[complex128](p, long)
	}
	return f, nil
}

// transform returns the discrete Fourier transform of the line, valid until the next one; the inverse is divided by the number of points.
func (f *fft) transform(inverse bool) []complex128 {
	sign := -1.0
	if inverse {
		sign = 1
	}
	f.part(f.y, f.scratch, f.line, 0, 1, sign)
	if inverse {
		for i := range f.y {
			checkAt(f.pool, i)
			f.y[i] /= complex(float64(len(f.y)), 0)
		}
	}
	return f.y
}

// mostParts is the largest prime factor by which a transform is split.
const mostParts = 64

// smallestFactor returns the smallest prime factor of n, and 1 of 1.
func smallestFactor(n int) int {
	p := 2
	for p*p <= n && n%p != 0 {
		p++
	}
	if n%p != 0 {
		p = n
	}
	return p
}

// part sets y to the transform of len(y) elements of x from index from on, with stride step: one transform for each residue modulo
// the smallest prime factor, whose results are then combined. scratch is as long as y.
func (f *fft) part(y, scratch, x []complex128, from, step int, sign float64) {
	n := len(y)
	if n == 1 {
		y[0] = x[from]
		return
	}
	p := smallestFactor(n)
	if p > mostParts {
		f.convolve(y, x, from, step, sign)
		return
	}
	m := n / p
	for j := range p {
		f.part(scratch[j*m:][:m], y[j*m:][:m], x, from+j*step, step*p, sign)
	}
	for k := range y {
		checkAt(f.pool, k)
		sum := complex128(0)
		for j := range p {
			s, c := math.Sincos(sign * 2 * math.Pi * float64(j*k%n) / float64(n))
			sum += scratch[j*m+k%m] * complex(c, s)
		}
		y[k] = sum
	}
}

// chirpLength returns the length of the convolution for n points, a power of two.
func chirpLength(n int) int {
	if n == 0 {
		return 0
	}
	return 1 << bits.Len(uint(2*n-2))
}

// convolve is part as a convolution with a chirp (Bluestein, 1970) whose length is a power of two, so that
// lengths without small factors also take time n·log n.
func (f *fft) convolve(y, x []complex128, from, step int, sign float64) {
	n, chirp, long := len(y), f.chirp.turns, chirpLength(len(y))
	a, b, c, scratch := f.chirp.long[0], f.chirp.long[1], f.chirp.long[2], f.chirp.long[3]
	clear(a)
	clear(b)
	for k := range chirp {
		checkAt(f.pool, k)
		sin, cos := math.Sincos(sign * math.Pi * float64(k*k%(2*n)) / float64(n))
		chirp[k] = complex(cos, sin)
		a[k] = x[from+k*step] * chirp[k]
		b[k] = complex(cos, -sin)
		b[(long-k)%long] = b[k]
	}
	f.part(c, scratch, a, 0, 1, -1)
	f.part(a, scratch, b, 0, 1, -1)
	for k := range a {
		checkAt(f.pool, k)
		c[k] *= a[k]
	}
	f.part(a, scratch, c, 0, 1, 1)
	for k := range chirp {
		checkAt(f.pool, k)
		y[k] = chirp[k] * (a[k] / complex(float64(long), 0))
	}
}

// stftOf is step and length of the frames and the shape of the result.
func stftOf(c *op.Call) (step, length int, out []op.Dim, err error) {
	s := c.In[0].Shape
	if len(s) < 2 || len(s) > 3 || len(s) == 3 && s[2].Differ(op.D(1)) && s[2].Differ(op.D(2)) {
		return 0, 0, nil, c.Mismatch(0, "batch, time and 1 or 2 parts", c.In[0])
	}
	if step, err = scalarOf(c, 1); err != nil {
		return 0, 0, nil, err
	}
	switch {
	case c.Has(3):
		if length, err = scalarOf(c, 3); err != nil {
			return 0, 0, nil, err
		}
	case c.Has(2) && len(c.In[2].Shape) == 1 && c.In[2].Shape[0].Known():
		length = c.In[2].Shape[0].Size
	case c.Has(2) && (c.In[2].Unranked || len(c.In[2].Shape) == 1):
		return step, 0, []op.Dim{s[0], op.Unknown(), op.Unknown(), op.D(2)}, nil // not before the window is known
	default:
		return 0, 0, nil, c.Errorf("needs a window or frame_length")
	}
	if step < 1 || length < 1 || step > maxExtent || length > maxExtent || s[1].Known() && s[1].Size < length {
		return 0, 0, nil, c.Errorf("cannot cut %v points into frames of %d, %d apart", s[1], length, step)
	}
	if c.Has(2) && (len(c.In[2].Shape) != 1 || c.In[2].Shape[0].Differ(op.D(length))) {
		return 0, 0, nil, c.Mismatch(2, op.T(c.In[0].DType, op.D(length)), c.In[2])
	}
	bins := length
	if o := c.Config.(STFTConfig).OneSided; o == nil || *o {
		bins = length/2 + 1
	}
	return step, length, []op.Dim{s[0], s[1].Sub(op.D(length)).Div(op.D(step)).Add(op.D(1)), op.D(bins), op.D(2)}, nil
}

func shortFourier(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	step, length, out, err := stftOf(c)
	if err != nil {
		return nil, err
	}
	from, to, parts := c.In[0].Sizes(), op.Sizes(out), 1
	if len(from) == 3 {
		parts = from[2]
	}
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		x, err := numbersOf(p, c, 0, in[0])
		if err != nil {
			return nil, err
		}
		window := slices.Repeat([]float64{1}, length)
		if c.Has(2) {
			if window, err = numbersOf(p, c, 2, in[2]); err != nil {
				return nil, err
			}
		}
		lines, err := newFFT(c, p, length)
		if err != nil {
			return nil, err
		}
		defer lines.release()
		y, line := kernel.Uncleared[float64](dtype.Product(to))[:0], lines.line
		for b := range to[0] {
			for f := range to[1] {
				for k := range line {
					at := (b*from[1] + f*step + k) * parts
					if line[k] = complex(x[at]*window[k], 0); parts == 2 {
						line[k] = complex(x[at]*window[k], x[at+1]*window[k])
					}
				}
				for _, z := range lines.transform(false)[:to[2]] {
					y = append(y, real(z), imag(z))
				}
			}
		}
		d, err := tensorOf(p, c.In[0].DType, y, to...)
		return []dtype.Value{d}, err
	}, nil
}

// dftVersions: before version 20 the axis is an attribute, by default 1.
func dftVersions() []op.Version {
	up := op.OnConfig(func(n *op.Spelling, c *DFTConfig) error {
		d := dtype.New(dtype.Int64)
		dtype.Slice[int64](d)[0] = int64(orInt(c.Axis, 1))
		c.Axis = nil
		n.Put(2, n.Tensor("axis", d))
		return nil
	})
	down := op.OnConfig(func(n *op.Spelling, c *DFTConfig) error {
		axis := []int{-2}
		if n.Has(2) {
			var err error
			if axis, err = n.Ints(2); err != nil || len(axis) != 1 {
				return errors.Join(err, errors.New("axis is not a number"))
			}
		}
		c.Axis = &axis[0]
		n.Cut(2)
		return nil
	})
	return []op.Version{{At: 20, Up: up, Down: down}}
}

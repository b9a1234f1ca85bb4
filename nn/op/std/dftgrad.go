package std

import (
	"math/cmplx"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// dftGradConfig is DFT as it was called: its axis, its number of points and the shape of its input.
type dftGradConfig struct {
	DFT    DFTConfig
	Axis   int
	Points int
	Input  []op.Dim
}

func (dftGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "DFTGrad"} }

// stftGradConfig is STFT as it was called: samples between and in frames.
type stftGradConfig struct {
	Step, Length int
}

func (stftGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "STFTGrad"} }

func dftGradient(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	axis, length, _, err := dftOf(c)
	if err != nil {
		return nil, err
	}
	d, err := c.Apply1(dftGradConfig{c.Config.(DFTConfig), axis, length.Size, c.In[0].Shape}, dout[0])
	return gorgonia.Nodes{d}, err
}

func stftGradient(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	step, length, _, err := stftOf(c)
	if err != nil {
		return nil, err
	}
	args, outputs := gorgonia.Nodes{dout[0], in[0]}, 1
	if c.Has(2) {
		args, outputs = append(args, in[2]), 2
	}
	d, err := c.ApplyN(outputs, stftGradConfig{step, length}, args...)
	if err != nil {
		return nil, err
	}
	grads := make(gorgonia.Nodes, len(c.In))
	grads[0] = d[0]
	if c.Has(2) {
		grads[2] = d[1]
	}
	return grads, nil
}

func fourierGrads() []*op.Op {
	return []*op.Op{
		{Domain: op.Internal, Name: "DFTGrad", Since: []int{1}, Doc: "Gradient of DFT.", In: "dY T", Out: "dX T", Where: op.Where{"T": op.Floats()}, Attrs: dftGradConfig{},
			Infer: func(c *op.Call) ([]op.Type, error) {
				return []op.Type{c.In[0].With(c.Config.(dftGradConfig).Input...)}, nil
			},
			Kernel: valueFunction(fourierBack).kernel, GradMissing: op.NotTwice, Pinned: "gradient"},
		{Domain: op.Internal, Name: "STFTGrad", Since: []int{1}, Doc: "Gradients of STFT by signal and window.", In: "dY T, signal T, window? T", Out: "dSignal T, dWindow? T",
			Where: op.Where{"T": op.Floats()}, Attrs: stftGradConfig{},
			Infer:  func(c *op.Call) ([]op.Type, error) { return slices.Clone(c.In[1:]), nil },
			Kernel: valueFunction(shortFourierBack).kernel, GradMissing: op.NotTwice, Pinned: "gradient"},
	}
}

// fourierBack: a transform is linear, so its gradient is the transform with the conjugate matrix.
func fourierBack(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	cfg := c.Config.(dftGradConfig)
	n, inverse := cfg.Points, cfg.DFT.Inverse
	from, to := c.In[0].Sizes(), op.Sizes(cfg.Input)
	rank := len(to)
	results, parts := from[rank-1], to[rank-1]
	outer, inner := around(to[:rank-1], cfg.Axis)
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		dy, err := numbersOf(p, c, 0, in[0])
		if err != nil {
			return nil, err
		}
		f, err := newFFT(c, p, n)
		if err != nil {
			return nil, err
		}
		defer f.release()
		dx, line := kernel.Zeros[float64](p, dtype.Product(to)), f.line
		for r := range outer * inner {
			o, i := r/inner, r%inner
			clear(line)
			for k := range from[cfg.Axis] {
				at := ((o*from[cfg.Axis]+k)*inner + i) * results
				if line[k] = complex(dy[at], 0); results == 2 {
					line[k] = complex(dy[at], dy[at+1])
				}
			}
			g := f.conjugate(inverse)
			if inverse && cfg.DFT.OneSided { // the mirrored half passes its gradient on to the given half
				for k := n/2 + 1; k < n; k++ {
					g[n-k] += cmplx.Conj(g[k])
				}
			}
			for k := range min(to[cfg.Axis], n) {
				if inverse && cfg.DFT.OneSided && k > n/2 {
					break
				}
				at := ((o*to[cfg.Axis]+k)*inner + i) * parts
				if dx[at] = real(g[k]); parts == 2 {
					dx[at+1] = imag(g[k])
				}
			}
		}
		d, err := tensorOf(p, c.In[0].DType, dx, to...)
		return []dtype.Value{d}, err
	}, nil
}

// conjugate multiplies the line with the conjugate transpose of the matrix that transform multiplies with.
func (f *fft) conjugate(inverse bool) []complex128 {
	g, n := f.transform(!inverse), complex(float64(len(f.line)), 0)
	for i := range g {
		if inverse {
			g[i] /= n
		} else {
			g[i] *= n
		}
	}
	return g
}

func shortFourierBack(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	cfg := c.Config.(stftGradConfig)
	from, to, parts := c.In[0].Sizes(), c.In[1].Sizes(), 1
	if len(to) == 3 {
		parts = to[2]
	}
	bins := from[2]
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		var v [3][]float64 // gradient, signal, window
		for i := range in {
			var err error
			if v[i], err = numbersOf(p, c, i, in[i]); err != nil {
				return nil, err
			}
		}
		dy, x, window := v[0], v[1], v[2]
		if len(in) < 3 {
			window = slices.Repeat([]float64{1}, cfg.Length)
		}
		lines, err := newFFT(c, p, cfg.Length)
		if err != nil {
			return nil, err
		}
		defer lines.release()
		dx, dw, line := kernel.Zeros[float64](p, len(x)), make([]float64, cfg.Length), lines.line
		for f := range from[0] * from[1] {
			clear(line)
			for k := range bins {
				line[k] = complex(dy[2*(f*bins+k)], dy[2*(f*bins+k)+1])
			}
			start := f/from[1]*to[1] + f%from[1]*cfg.Step
			for k, g := range lines.conjugate(false) {
				at := (start + k) * parts
				dx[at] += real(g) * window[k]
				dw[k] += real(g) * x[at]
				if parts == 2 {
					dx[at+1] += imag(g) * window[k]
					dw[k] += imag(g) * x[at+1]
				}
			}
		}
		d, err := tensorOf(p, c.In[1].DType, dx, to...)
		if err != nil || len(in) < 3 {
			return []dtype.Value{d}, err
		}
		w, err := tensorOf(p, c.In[2].DType, dw, cfg.Length)
		return []dtype.Value{d, w}, err
	}, nil
}

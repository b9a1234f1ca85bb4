package layers

import (
	"cmp"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
)

// Linear is a fully connected layer on the last axis: y = x·Wᵀ + b. For an input of shape [N, in] it is a Gemm with a
// weight of shape [Out, in], otherwise a MatMul with a weight of shape [in, Out], and an Add.
type Linear struct {
	Out            int            // output size; 0: that of the input
	NoBias         bool           // the layer has no bias
	Init, BiasInit initial.Filler // nil: uniform in ±1/√in, as in PyTorch
	Name           string         // of its nodes and parameters; "": one is made
}

// Identity returns the layer with the identity matrix as its weight. Out must be 0 or the size of the input.
func (l Linear) Identity() nn.Layer {
	l.Init, l.BiasInit = initial.Eye{}, initial.Zeros{}
	return l
}

// Silence returns the layer with a weight of zeros.
func (l Linear) Silence() nn.Layer {
	l.Init, l.BiasInit = initial.Zeros{}, initial.Zeros{}
	return l
}

// Fit returns the layer with the given output size, unless it sets one itself.
func (l Linear) Fit(channels int) nn.Layer {
	l.Out = cmp.Or(l.Out, channels)
	return l
}

// Mirror returns two layers like this one, for a value of at least two axes. See nn.Projection.
func (l Linear) Mirror(at *nn.Value, scale, gain float64) (first, second nn.Layer) {
	size := sizeAt(at, -1)
	back := l
	l.Out, l.Init, l.BiasInit = 2*size, mirror{1, scale, true}, initial.Zeros{}
	back.Out, back.Init, back.BiasInit, back.Name = size, mirror{1, gain, false}, initial.Zeros{}, ""
	return l, back
}

// Build adds the layer with in[0] as its input.
func (l Linear) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, rank := ranked(e, in, 1)
	n := sizeOf(e, x, rank-1)
	if e.Err() != nil {
		return nil
	}
	out := l.Out
	if out == 0 {
		out = n
	}
	init := l.Init
	if init == nil {
		init = initial.FanIn{}
	}
	name := e.Label("linear", l.Name)
	bias := func() *nn.Value {
		if l.NoBias {
			return nil
		}
		return weight(e, name+".bias", x, l.BiasInit, initial.BiasFanIn{Fan: n}, out)
	}
	if rank == 2 {
		list := []*nn.Value{x, weight(e, name+".weight", x, init, nil, out, n)}
		if b := bias(); b != nil {
			list = append(list, b)
		}
		return []*nn.Value{put(e, name, "Gemm", attrs{"transB": true}, list...)}
	}
	w := weight(e, name+".weight", x, initial.Transposed{Of: init}, nil, n, out)
	if l.NoBias {
		return []*nn.Value{put(e, name, "MatMul", nil, x, w)}
	}
	y := put(e, name+".product", "MatMul", nil, x, w)
	return []*nn.Value{put(e, name, "Add", nil, y, bias())}
}

// Embedding replaces each integer by that row of a table of Num vectors of length Dim: the result has one more axis.
type Embedding struct {
	Num, Dim int            // number of vectors and their length
	Init     initial.Filler // nil: normal with standard deviation 1
	Name     string         // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0], a tensor of indices, as its input.
func (m Embedding) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	if e.Err() != nil {
		return nil
	}
	if m.Num <= 0 || m.Dim <= 0 {
		e.Failf("a table of %d vectors of length %d is empty", m.Num, m.Dim)
		return nil
	}
	init := m.Init
	if init == nil {
		init = initial.Normal{}
	}
	name := e.Label("embedding", m.Name)
	w := e.Param(name+".weight", init, m.Num, m.Dim)
	return []*nn.Value{put(e, name, "Gather", attrs{"axis": 0}, w, x)}
}

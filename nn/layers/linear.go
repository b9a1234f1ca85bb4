package layers

import (
	"cmp"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
)

// Linear is a fully connected layer on the last axis: y = x·Wᵀ + b. A matrix [N, in] becomes a Gemm
// with a weight of shape [Out, in], anything else a MatMul with [in, Out] and an Add.
type Linear struct {
	Out            int            // 0: as many as the input has
	NoBias         bool           // has no bias
	Init, BiasInit initial.Filler // nil: uniform within 1/√in, as PyTorch does
	Name           string         // of its nodes and parameters; "": one is made
}

// Identity is the layer with the identity as its weight; Out must be 0 or the input's size.
func (l Linear) Identity() nn.Layer {
	l.Init, l.BiasInit = initial.Eye{}, initial.Zeros{}
	return l
}

// Silence is the layer with a matrix of zeros.
func (l Linear) Silence() nn.Layer {
	l.Init, l.BiasInit = initial.Zeros{}, initial.Zeros{}
	return l
}

// Fit gives the layer an output size where it says none.
func (l Linear) Fit(channels int) nn.Layer {
	l.Out = cmp.Or(l.Out, channels)
	return l
}

// Mirror gives this layer twice, for a value of at least two axes.
func (l Linear) Mirror(at *nn.Value, scale, gain float64) (first, second nn.Layer) {
	size := sizeAt(at, -1)
	back := l
	l.Out, l.Init, l.BiasInit = 2*size, mirror{1, scale, true}, initial.Zeros{}
	back.Out, back.Init, back.BiasInit, back.Name = size, mirror{1, gain, false}, initial.Zeros{}, ""
	return l, back
}

// Build adds the layer after in[0].
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

// Embedding replaces integers by rows of a table of Num vectors of length Dim.
type Embedding struct {
	Num, Dim int
	Init     initial.Filler // nil: normal with deviation 1
	Name     string         // of its nodes and parameters; "": one is made
}

// Build adds the layer after in[0], a tensor of indices.
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

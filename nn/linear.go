package nn

// Linear is a fully connected layer on the last axis: y = x·Wᵀ + b. A matrix [N, in] becomes a Gemm
// with a weight of shape [Out, in], anything else a MatMul with [in, Out] and an Add.
type Linear struct {
	Out            int    // 0: as many as the input has
	NoBias         bool   // has no bias
	Init, BiasInit Init   // nil: uniform within 1/√in, as PyTorch does
	Name           string // of its nodes and parameters; "": one is made
}

// Identity is the layer with the identity as its weight; Out must be 0 or the input's size.
func (l Linear) Identity() Layer {
	l.Init, l.BiasInit = Eye{}, Zeros{}
	return l
}

// Build adds the layer behind in[0].
func (l Linear) Build(e *Edit, in ...*Value) []*Value {
	x, rank := e.ranked(in, 1)
	n := e.size(x, rank-1)
	if e.err != nil {
		return nil
	}
	out := l.Out
	if out == 0 {
		out = n
	}
	init := l.Init
	if init == nil {
		init = FanIn{}
	}
	name := e.begin("linear", l.Name)
	bias := func() *Value {
		if l.NoBias {
			return nil
		}
		return e.weight(name+".bias", x, l.BiasInit, BiasFanIn{n}, out)
	}
	if rank == 2 {
		list := []*Value{x, e.weight(name+".weight", x, init, nil, out, n)}
		if b := bias(); b != nil {
			list = append(list, b)
		}
		return []*Value{e.put(name, "Gemm", attrs{"transB": true}, list...)}
	}
	w := e.weight(name+".weight", x, swapped(init), nil, n, out)
	if l.NoBias {
		return []*Value{e.put(name, "MatMul", nil, x, w)}
	}
	y := e.put(name+".product", "MatMul", nil, x, w)
	return []*Value{e.put(name, "Add", nil, y, bias())}
}

// Embedding replaces integers by rows of a table of Num vectors of length Dim.
type Embedding struct {
	Num, Dim int
	Init     Init   // nil: normal with deviation 1
	Name     string // of its nodes and parameters; "": one is made
}

// Build adds the layer behind in[0], a tensor of indices.
func (m Embedding) Build(e *Edit, in ...*Value) []*Value {
	x := e.only(in)
	if e.err != nil {
		return nil
	}
	if m.Num <= 0 || m.Dim <= 0 {
		e.Failf("a table of %d vectors of length %d is empty", m.Num, m.Dim)
		return nil
	}
	init := m.Init
	if init == nil {
		init = Normal{}
	}
	name := e.begin("embedding", m.Name)
	w := e.Param(name+".weight", init, m.Num, m.Dim)
	return []*Value{e.put(name, "Gather", attrs{"axis": 0}, w, x)}
}

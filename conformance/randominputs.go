package conformance

import (
	"fmt"
	"math/rand/v2"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// RandomInputs returns values for the inputs of a graph: floating-point numbers from the standard normal distribution,
// integers and booleans from {0, 1}, which are valid indices into any table, strings of one letter, sequences of two
// items, and optionals with a value. A symbolic dimension has the size that dims gives its symbol, or else 1. The same
// seed gives the same values.
func RandomInputs(g *nn.Graph, dims map[string]int, seed uint64) (nn.Feed, error) {
	feed := nn.Feed{}
	for i, v := range g.Inputs() {
		x, err := randomValue(v.Type(), dims, rand.New(rand.NewPCG(seed, uint64(i))))
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", v.Name(), err)
		}
		feed[v.Name()] = x
	}
	return feed, nil
}

func randomValue(t op.Type, dims map[string]int, r *rand.Rand) (dtype.Value, error) {
	switch t.Kind {
	case op.Tensor, op.Sparse:
		return randomTensor(t, dims, r)
	case op.Sequence:
		s := &dtype.Sequence{}
		for range 2 {
			item, err := randomValue(elemOf(t), dims, r)
			if err != nil {
				return nil, err
			}
			s.Items, s.Elem = append(s.Items, item), dtype.DTypeOf(item)
		}
		return s, nil
	case op.Optional:
		item, err := randomValue(elemOf(t), dims, r)
		if err != nil {
			return nil, err
		}
		_, sequence := item.(*dtype.Sequence)
		return &dtype.Optional{Elem: dtype.DTypeOf(item), Seq: sequence, Item: item}, nil
	case op.Map:
		keys, err := randomTensor(op.Shaped(t.DType, 1), dims, r)
		if err != nil {
			return nil, err
		}
		values, err := randomTensor(op.Shaped(elemOf(t).DType, 1), dims, r)
		if err != nil {
			return nil, err
		}
		return dtype.NewMap(keys, values)
	}
	return nil, fmt.Errorf("no random value of type %v", t)
}

func elemOf(t op.Type) op.Type {
	if t.Elem == nil {
		return op.Type{}
	}
	return *t.Elem
}

func randomTensor(t op.Type, dims map[string]int, r *rand.Rand) (dtype.Value, error) {
	if t.DType == dtype.Undefined {
		return nil, fmt.Errorf("no random value of type %v", t)
	}
	shape, n := make([]int, len(t.Shape)), 1
	for i, d := range t.Shape {
		size, err := sizeOf(d, dims)
		if err != nil {
			return nil, err
		}
		shape[i] = size
	}
	n, err := dtype.Count(shape)
	if err != nil {
		return nil, err
	}
	if free := nn.MemoryLeft(); float64(n)*float64(8+t.DType.Size()) > float64(free) {
		return nil, fmt.Errorf("%v%v does not fit into the %d MB that may be used", t.DType, shape, free>>20)
	}
	if t.DType == dtype.String {
		s := &dtype.Strings{Dims: shape, Elems: make([]string, n)}
		for i := range s.Elems {
			s.Elems[i] = string(rune('a' + r.IntN(26)))
		}
		return s, nil
	}
	if t.DType.IsComplex() {
		x := make([]complex128, n)
		for i := range x {
			x[i] = complex(r.NormFloat64(), r.NormFloat64())
		}
		d, err := dtype.FromSlice(x, shape...)
		if err != nil {
			return nil, err
		}
		return dtype.ConvertTo(t.DType, d)
	}
	x := make([]float64, n)
	for i := range x {
		switch {
		case t.DType == dtype.Bool, t.DType.IsInteger():
			x[i] = float64(r.IntN(2))
		default:
			x[i] = r.NormFloat64()
		}
	}
	return dtype.FromFloats(t.DType, x, shape...)
}

// sizeOf returns the size of a dimension, with the sizes of symbols in dims; missing symbols are 1.
func sizeOf(d op.Dim, dims map[string]int) (int, error) {
	if d.Sym == "" {
		if d.Known() {
			return d.Size, nil
		}
		return 1, nil
	}
	sizes := map[string]int{}
	for _, s := range d.Symbols() {
		sizes[s] = 1
		if n, ok := dims[s]; ok {
			sizes[s] = n
		}
	}
	return d.Eval(sizes)
}

// Symbols returns the names of the symbolic dimensions of a graph's inputs.
func Symbols(g *nn.Graph) map[string]bool {
	names := map[string]bool{}
	var visit func(t op.Type)
	visit = func(t op.Type) {
		for _, d := range t.Shape {
			for _, s := range d.Symbols() {
				names[s] = true
			}
		}
		if t.Elem != nil {
			visit(*t.Elem)
		}
	}
	for _, v := range g.Inputs() {
		visit(v.Type())
	}
	return names
}

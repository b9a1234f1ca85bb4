package contrib_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
	"gorgonia.org/tensor"
)

// trial is one use of an operator of transformers, of few bits or on signals.
type trial struct {
	optest.Case
	params []int  // inputs that the model holds
	apart  string // why ONNX Runtime is not asked: the expected values are those of testdata/reference.py
}

func in(v ...dtype.Value) []dtype.Value { return v }

// numbers are integers of type t, which is of rank 0 without dims.
func numbers(t op.DType, dims []int, v ...int) dtype.Value {
	d, err := dtype.FromInts(t, v, dims...)
	if err != nil {
		panic(err)
	}
	return d
}

func ids(dims []int, v ...int) dtype.Value { return numbers(dtype.Int32, dims, v...) }

// some are random integers of type t below limit.
func some(seed uint64, t op.DType, limit int, dims ...int) dtype.Value {
	n, err := dtype.Count(dims)
	if err != nil {
		panic(err)
	}
	r, v := rand.New(rand.NewPCG(seed, 3)), make([]int, n)
	for i := range v {
		v[i] = r.IntN(limit)
	}
	return numbers(t, dims, v...)
}

// trialGraph returns a graph of one node with inputs x0, x1 … or parameters, and outputs y0, y1 ….
func trialGraph(t *testing.T, u trial) *nn.Graph {
	t.Helper()
	return graphOn(t, set(t), u)
}

func graphOn(t *testing.T, ops op.Set, u trial) *nn.Graph {
	t.Helper()
	g := nn.NewGraph("one", ops, map[string]int{"": 21, contrib.Domain: 1})
	err := g.Edit(func(e *nn.Edit) {
		var in []*nn.Value
		for i, v := range u.In {
			name := fmt.Sprintf("x%d", i)
			switch {
			case v == nil:
				in = append(in, nil)
			case slices.Contains(u.params, i):
				in = append(in, e.Const(name, v.(*tensor.Dense)))
			default:
				in = append(in, e.Input(name, op.TypeOf(v).String()))
			}
		}
		n := e.NodeN(u.Config, max(u.Outputs, 1), in...)
		if e.Err() != nil {
			return
		}
		for i, v := range n.Outputs() {
			if v != nil && !slices.Contains(u.Skip, i) {
				e.Output(fmt.Sprintf("y%d", i), v)
			}
		}
	})
	if err != nil {
		t.Fatalf("%s: %v", u.Name, err)
	}
	return g
}

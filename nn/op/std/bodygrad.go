package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel/vector"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// bodyGrad differentiates the iterations of a subgraph.
type bodyGrad struct {
	body    op.Subgraph
	run     op.SubgraphRun
	flags   bodyFlags
	reached [][]bool // by iteration and input: whether it depends on a requested value; nil: not determined, see back
}

// tape has the inputs of every iteration, charged to the memory limit.
type tape struct {
	turns  [][]dtype.Value
	values op.Tally
	lists  budget.Tally
}

// add appends the inputs of an iteration, of which the first own belong to it alone.
func (t *tape) add(c *op.Call, in []dtype.Value, own int) error {
	if err := t.lists.Add(32 + 16*int64(len(in))); err != nil {
		return err
	}
	t.turns = append(t.turns, in)
	return t.values.Add(c.Context(), in[:own]...)
}

func (t *tape) free() {
	t.values.Free()
	t.lists.Free()
}

// gradient returns the gradient with respect to every input for which asked is true, given the inputs and the gradients of the outputs;
// nil for inputs without one.
func (b *bodyGrad) gradient(key [2]uint64, in, dout []dtype.Value, asked []bool) ([]dtype.Value, error) {
	run := b.run
	run.Key = key
	return b.body.Gradient(run, in, dout, asked)
}

// asked returns the inputs of the first iteration that depend on requested values.
func (b *bodyGrad) asked(in []dtype.Value) []bool {
	list := make([]bool, len(in))
	for i, v := range in {
		list[i] = !b.flags.apart(i) && v != nil
	}
	return list
}

// back runs the gradient of iteration t of a subgraph that carries n values, its inputs from first on, its outputs from
// firstOut on. Carried values may depend on requested values although the initial ones do not, and vice versa: if that
// matters, it is determined for each iteration.
func (b *bodyGrad) back(key [2]uint64, t int, tape [][]dtype.Value, seeds []dtype.Value, first, firstOut, n int) ([]dtype.Value, error) {
	if b.reached == nil {
		apart := false
		for i := first; i < first+n; i++ {
			typ := op.TypeOf(tape[t][i])
			apart = apart || b.flags.apart(i) && (op.Differentiable(typ) || typ.Kind != op.Tensor)
		}
		if !apart {
			d, err := b.gradient(key, tape[t], seeds, b.asked(tape[t]))
			if err == nil || b.run.Ctx.Err() != nil {
				return d, err
			}
		}
		now := b.asked(tape[0])
		for range tape {
			b.reached = append(b.reached, now)
			out := b.body.Depends(now)
			now = slices.Clone(now)
			copy(now[first:first+n], out[firstOut:])
		}
	}
	return b.gradient(key, tape[t], seeds, b.reached[t])
}

// addValues returns a + b where nil counts as zero. It may overwrite a.
func addValues(s op.Set, a, b dtype.Value) (dtype.Value, error) {
	if a == nil {
		return b, nil
	}
	if b == nil {
		return a, nil
	}
	x, y := a.(*tensor.Dense), b.(*tensor.Dense)
	switch {
	case dtype.Of(x.Dtype()) == dtype.Float32 && dtype.Of(y.Dtype()) == dtype.Float32 && x.Shape().Eq(y.Shape()):
		vector.Axpy(nil, 1, dtype.Slice[float32](y), dtype.Slice[float32](x))
		return x, nil
	case dtype.Of(x.Dtype()) == dtype.Float64 && dtype.Of(y.Dtype()) == dtype.Float64 && x.Shape().Eq(y.Shape()):
		vector.Axpy(nil, 1, dtype.Slice[float64](y), dtype.Slice[float64](x))
		return x, nil
	}
	return compute1(&op.Call{Set: s}, op.Plain("Add"), 0, a, b)
}

// orZeros returns v, or zeros of type t if v is nil.
func orZeros(v dtype.Value, t op.Type) dtype.Value {
	if v != nil {
		return v
	}
	return dtype.New(t.DType, t.Sizes()...)
}

package nn

import (
	"context"
	"slices"

	"github.com/graft-ml/graft/internal/kernel/vector"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// after returns the request for the stage after those of trail: it is differentiated also with respect to what they passed on.
func (r request) after(trail []*stage) request {
	r.take = nil // which cannot have what earlier stages moved: the result holds everything
	if r.of == nil {
		return r
	}
	if r.asked == nil {
		r.asked = r.wrt
	}
	r.wrt, r.borrow = slices.Clone(r.wrt), false
	for _, st := range trail {
		r.wrt = append(r.wrt, st.outs...)
	}
	return r
}

// backward differentiates a request r that ran in several stages. The last one was differentiated for request q, also with respect to what
// it read from earlier stages. Each earlier one is differentiated now, starting from the gradients of what it passed on; it recomputes its forward pass.
func (g *Graph) backward(ctx context.Context, trail []*stage, haves []map[*Value]dtype.Value, types map[*Value]op.Type, r, q request, res *result) error {
	total := map[*Value]dtype.Value{}
	if err := collect(ctx, g.ops, total, q.wrt, res.grads); err != nil {
		return err
	}
	for k, st := range slices.Backward(trail) {
		q := r.after(trail[:k])
		q.want, q.of, q.seeds = []*Value{}, nil, total
		for _, v := range st.outs {
			if total[v] != nil {
				q.of = append(q.of, v)
			}
		}
		if q.of == nil {
			continue
		}
		st, err := g.stageFor(ctx, haves[k], types, q, k)
		if err != nil {
			return err
		}
		part, err := st.finish(ctx, haves[k], q, nil)
		if err != nil {
			return err
		}
		if err := collect(ctx, g.ops, total, q.wrt, part.grads); err != nil {
			return err
		}
	}
	for i, v := range r.wrt {
		res.grads[i], _ = total[v].(*tensor.Dense)
	}
	res.grads = res.grads[:len(r.wrt)]
	return nil
}

// collect adds gradients to the total.
func collect(ctx context.Context, ops op.Set, total map[*Value]dtype.Value, wrt []*Value, grads []*tensor.Dense) error {
	for i, d := range grads {
		if d == nil {
			continue
		}
		have, _ := total[wrt[i]].(*tensor.Dense)
		switch {
		case have == nil:
			total[wrt[i]] = d
		case dtype.Of(d.Dtype()) == dtype.Float64:
			vector.Axpy(nil, 1, dtype.Slice[float64](d), dtype.Slice[float64](have))
		case dtype.Of(d.Dtype()) == dtype.Float32:
			vector.Axpy(nil, 1, dtype.Slice[float32](d), dtype.Slice[float32](have))
		default:
			sum, err := (&op.Call{Set: ops, Ctx: ctx}).Compute(1, op.Plain("Add"), 0, have, d)
			if err != nil {
				return err
			}
			total[wrt[i]] = sum[0]
		}
	}
	return nil
}

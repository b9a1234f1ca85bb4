package nn

import (
	"context"
	"errors"

	"github.com/graft-ml/graft/internal/kernel/vector"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// backward differentiates a request that ran in several stages: first the last one, also with respect to what it read
// from earlier stages, then each earlier one, starting from the gradients of what it passed on. Earlier stages recompute
// their forward pass.
func (g *Graph) backward(ctx context.Context, trail []*stage, haves []map[*Value]dtype.Value, types map[*Value]op.Type, r request, moved map[*Value]*tensor.Dense) (*result, error) {
	last := len(trail) - 1
	wrt, handed := extend(r.wrt, trail[:last])
	lr := r
	lr.wrt, lr.asked, lr.borrow, lr.take = wrt, r.wrt, false, nil
	st, err := g.lowerStage(ctx, haves[last], types, lr)
	if err != nil {
		return nil, err
	}
	res, err := st.finish(ctx, haves[last], lr, moved)
	if err != nil {
		return nil, err
	}
	total := map[*Value]*tensor.Dense{}
	collect(total, wrt, res.grads)
	for k := last - 1; k >= 0; k-- {
		var of []*Value
		for _, v := range trail[k].outs {
			if handed[v] == k && total[v] != nil {
				of = append(of, v)
			}
		}
		if len(of) == 0 {
			continue
		}
		if err := g.backwardStage(ctx, haves[k], types, of, total, r, extendFrom(r.wrt, trail[:k])); err != nil {
			return nil, err
		}
	}
	res.grads = make([]*tensor.Dense, len(r.wrt))
	for i, v := range r.wrt {
		res.grads[i] = total[v]
	}
	return res, nil
}

// extend adds the floating-point values passed between stages to those to differentiate with respect to.
func extend(wrt []*Value, trail []*stage) ([]*Value, map[*Value]int) {
	list := append([]*Value(nil), wrt...)
	handed := map[*Value]int{}
	for k, st := range trail {
		for _, v := range st.outs {
			if _, ok := handed[v]; !ok {
				handed[v] = k
				list = append(list, v)
			}
		}
	}
	return list, handed
}

func extendFrom(wrt []*Value, trail []*stage) []*Value {
	list, _ := extend(wrt, trail)
	return list
}

func collect(total map[*Value]*tensor.Dense, wrt []*Value, grads []*tensor.Dense) {
	for i, d := range grads {
		if d == nil {
			continue
		}
		have := total[wrt[i]]
		if have == nil {
			total[wrt[i]] = d
			continue
		}
		if dtype.Of(d.Dtype()) == dtype.Float64 {
			vector.Axpy(nil, 1, dtype.Slice[float64](d), dtype.Slice[float64](have))
		} else {
			vector.Axpy(nil, 1, dtype.Slice[float32](d), dtype.Slice[float32](have))
		}
	}
}

// backwardStage lowers a stage again with gradients, and adds them to the total.
func (g *Graph) backwardStage(ctx context.Context, have map[*Value]dtype.Value, types map[*Value]op.Type, of []*Value, total map[*Value]*tensor.Dense, r request, wrt []*Value) error {
	ask := lowering{
		g: g, mode: walkLower, train: r.train, ctx: ctx, have: have, wrt: wrt, asked: r.wrt, of: of, seeds: map[*Value]dtype.Value{},
		bound: make(map[*Value]*binding, len(have)),
	}
	for _, v := range of {
		ask.seeds[v] = total[v]
	}
	for v := range have {
		ask.bound[v] = &binding{typ: types[v]}
	}
	w, err := ask.lower()
	if err != nil {
		return err
	}
	w.updates = nil // the stage has made them
	st := &stage{}
	st.seal(w)
	p, err := st.run(ctx, have, r)
	if err != nil {
		return err
	}
	if p == nil {
		return errors.New("a stage has nothing to differentiate")
	}
	grads, err := st.gradValues(ctx, p, kept)
	collect(total, wrt, grads)
	return err
}

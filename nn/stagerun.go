package nn

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// run executes a program of the stage on the available values.
func (st *stage) run(ctx context.Context, have map[*Value]dtype.Value, r request) (done *engine.Program, err error) {
	if len(st.roots) == 0 {
		return nil, ctx.Err()
	}
	hands := st.hands(r)
	p, err := st.pool.take(st, r.variant(hands))
	if err != nil {
		return nil, &Error{Stage: "compile", Err: err}
	}
	defer func() {
		if done == nil { // after an error it must run again
			st.pool.give(p, r.variant(hands))
		}
	}()
	for _, b := range st.inputs {
		x, ok := have[b.value]
		if !ok {
			continue
		}
		if err := p.Bind(b.node, x); err != nil {
			return nil, &Error{Stage: "run", Input: b.value.name, Err: err}
		}
	}
	if st.key != nil {
		key, err := dtype.FromSlice(r.seed[:], 2)
		if err != nil {
			return nil, err
		}
		if err := p.Bind(st.key, key); err != nil {
			return nil, err
		}
	}
	if hands {
		err = p.RunHanding(ctx, st.receiver(p, r))
	} else {
		err = p.Run(ctx)
	}
	if err != nil {
		if e := ctx.Err(); e != nil && (!hands || errors.Is(err, e)) {
			return nil, e
		}
		if e := op.AtRun(err); e != nil {
			return nil, e
		}
		var e *op.Error
		if errors.As(err, &e) {
			return nil, err
		}
		return nil, &Error{Stage: "run", Err: err}
	}
	return p, nil
}

// fate is what becomes of a value that a stage computed.
type fate int

const (
	given    fate = iota // a copy, whose memory is the caller's
	kept                 // a copy that is charged to the memory limit while it is reachable
	stepped              // a copy after parameters were updated: it is not charged, and cannot fail
	borrowed             // the program's memory
)

// value returns what the stage computed for v.
func (st *stage) value(ctx context.Context, p *engine.Program, v *Value, f fate) (dtype.Value, error) {
	if x := st.values[v]; x != nil {
		return cloneValue(x), nil
	}
	n := st.nodes[v]
	if n == nil || p == nil {
		return nil, &Error{Stage: "run", Input: v.name, Err: errors.New("was not computed")}
	}
	x := p.Value(n)
	if x == nil {
		return nil, &Error{Stage: "run", Input: v.name, Err: errors.New("has no value")}
	}
	if f == borrowed {
		return x, nil
	}
	if d, ok := x.(*tensor.Dense); ok {
		c, err := cloned(ctx, d, f)
		if err != nil && ctx.Err() == nil {
			err = &Error{Stage: "run", Input: v.name, Err: err}
		}
		return c, err
	}
	return cloneValue(x), nil
}

// cloned returns a copy of d, or the error of ctx if it ends first.
func cloned(ctx context.Context, d *tensor.Dense, f fate) (*tensor.Dense, error) {
	if f == stepped {
		return copyOf(ctx, d)
	}
	var room engine.Tally
	if err := room.Add(int64(len(d.Raw))); err != nil {
		return nil, err
	}
	defer room.Free()
	c, err := copyOf(ctx, d)
	if err != nil || f != kept {
		return c, err
	}
	room.Free()
	return c, engine.Hold(c)
}

// copyOf returns a copy of d, or the error of ctx if it ends first.
func copyOf(ctx context.Context, d *tensor.Dense) (*tensor.Dense, error) {
	const block = 1 << 26 // bytes copied between checks of ctx
	if len(d.Raw) <= block {
		return dtype.Clone(d), nil
	}
	c := dtype.New(dtype.Of(d.Dtype()), d.Shape()...)
	for to, from := c.Raw, d.Raw; len(to) > 0; to, from = to[min(block, len(to)):], from[min(block, len(from)):] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		copy(to, from[:min(block, len(from))])
	}
	return c, nil
}

func cloneValue(x dtype.Value) dtype.Value {
	switch x := x.(type) {
	case *tensor.Dense:
		return dtype.Clone(x)
	case *dtype.Strings:
		return &dtype.Strings{Dims: slices.Clone(x.Dims), Elems: slices.Clone(x.Elems)}
	case *dtype.Sequence:
		c := *x
		c.Items = make([]dtype.Value, len(x.Items))
		for i, item := range x.Items {
			c.Items[i] = cloneValue(item)
		}
		return &c
	case *dtype.Optional:
		c := *x
		if c.Item != nil {
			c.Item = cloneValue(x.Item)
		}
		return &c
	case *dtype.Map:
		return &dtype.Map{Keys: cloneValue(x.Keys), Values: cloneValue(x.Values)}
	}
	return x
}

// forward runs a stage that is not the last, and returns the values for later stages.
func (st *stage) forward(ctx context.Context, have map[*Value]dtype.Value, r request) (map[*Value]dtype.Value, error) {
	p, err := st.run(ctx, have, r)
	if err != nil {
		return nil, err
	}
	out := make(map[*Value]dtype.Value, len(st.outs))
	for _, v := range st.outs {
		if out[v], err = st.value(ctx, p, v, kept); err != nil {
			return nil, err
		}
	}
	st.pool.give(p, variant{private: !r.borrow})
	return out, nil
}

// finish runs the last stage and collects the results.
func (st *stage) finish(ctx context.Context, have map[*Value]dtype.Value, r request) (*result, error) {
	p, err := st.run(ctx, have, r)
	if err != nil {
		return nil, err
	}
	res := &result{values: make([]dtype.Value, len(r.want)), updates: map[*Param]*tensor.Dense{}, next: map[*Value]*tensor.Dense{}}
	hands := st.hands(r)
	res.done = func() { st.pool.give(p, r.variant(hands)) }
	if hands { // the step is done
		ctx = context.WithoutCancel(ctx)
	}
	f := given
	switch {
	case r.borrow:
		f = borrowed
	case hands:
		f = stepped
	case r.unchecked: // of a subgraph
		f = kept
	}
	for i, v := range r.want {
		if res.values[i], err = st.value(ctx, p, v, f); err != nil {
			return nil, err
		}
	}
	if res.taken = hands && p != nil; res.taken {
		res.done()
		res.done = func() {}
		return res, nil
	}
	if res.grads, err = st.gradValues(p, r.borrow); err != nil {
		return nil, err
	}
	for _, u := range st.updates {
		d, ok := p.Value(u.node).(*tensor.Dense)
		if !ok {
			return nil, &Error{Stage: "run", Input: u.value.name, Err: fmt.Errorf("has no updated value")}
		}
		if !r.borrow {
			d = dtype.Clone(d)
		}
		if res.next[u.value] = d; u.param != nil {
			res.updates[u.param] = d
		}
	}
	if !r.borrow {
		res.done()
		res.done = func() {}
	}
	return res, nil
}

func (st *stage) gradValues(p *engine.Program, borrow bool) ([]*tensor.Dense, error) {
	if st.grads == nil {
		return nil, nil
	}
	grads := make([]*tensor.Dense, len(st.grads))
	for i, n := range st.grads {
		if n == nil {
			continue
		}
		d, ok := p.Value(n).(*tensor.Dense)
		if !ok {
			return nil, &Error{Stage: "gradient", Input: st.wrt[i].name, Err: errors.New("has no value")}
		}
		if !borrow {
			d = dtype.Clone(d)
		}
		grads[i] = d
	}
	runtime.KeepAlive(p) // d is its memory
	return grads, nil
}

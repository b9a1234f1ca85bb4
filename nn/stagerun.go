package nn

import (
	"context"
	"errors"
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
	hands := st.hasCallbacks(r)
	p, err := st.pool.take(ctx, st, r.variant(hands))
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
	for _, b := range st.moved {
		if err := p.Bind(b.node, r.moved[b.value]); err != nil {
			return nil, &Error{Stage: "run", Input: b.value.name, Err: err}
		}
	}
	for _, b := range st.seeds {
		if err := p.Bind(b.node, r.seeds[b.value]); err != nil {
			return nil, &Error{Stage: "gradient", Input: b.value.name, Err: err}
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
		var room engine.Tally
		if room, err = st.room(ctx, p, r); err != nil {
			return nil, err
		}
		defer room.Free() // they are charged when they are copied
		err = p.RunWithCallbacks(ctx, st.receiver(p, r))
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

// room charges the wanted tensors, which are copied when the step can no longer fail.
func (st *stage) room(ctx context.Context, p *engine.Program, r request) (room engine.Tally, err error) {
	for _, v := range r.want {
		x := st.values[v]
		if n := st.nodes[v]; x == nil && n != nil {
			x = p.Value(n)
		}
		if x == nil {
			continue // not a tensor, computed by the step
		}
		size, err := engine.Footprint(ctx, x)
		if err == nil {
			err = room.Add(size)
		}
		if err != nil {
			room.Free()
			return room, &Error{Stage: "run", Input: v.name, Err: err}
		}
	}
	return room, nil
}

// fate is how a value that a stage computed is passed to the caller.
type fate int

const (
	kept     fate = iota // a copy that is charged to the memory limit while it is reachable
	stepped              // kept after parameters were updated: it cannot fail, and room for it was made before
	borrowed             // the program's memory
	shared               // kept, but sequences and strings, which are made anew by each run, are not copied: what gets them changes no value in place
)

// fate is that of values which are passed on within a run.
func (r request) fate() fate {
	if r.unchecked { // a body's
		return shared
	}
	return kept
}

// value returns what the stage computed for v.
func (st *stage) value(ctx context.Context, p *engine.Program, v *Value, f fate) (dtype.Value, error) {
	if x := st.values[v]; x != nil {
		if f == borrowed {
			f = kept
		}
		return own(ctx, x, f, v)
	}
	n := st.nodes[v]
	if n == nil || p == nil {
		return nil, &Error{Stage: "run", Input: v.name, Err: errors.New("was not computed")}
	}
	x := p.Value(n)
	if x == nil {
		return nil, &Error{Stage: "run", Input: v.name, Err: errors.New("has no value")}
	}
	return own(ctx, x, f, v)
}

// own returns what f says of x, the value of v, or the error of ctx if it ends first.
func own[T dtype.Value](ctx context.Context, x T, f fate, v *Value) (T, error) {
	c, err := owned(ctx, x, f)
	if err != nil {
		if ctx.Err() != nil {
			return x, err
		}
		if n := v.producer; n != nil {
			return x, located("run", n, err)
		}
		return x, &Error{Stage: "run", Input: v.name, Err: err}
	}
	return c.(T), nil
}

func owned(ctx context.Context, x dtype.Value, f fate) (dtype.Value, error) {
	if _, dense := x.(*tensor.Dense); f == borrowed || f == shared && !dense {
		return x, nil
	}
	if f == stepped {
		c, err := copyOf(ctx, x)
		if err == nil {
			engine.CountCopy(c)
		}
		return c, err
	}
	size, err := engine.Footprint(ctx, x)
	if err != nil {
		return nil, err
	}
	var room engine.Tally
	if err := room.Add(size); err != nil {
		return nil, err
	}
	defer room.Free()
	c, err := copyOf(ctx, x)
	if err != nil {
		return c, err
	}
	room.Free()
	return c, engine.HoldCopy(ctx, c)
}

// copyOf returns a copy of x, or the error of ctx if it ends first.
func copyOf(ctx context.Context, x dtype.Value) (dtype.Value, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch x := x.(type) {
	case *tensor.Dense:
		return copyOfDense(ctx, x)
	case *dtype.Strings:
		elems := make([]string, len(x.Elems))
		for to, from := elems, x.Elems; len(to) > 0; {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			n := copy(to, from[:min(len(from), 1<<18)])
			to, from = to[n:], from[n:]
		}
		return &dtype.Strings{Dims: slices.Clone(x.Dims), Elems: elems}, nil
	case *dtype.Sequence:
		c := *x
		c.Items = make([]dtype.Value, len(x.Items))
		for i, item := range x.Items {
			var err error
			if c.Items[i], err = copyOf(ctx, item); err != nil {
				return nil, err
			}
		}
		return &c, nil
	case *dtype.Optional:
		c := *x
		if x.Item == nil {
			return &c, nil
		}
		var err error
		c.Item, err = copyOf(ctx, x.Item)
		return &c, err
	case *dtype.Map:
		keys, err := copyOf(ctx, x.Keys)
		if err != nil {
			return nil, err
		}
		values, err := copyOf(ctx, x.Values)
		return &dtype.Map{Keys: keys, Values: values}, err
	}
	return x, nil
}

// copyOfDense is copyOf for a tensor.
func copyOfDense(ctx context.Context, d *tensor.Dense) (dtype.Value, error) {
	const block = 1 << 24 // bytes copied between checks of ctx
	if len(d.Raw) <= block {
		return dtype.Clone(d), nil
	}
	c := engine.Uncleared(dtype.Of(d.Dtype()), d.Shape()...)
	for to, from := c.Raw, d.Raw; len(to) > 0; to, from = to[min(block, len(to)):], from[min(block, len(from)):] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		copy(to, from[:min(block, len(from))])
	}
	return c, nil
}

// forward runs a stage that is not the last, and returns the values for later stages. It adds the new values of statistics to moved.
func (st *stage) forward(ctx context.Context, have map[*Value]dtype.Value, r request, moved map[*Value]*tensor.Dense) (map[*Value]dtype.Value, error) {
	p, err := st.run(ctx, have, r)
	if err != nil {
		return nil, err
	}
	if err := st.statistics(ctx, p, kept, moved); err != nil {
		return nil, err
	}
	out := make(map[*Value]dtype.Value, len(st.outs))
	for _, v := range st.outs {
		if out[v], err = st.value(ctx, p, v, r.fate()); err != nil {
			return nil, err
		}
	}
	st.pool.give(p, variant{private: !r.borrow})
	return out, nil
}

// finish runs the last stage and collects the results. moved holds the statistics that earlier stages moved.
func (st *stage) finish(ctx context.Context, have map[*Value]dtype.Value, r request, moved map[*Value]*tensor.Dense) (*result, error) {
	p, err := st.run(ctx, have, r)
	if err != nil {
		return nil, err
	}
	res := &result{values: make([]dtype.Value, len(r.want)), next: moved}
	hands := st.hasCallbacks(r)
	res.done = func() { st.pool.give(p, r.variant(hands)) }
	if hands { // the step is done
		ctx = context.WithoutCancel(ctx)
	}
	f := r.fate()
	switch {
	case r.borrow:
		f = borrowed
	case hands:
		f = stepped
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
	if res.grads, err = st.gradValues(ctx, p, f); err != nil {
		return nil, err
	}
	if err := st.statistics(ctx, p, f, res.next); err != nil {
		return nil, err
	}
	if !r.borrow {
		res.done()
		res.done = func() {}
	}
	return res, nil
}

// statistics adds the new values of the statistics that the stage moves to moved.
func (st *stage) statistics(ctx context.Context, p *engine.Program, f fate, moved map[*Value]*tensor.Dense) error {
	for _, u := range st.updates {
		d, ok := p.Value(u.node).(*tensor.Dense)
		if !ok {
			return &Error{Stage: "run", Input: u.value.name, Err: errors.New("has no updated value")}
		}
		var err error
		if moved[u.value], err = own(ctx, d, f, u.value); err != nil {
			return err
		}
	}
	return nil
}

func (st *stage) gradValues(ctx context.Context, p *engine.Program, f fate) ([]*tensor.Dense, error) {
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
		var err error
		if grads[i], err = own(ctx, d, f, st.wrt[i]); err != nil {
			return nil, err
		}
	}
	runtime.KeepAlive(p) // d is its memory
	return grads, nil
}

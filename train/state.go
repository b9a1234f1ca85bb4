package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// state is the trainer's state of one parameter.
type state struct {
	plan   plan
	slots  []optim.Slot
	owner  int           // rank that keeps the slots, see Config.ShardState
	n      int           // updates of this parameter
	grad   *tensor.Dense // gradient, summed over micro-batches; memory of the engine while the group has a single batch
	has    bool          // whether grad has a gradient, or the parameter was updated by a streamed update
	square float64       // sum of squares of a gradient that was used by a streamed update
	ema    *tensor.Dense // moving average, or the raw weight while the graph has the average
	young  bool          // whether the average has NaN for elements that start again at the weights
	safe   *tensor.Dense // for a statistic: its value before the step, while gradients accumulate
	shape  []int         // shape of the parameter when the state was last made or cut
	typ    op.DType
}

// follow updates the states to the graph's edits, which add, remove, cut and replace parameters.
func (t *Trainer) follow(ctx context.Context) error {
	if t.params == nil {
		t.params, t.stats = map[*nn.Param]*state{}, map[*nn.Param]*state{}
	}
	if v := t.g.Version(); v != t.seen {
		if t.remote.ahead {
			return errAhead
		}
		next := states{maps.Clone(t.params), maps.Clone(t.stats)}
		for _, c := range standing(t.g.Changes(t.seen), t.seen) {
			if c.Kind == nn.Forgotten {
				return &op.Error{Stage: "train", Err: fmt.Errorf("the graph no longer records all edits since version %d, the last one that the trainer saw: make a new trainer", t.seen)}
			}
			if err := next.change(c); err != nil {
				return err
			}
			t.best = nil // it is of the model before the edit
		}
		if !maps.Equal(t.params, next.params) {
			t.reduced = nil
		}
		t.params, t.stats, t.seen, t.bound = next.params, next.stats, v, nil
		t.abandon()
	}
	params, stats := map[*nn.Param]*state{}, map[*nn.Param]*state{}
	for p := range t.g.Params() {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case p.Trainable():
			s, err := t.stateOf(ctx, p)
			if err != nil {
				return err
			}
			params[p] = s
		case p.Role() == nn.Statistic && !p.Frozen() && direct.Data(p) != nil:
			s := t.stats[p]
			if s == nil || !s.fits(p) {
				s = &state{shape: slices.Clone(direct.Data(p).Shape()), typ: dtype.Of(direct.Data(p).Dtype())}
			}
			if err := t.start(ctx, s, p); err != nil {
				return err
			}
			stats[p] = s
		}
	}
	if !maps.Equal(t.params, params) {
		t.reduced = nil // edits are the same on all ranks, unlike the times when each attaches the loss again
	}
	t.params, t.stats = params, stats
	return nil
}

// stateOf returns the state of a trainable parameter, a new one if there is none that fits.
func (t *Trainer) stateOf(ctx context.Context, p *nn.Param) (*state, error) {
	s := t.params[p]
	if s != nil && s.fits(p) {
		return s, t.start(ctx, s, p)
	}
	if t.groups == nil {
		t.groups = t.c.grouping()
	}
	pl, err := t.c.planFor(t.groups, p)
	if err != nil {
		return nil, err
	}
	s = &state{plan: pl, shape: slices.Clone(direct.Data(p).Shape()), typ: dtype.Of(direct.Data(p).Dtype())}
	if s.typ != dtype.Float32 && s.typ != dtype.Float64 {
		return nil, &op.Error{Stage: "train", Param: p.Name(), Want: "float32 or float64", Got: s.typ, Err: errors.New("freeze it, or have the model compute in float32 (Edit.ComputeIn, graft edit --compute float32)")}
	}
	if s.owner = t.owner(p); t.mine(s) {
		if s.slots, err = pl.rule.Init(direct.Data(p)); err != nil {
			return nil, &op.Error{Stage: "train", Param: p.Name(), Err: err}
		}
		if !steady(pl.rule) { // those of package optim are charged to the memory budget before they are made
			for _, slot := range s.slots {
				if err := budget.Keep(slot.Data, int64(len(dtype.Bytes(slot.Data)))); err != nil {
					return nil, &op.Error{Stage: "train", Param: p.Name(), Err: err}
				}
			}
		}
	}
	return s, t.start(ctx, s, p)
}

// gather makes the memory in which gradients of p are summed, unless there is some.
func (s *state) gather(p *nn.Param) (err error) {
	if s.grad == nil {
		if s.grad, err = snapshot.Zeros(direct.Data(p)); err != nil {
			s.grad, err = nil, &op.Error{Stage: "train", Param: p.Name(), Err: err}
		}
	}
	return err
}

// start makes the average of a parameter if there is none, and sets its new elements.
func (t *Trainer) start(ctx context.Context, s *state, p *nn.Param) (err error) {
	if t.c.EMA > 0 && s.ema == nil {
		s.ema, err = copyOf(ctx, p)
	}
	s.begin(p)
	return err
}

// copyOf returns a copy of a parameter's data, charged to the memory budget.
func copyOf(ctx context.Context, p *nn.Param) (*tensor.Dense, error) {
	d, err := snapshot.Clone(ctx, direct.Data(p))
	if err != nil {
		err = &op.Error{Stage: "train", Param: p.Name(), Err: err}
	}
	return d, err
}

// fits reports whether the state is for a tensor of the parameter's shape and type.
func (s *state) fits(p *nn.Param) bool {
	return direct.Data(p) != nil && slices.Equal(s.shape, []int(direct.Data(p).Shape())) && s.typ == dtype.Of(direct.Data(p).Dtype())
}

// states are the states of weights and statistics.
type states struct{ params, stats map[*nn.Param]*state }

// change applies one entry of the journal. The states that it changes are replaced: after an error, those of before are whole.
func (t states) change(c nn.Change) error {
	for _, m := range []map[*nn.Param]*state{t.params, t.stats} {
		switch s := m[c.Param]; {
		case s == nil:
		case c.Kind == nn.ParamRemoved || c.Kind == nn.ParamChanged:
			delete(m, c.Param)
		case c.Kind == nn.ParamCut:
			next, err := s.cut(c)
			if err != nil {
				return &op.Error{Stage: "train", Param: c.Param.Name(), Err: err}
			}
			m[c.Param] = next
		}
	}
	return nil
}

// standing returns the changes that were not undone. If a plan was applied and undone since the
// last follow, the states need no change, and none is lost.
func standing(changes iter.Seq[nn.Change], since int) []nn.Change {
	var list []nn.Change
	undone := map[int]bool{}
	for c := range changes {
		if c.Undoes > since {
			undone[c.Undoes], undone[c.Version] = true, true
		}
		list = append(list, c)
	}
	return slices.DeleteFunc(list, func(c nn.Change) bool { return undone[c.Version] })
}

// cut returns the state after a change of an axis of the parameter. For new indices the optimizer state
// is zero, as at the start of training, and averages start at the weights.
func (s *state) cut(c nn.Change) (*state, error) {
	axis, keep := c.Axis, c.Keep
	if axis < 0 || axis >= len(s.shape) {
		return s, nil
	}
	next := *s
	next.slots, next.shape, next.safe = slices.Clone(s.slots), slices.Clone(s.shape), nil
	next.grad, next.has = nil, false
	next.shape[axis] = len(keep)
	var err error
	for i, slot := range next.slots {
		for k, follows := range slot.Axes {
			if follows == axis {
				if next.slots[i].Data, err = snapshot.Pick(next.slots[i].Data, k, keep); err != nil {
					return nil, fmt.Errorf("%s: %w", slot.Name, err)
				}
			}
		}
	}
	if s.ema != nil {
		next.ema, err = next.averageOf(c)
	}
	return &next, err
}

// averageOf returns the average after a change of an axis: copied channels get copied averages, new
// ones NaN until begin is called.
func (s *state) averageOf(c nn.Change) (*tensor.Dense, error) {
	from := slices.Clone(c.Keep)
	for i, k := range from {
		if k < 0 && c.Like != nil {
			from[i] = c.Like[i]
		}
	}
	d, err := snapshot.Pick(s.ema, c.Axis, from)
	if err != nil || !slices.Contains(from, -1) && c.Scale == nil {
		return d, err
	}
	s.young = true
	factor := func(i int) float64 {
		switch {
		case from[i] < 0:
			return math.NaN()
		case c.Scale != nil:
			return c.Scale[i]
		}
		return 1
	}
	if s.typ == dtype.Float32 {
		scale(dtype.Slice[float32](d), d.Shape(), c.Axis, factor)
	} else {
		scale(dtype.Slice[float64](d), d.Shape(), c.Axis, factor)
	}
	return d, nil
}

// scale multiplies the elements at each index of an axis by the index's factor; 0·NaN is NaN.
func scale[F float32 | float64](x []F, shape []int, axis int, factor func(i int) float64) {
	inner := 1
	for _, n := range shape[axis+1:] {
		inner *= n
	}
	for i := range shape[axis] {
		f := F(factor(i))
		if f == 1 {
			continue
		}
		for at := i * inner; at < len(x); at += shape[axis] * inner {
			for k := range inner {
				x[at+k] *= f
			}
		}
	}
}

// begin sets the new elements of an average to the weights.
func (s *state) begin(p *nn.Param) {
	if !s.young || s.ema == nil || !s.fits(p) {
		return
	}
	s.young = false
	if s.typ == dtype.Float32 {
		settle(dtype.Slice[float32](s.ema), dtype.Slice[float32](direct.Data(p)))
	} else {
		settle(dtype.Slice[float64](s.ema), dtype.Slice[float64](direct.Data(p)))
	}
}

func settle[F float32 | float64](average, weight []F) {
	for i, x := range average {
		if x != x {
			average[i] = weight[i]
		}
	}
}

package nn

import (
	"cmp"
	"context"
	"errors"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// request describes what to compute.
type request struct {
	want      []*Value
	of        []*Value               // values to differentiate: a loss, or several, whose gradients are seeds; nil: none
	seeds     map[*Value]dtype.Value // nil: of is a loss. With seeds, only gradients are computed: statistics do not move
	wrt       []*Value               // inputs and parameters to differentiate with respect to
	asked     []*Value               // those that the caller named, also containers; the others of wrt are passed between stages; nil: all
	train     bool
	seed      [2]uint64                // seed and step, for random operators
	unchecked bool                     // inputs come from graft itself and need no check
	moved     map[*Value]*tensor.Dense // statistics that earlier stages have moved
	frozen    map[*Value]bool          // in a subgraph: statistics that training does not update
	borrow    bool                     // results may be memory of the engine, valid until the next run
	begin     func(loss dtype.Value) error
	check     func(p *Param, x *tensor.Dense, bound float64) error
	take      func(p *Param, x *tensor.Dense) error // receives gradients and updates as they arrive; nil: the result holds them
}

// result is what a request computed; grads follow request.wrt.
type result struct {
	values []dtype.Value
	grads  []*tensor.Dense          // nil if the loss does not depend on it
	next   map[*Value]*tensor.Dense // new values of statistics: parameters, or inputs of a subgraph
	taken  bool                     // request.take received the gradients and updates
	done   func()                   // releases borrowed memory
}

// exec runs a request in as many stages as necessary. The caller holds the read lock, or owns g.
func (g *Graph) exec(ctx context.Context, feed map[*Value]dtype.Value, r request) (*result, error) {
	if ctx == nil {
		return nil, &Error{Stage: "run", Err: errors.New("the context is nil: context.Background() never ends")}
	}
	types, err := g.feedTypes(feed, r)
	if err != nil {
		return nil, err
	}
	for v, x := range feed {
		if feed[v], err = rowMajor(x); err != nil {
			return nil, &Error{Stage: "run", Input: v.name, Err: err}
		}
	}
	have, moved := feed, map[*Value]*tensor.Dense{}
	var trail []*stage
	var haves []map[*Value]dtype.Value
	for {
		q := r
		if len(trail) > 0 {
			q = r.after(trail)
			q.moved = moved
		}
		st, err := g.stageFor(ctx, have, types, q, len(trail))
		if err != nil {
			return nil, cmp.Or(ctx.Err(), err)
		}
		if st.final {
			res, err := st.finish(ctx, have, q, moved)
			if err != nil || r.of == nil || len(trail) == 0 {
				return res, err
			}
			return res, g.backward(ctx, trail, haves, types, r, q, res)
		}
		trail, haves = append(trail, st), append(haves, have)
		out, err := st.forward(ctx, have, q, moved)
		if err != nil {
			return nil, err
		}
		next := make(map[*Value]dtype.Value, len(have)+len(out))
		for v, x := range have {
			next[v] = x
		}
		for v, x := range out {
			next[v] = x
			if _, fed := types[v]; !fed {
				types[v] = op.TypeOf(x)
			}
		}
		if len(next) == len(have) {
			return nil, st.stuck
		}
		have = next
	}
}

// feedTypes checks the inputs and returns their concrete types, with symbols attached.
func (g *Graph) feedTypes(feed map[*Value]dtype.Value, r request) (map[*Value]op.Type, error) {
	types := make(map[*Value]op.Type, len(feed))
	sizes := map[string]sized{}
	for v, x := range feed {
		types[v] = op.TypeOf(x)
	}
	for _, v := range g.inputs {
		x, ok := feed[v]
		if !ok || r.unchecked { // inputs without a value are not needed, see feed
			continue
		}
		t, err := matchType(v, op.TypeOf(x), sizes)
		if err != nil {
			return nil, err
		}
		types[v] = t
	}
	return types, nil
}

package nn

import (
	"context"
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// stage is a compiled part of a graph: everything that can be lowered with the values available.
type stage struct {
	final     bool
	stuck     error // why the other nodes must wait, unless final
	inputs    []boundNode
	moved     []boundNode // statistics that earlier stages have moved
	seeds     []boundNode // gradients of what is differentiated, if the request gives them
	outs      []*Value    // values for later stages, unless final
	nodes     map[*Value]*gorgonia.Node
	values    map[*Value]dtype.Value // known without running
	spec      map[*Value]dtype.Value // values the lowering depends on
	once      bool                   // it depends on values that are not in spec: no other run takes it
	baked     map[*Param]uint64      // constants the lowering depends on, with their versions
	wrt       []*Value
	grads     gorgonia.Nodes // by wrt; nil: none
	updates   []stateUpdate
	key       *gorgonia.Node
	roots     gorgonia.Nodes
	pool      programs
	params    map[*Param]*gorgonia.Node // parameters of which kernels may cache something
	callbacks gradientCallbacks
}

type boundNode struct {
	value *Value
	node  *gorgonia.Node
}

// lowerStage lowers what the wanted values need, as far as the available values allow.
func (g *Graph) lowerStage(ctx context.Context, have map[*Value]dtype.Value, types map[*Value]op.Type, r request) (*stage, error) {
	ask := lowering{
		g: g, mode: walkLower, train: r.train, ctx: context.WithValue(ctx, nestedKey{}, nil), have: have, want: r.want, seed: r.seed, moved: r.moved, wrt: r.wrt, asked: r.asked, stages: true, groups: true,
		bound: make(map[*Value]*binding, len(have)),
	}
	if ask.want == nil {
		ask.want = []*Value{}
	}
	if r.of != nil {
		ask.of, ask.loss, ask.seeded = r.of, r.seeds == nil, r.seeds != nil
	}
	spec, once := map[*Value]dtype.Value{}, false
	for v, x := range have {
		t := types[v]
		ask.bound[v] = &binding{typ: t, known: op.Known{Frozen: r.frozen[v]}}
		if t.Kind != op.Tensor && r.of != nil || t.DType == dtype.String { // gradients pass through the items of a container
			if c, ok := specCopy(ctx, x); ok {
				x, spec[v] = c, c
			} else {
				once = true
			}
			ask.bound[v].known.Value = x
		}
	}
	w, err := ask.lower()
	if err != nil {
		return nil, err
	}
	maps.Copy(w.spec, spec)
	st := &stage{final: len(w.deferred) == 0, spec: w.spec, once: once || w.once, outs: w.outs}
	if !st.final {
		st.stuck = w.deferredError()
	}
	if r.seeds != nil {
		if w.updates = nil; st.final {
			clear(w.wanted)
		}
	}
	st.seal(w)
	if st.final && r.of != nil && r.seeds == nil && st.values[r.of[0]] == nil {
		st.callbacks.lossReady = st.nodes[r.of[0]]
	}
	return st, nil
}

// seal collects what runs of the stage need.
func (st *stage) seal(w *walker) {
	st.nodes, st.values, st.wrt, st.grads = w.wanted, w.values, w.wrt, w.grads
	for v := range w.have {
		if b := w.env[v]; b != nil && b.node != nil {
			st.inputs = append(st.inputs, boundNode{v, b.node})
		}
	}
	st.moved, st.seeds, st.key, st.baked = w.movedNodes, w.seeds, w.key, w.baked
	st.callbacks.nodes = w.params
	if !w.train { // training changes every weight
		st.params = w.params
	}
	st.updates = w.updates
	seen := map[*gorgonia.Node]bool{}
	add := func(n *gorgonia.Node) {
		if n != nil && !seen[n] {
			seen[n] = true
			st.roots = append(st.roots, n)
		}
	}
	for v, n := range st.nodes {
		if st.values[v] == nil {
			add(n)
		}
	}
	for _, n := range st.grads {
		add(n)
	}
	for _, u := range st.updates {
		add(u.node)
	}
	slices.SortFunc(st.roots, func(a, b *gorgonia.Node) int { return int(a.ID() - b.ID()) })
}

package nn

import (
	"context"
	"errors"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// demand returns the value of v if it can be determined before the run: because it is available, or by a
// short calculation from small available values. Floating-point values remain computed values for all
// other readers, so that gradients pass through them.
func (w *walker) demand(v *Value) (dtype.Value, bool, error) {
	b := w.at(v)
	if b == nil {
		return nil, false, nil
	}
	x, ok := w.leaf(v, b)
	if !ok {
		budget := 256
		if v.producer == nil || !w.derivable(v, &budget, map[*Value]bool{}) {
			return nil, false, nil
		}
		var err error
		if x, err = w.derive(v, map[*Value]dtype.Value{}); err != nil {
			return nil, false, err
		}
	}
	if !dtype.DTypeOf(x).IsFloat() {
		b.known.Value = x
	}
	return x, true, nil
}

// leaf returns the value of v if no computation is needed. It records what the lowering then
// depends on.
func (w *walker) leaf(v *Value, b *binding) (dtype.Value, bool) {
	if b.known.Value != nil {
		return b.known.Value, true
	}
	if b.known.Dims != nil {
		if d, ok := op.DimsValue(b.known.Dims, b.typ); ok {
			return d, true
		}
	}
	if x, ok := w.spec[v]; ok {
		return x, true
	}
	x, ok := w.have[v]
	if v.param != nil && !ok {
		x, ok = v.param.tensor(), true
	}
	if !ok {
		return nil, false
	}
	c, ok := specCopy(w.ctx, x)
	if !ok {
		w.once = true
		return x, true
	}
	w.spec[v] = c
	return c, true
}

// largestSpec is the size in bytes up to which values that a lowering depends on are kept with it.
const largestSpec = 1 << 20

// specCopy returns a copy of x with which later runs compare their values, to take a lowering that depends on it; the caller or training may
// change x. It returns false for large values, which rarely come again, and for sequences, optionals and maps, which are not compared.
func specCopy(ctx context.Context, x dtype.Value) (dtype.Value, bool) {
	switch x := x.(type) {
	case *tensor.Dense:
		if len(x.Raw) > largestSpec {
			return nil, false
		}
		return dtype.Clone(x), true
	case *dtype.Strings:
		if size := 16 * int64(len(x.Elems)); size > largestSpec {
			return nil, false
		} else if size, err := engine.Footprint(ctx, x); err != nil || size > largestSpec {
			return nil, false
		}
		return &dtype.Strings{Dims: slices.Clone(x.Dims), Elems: slices.Clone(x.Elems)}, true
	}
	return nil, false
}

// longestDerivation is the number of values from which a value is not computed before the run, but by a stage of its own.
const longestDerivation = 1 << 14

// derivable reports whether v can be computed from available values of at most budget elements in total.
// Floating-point elements count more: they are rarely sizes, and each different value needs another lowering.
func (w *walker) derivable(v *Value, budget *int, seen map[*Value]bool) bool {
	if seen[v] {
		return true
	}
	if seen[v] = true; len(seen) > longestDerivation {
		return false
	}
	b := w.at(v)
	if b == nil {
		return false
	}
	if b.known.Value != nil || b.known.Dims != nil {
		return true
	}
	x, ok := w.have[v]
	if v.param != nil {
		x, ok = v.param.tensor(), true
	}
	if ok {
		n := x.Size()
		if dtype.DTypeOf(x).IsFloat() {
			n *= 64
		}
		*budget -= n
		return *budget >= 0
	}
	if v.producer == nil || v.producer.op == nil || v.producer.random() {
		return false
	}
	for _, x := range v.producer.reads() {
		if x != nil && !w.derivable(x, budget, seen) {
			return false
		}
	}
	return true
}

// derive computes v from available values; cached holds intermediate results.
func (w *walker) derive(v *Value, cached map[*Value]dtype.Value) (dtype.Value, error) {
	if x, ok := cached[v]; ok {
		return x, nil
	}
	if x, ok := w.leaf(v, w.at(v)); ok {
		cached[v] = x
		return x, nil
	}
	n := v.producer
	in := n.reads()
	c := w.call(n, in)
	for i, x := range in {
		if x == nil {
			continue
		}
		val, err := w.derive(x, cached)
		if err != nil {
			return nil, err
		}
		c.Known[i].Value = val
	}
	if err := c.Resolve(); err != nil {
		return nil, located("lower", n, err)
	}
	known := make([]op.Known, len(n.out))
	if _, err := w.fold(c, known); err != nil {
		return nil, located("lower", n, err)
	}
	for i, o := range n.out {
		if o != nil {
			cached[o] = known[i].Value
		}
	}
	return cached[v], nil
}

func (w *walker) deferNode(n *Node) error {
	if w.mode == walkInfer {
		w.bindDeclared(n)
		return nil
	}
	w.deferred = append(w.deferred, n)
	w.waiting[n] = true
	if w.train && w.stages && !w.seeded {
		for _, v := range n.moves() {
			if w.unmoved == nil {
				w.unmoved = map[*Value]bool{}
			}
			w.unmoved[v] = true
		}
	}
	return nil
}

// deferredError returns the error that names what the first deferred node waits for.
func (w *walker) deferredError() error {
	for _, n := range w.deferred {
		for _, v := range n.reads() {
			if err := w.demanded[v]; err != nil {
				return err
			}
		}
	}
	n := w.deferred[0]
	return &Error{Stage: "lower", Op: n.opType, Node: n.label(), Err: errors.New("an input is not computed")}
}

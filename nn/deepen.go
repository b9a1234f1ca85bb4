package nn

import (
	"fmt"
	"maps"
	"math"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

// Deepening holds the settings of Edit.Deepen.
type Deepening struct {
	// Layer is the layer to add. It must be able to start as the identity: a convolution, a linear layer, or layers.Fitting,
	// which picks the one that fits.
	Layer Layer
	// Norm is added after it, initialized so that it is the identity when evaluating, as layers.BatchNorm can be; nil:
	// nothing.
	Norm Layer
	// Activation follows it; nil: ReLU if that changes nothing, else none.
	Activation Layer
	// Near allows activations that are not idempotent. Their effect is undone by a second layer, for which the first one
	// computes twice as many channels. That is exact for ReLU, LeakyReLU, PReLU, GELU, SiLU, HardSwish and Softplus, for
	// which φ(x)−φ(−x) is proportional to x, and accurate to about 1e-4 for Tanh, Sigmoid, Erf, Atan and Sin. Others are
	// refused.
	Near bool
}

// Deepen adds a layer after a value, initialized as the identity, so that the model still computes the same (Chen et al.,
// Net2Net, 2016). With an activation this is exact if applying the activation twice is the same as once, as for ReLU; see
// Deepening.Near for others. It returns the output of the new layer.
func (e *Edit) Deepen(at *Value, d Deepening) *Value {
	if !e.mine(at) {
		return nil
	}
	if d.Layer == nil {
		e.Failf("there is no layer to add: layers.Fitting is one that fits anywhere")
		return nil
	}
	d.Layer = placed(d.Layer, at)
	act := d.Activation
	if act == nil && within(at).Lo >= 0 {
		act = relu{}
	}
	var body Sequential
	f := e.formOf(act, at)
	switch {
	case act == nil:
		body = d.chain(d.Layer, nil)
	case f.keeps(within(at)):
		body = d.chain(d.Layer, act)
	case !d.Near:
		e.Failf("%s after %s would change what the model computes: Near allows a second layer that undoes it", layerName(act), at.label())
		return nil
	default:
		l, err := d.pair(at, f, act)
		if err != nil {
			e.fail(err)
			return nil
		}
		var out *Value
		e.weighed(func() {
			out = e.Insert(at, LayerFunc(func(e *Edit, in ...*Value) []*Value { return e.ApplyAll(l, in...) }))
		})
		e.Note("deepened: two layers and %s after %s", layerName(act), at.label())
		return e.still(at, out)
	}
	var out *Value
	e.weighed(func() { out = e.Insert(at, body) })
	e.Note("deepened: %s after %s", layerName(d.Layer), at.label())
	return e.still(at, out)
}

// still fails the edit if the new value has another shape than the old one.
func (e *Edit) still(at, out *Value) *Value {
	if e.err != nil {
		return nil
	}
	if err := sameShape(out, at); err != nil {
		e.fail(&Error{Err: fmt.Errorf("the added layer must keep the shape: %w", err)})
		return nil
	}
	return out
}

// relu is ReLU, the default activation of a Deepening after a value that is never negative.
type relu struct{}

func (relu) Build(e *Edit, in ...*Value) []*Value {
	return e.Op(e.Label("relu", ""), op.Plain("Relu"), 1, in...)
}

func (d Deepening) chain(l, act Layer) Sequential {
	s := Sequential{l}
	if d.Norm != nil {
		s = append(s, d.Norm)
	}
	if act != nil {
		s = append(s, act)
	}
	return s
}

// form describes the function of an activation layer, for starting as the identity.
type form struct {
	keeps       func(r trait.Interval) bool // the activation is the identity on the interval
	gain, scale float64                     // φ(scale·x) − φ(−scale·x) = gain·scale·x, exactly or nearly
	odd         bool                        // gain and scale are set
}

// formOf determines the form of a layer by building it after a value like at, in a separate graph.
func (e *Edit) formOf(l Layer, at *Value) form {
	f := form{keeps: func(trait.Interval) bool { return false }}
	if l == nil {
		return f
	}
	g := NewGraph("", e.g.ops, maps.Clone(e.g.opsets))
	_ = g.Edit(func(b *Edit) { // a layer that cannot be built here has no form; building it later reports why
		x := b.input("x", at.typ)
		y := b.Apply(l, x)
		if b.err != nil || b.infer() != nil || y == nil || y.producer == nil {
			return
		}
		n := y.producer
		if v, _ := written(n); v == x {
			f.gain, f.scale, f.odd = 1, 1, true
			return
		}
		t, c := n.traits(), n.call()
		if n.input(0) != x {
			return
		}
		if t.Keeps != nil {
			f.keeps = func(r trait.Interval) bool { return t.Keeps(c, r) }
		}
		if t.Odd != nil {
			f.gain, f.scale, f.odd = t.Odd(c)
		}
	})
	return f
}

// pair returns a layer that computes x and −x, the activation, and a layer that computes x from both.
func (d Deepening) pair(at *Value, f form, act Layer) (Layer, error) {
	k, s := f.gain, f.scale
	if !f.odd {
		return nil, fmt.Errorf("%s cannot start as the identity", layerName(act))
	}
	if at.typ.Rank() < 2 {
		return nil, &Error{Input: at.name, Want: "at least 2 axes", Got: at.typ}
	}
	l, ok := d.Layer.(Projection)
	if !ok {
		return nil, fmt.Errorf("%s cannot be made twice as wide: want a convolution or a linear layer", layerName(d.Layer))
	}
	first, second := l.Mirror(at, s, 1/(k*s))
	return append(d.chain(first, act), second), nil
}

// Widen multiplies the number of output channels of n by factor, or as nearly as possible, without changing what
// the model computes.
func (e *Edit) Widen(n *Node, factor float64) {
	if !(factor >= 1) {
		e.Failf("a factor of %g does not widen: want 1 or more", factor)
	}
	if x, ok := e.channelAxisOf(n); ok {
		e.Resize(x.value, int(math.Round(min(factor*float64(x.size), 1<<62))), ResizeOptions{Axis: x.axis, Near: true})
	}
}

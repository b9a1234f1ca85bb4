package nn

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"

	"github.com/graft-ml/graft/nn/op"
)

// Deepening says what Edit.Deepen adds. The zero value is a convolution of kernel 3 or a linear layer.
type Deepening struct {
	// Layer is the Conv or Linear to add, Out being that of the value; nil: what fits the layers around.
	Layer Layer
	// Norm puts a BatchNorm behind it, as the identity outside of training.
	Norm bool
	// Activation follows it; nil: ReLU where that changes nothing, none elsewhere.
	Activation Layer
	// Near allows activations that change what is there: a second layer takes back what they do, for
	// which the first makes twice as many channels. That is exact for ReLU, LeakyReLU, PReLU, GELU,
	// SiLU, HardSwish and Softplus, where φ(x)−φ(−x) is in proportion to x, and right to about 1e-4
	// for Tanh, Sigmoid, Erf, Atan and Sin. Others are refused.
	Near bool
}

// Deepen adds a layer behind a value that starts as the identity: the model computes what it did
// (Chen et al., Net2Net, 2016). Through an activation that is exact where doing it again changes
// nothing, as for ReLU behind ReLU. It returns the new layer's output.
func (e *Edit) Deepen(at *Value, d Deepening) *Value {
	if !e.mine(at) {
		return nil
	}
	if d.Layer == nil {
		d.Layer = e.fitting(at)
	}
	act := d.Activation
	if act == nil && within(at).Lo >= 0 {
		act = ReLU{}
	}
	var body Sequential
	f := e.formOf(act, at)
	switch {
	case act == nil:
		body = d.chain(d.Layer, nil)
	case f.keeps(within(at)):
		body = d.chain(d.Layer, act)
	case !d.Near:
		e.Failf("%s behind %s would change what the model computes: Near allows a second layer that takes it back", layerName(act), at.label())
		return nil
	default:
		l, err := d.pair(at, f, act)
		if err != nil {
			e.fail(err)
			return nil
		}
		var out *Value
		e.weighed(func() { out = e.Insert(at, Func(func(e *Edit, in ...*Value) []*Value { return e.ApplyAll(l, in...) })) })
		e.Note("deepened: two layers and %s behind %s", layerName(act), at.label())
		return e.still(at, out)
	}
	var out *Value
	e.weighed(func() { out = e.Insert(at, body) })
	e.Note("deepened: %s behind %s", layerName(d.Layer), at.label())
	return e.still(at, out)
}

// still fails the edit when the new value has another shape than the old one.
func (e *Edit) still(at, out *Value) *Value {
	if e.err != nil {
		return nil
	}
	if err := sameShape(out, at); err != nil {
		e.fail(&Error{Err: fmt.Errorf("a layer that keeps the shape is wanted: %w", err)})
		return nil
	}
	return out
}

func (d Deepening) chain(l, act Layer) Sequential {
	s := Sequential{l}
	if d.Norm {
		s = append(s, BatchNorm{})
	}
	if act != nil {
		s = append(s, act)
	}
	return s
}

// fitting is a linear layer or a convolution, by the layer that computes v.
func (e *Edit) fitting(v *Value) Layer {
	rank := v.typ.Rank()
	for x := v; rank > 2 && x != nil && x.producer != nil; x = x.producer.data() {
		switch x.producer.traits().Channels {
		case op.ChannelsFirst:
			return Conv{Kernel: []int{3}}
		case op.ChannelsLast:
			return Linear{}
		}
	}
	if rank > 3 {
		return Conv{Kernel: []int{3}}
	}
	return Linear{}
}

// form is what an activation layer computes, as far as starting as the identity asks for it.
type form struct {
	keeps       func(r op.Interval) bool // leaves every number of the interval as it is
	gain, scale float64                  // φ(scale·x) − φ(−scale·x) = gain·scale·x, exactly or nearly
	odd         bool                     // there are gain and scale
}

// formOf reads off what a layer builds behind a value like at, in a graph of its own.
func (e *Edit) formOf(l Layer, at *Value) form {
	f := form{keeps: func(op.Interval) bool { return false }}
	if l == nil {
		return f
	}
	g := NewGraph("", e.g.ops, maps.Clone(e.g.opsets))
	_ = g.Edit(func(b *Edit) { // a layer that cannot be built here has no form; building it in earnest says why
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
		t, c := n.traits(), n.Call()
		if n.In(0) != x {
			return
		}
		if t.Keeps != nil {
			f.keeps = func(r op.Interval) bool { return t.Keeps(c, r) }
		}
		if t.Odd != nil {
			f.gain, f.scale, f.odd = t.Odd(c)
		}
	})
	return f
}

// pair is a layer that makes x and −x, the activation, and a layer that makes x of both.
func (d Deepening) pair(at *Value, f form, act Layer) (Layer, error) {
	k, s := f.gain, f.scale
	if !f.odd {
		return nil, fmt.Errorf("%s cannot start as the identity", layerName(act))
	}
	if at.typ.Rank() < 2 {
		return nil, &Error{Input: at.name, Want: "at least 2 axes", Got: at.typ}
	}
	switch l := d.Layer.(type) {
	case Linear:
		c := at.typ.Shape[at.typ.Rank()-1].Size
		first, second := l, l
		first.Out, first.Init, first.BiasInit = 2*c, mirror{1, s, true}, Zeros{}
		second.Out, second.Init, second.BiasInit, second.Name = c, mirror{1, 1 / (k * s), false}, Zeros{}, ""
		return append(d.chain(first, act), second), nil
	case Conv:
		c := at.typ.Shape[1].Size
		g := max(l.Group, 1)
		first, second := l, Conv{Out: c, Kernel: []int{1}, Group: l.Group, NoBias: l.NoBias}
		first.Out, first.Init, first.BiasInit, first.lead = 2*c, mirror{g, s, true}, Zeros{}, true
		first.Same = l.Same || len(l.Pad) == 0
		second.Init, second.BiasInit = mirror{g, 1 / (k * s), false}, Zeros{}
		return append(d.chain(first, act), second), nil
	}
	return nil, fmt.Errorf("%s cannot be made twice as wide: want Conv or Linear", layerName(d.Layer))
}

// mirror is the weight that makes gain·x and −gain·x of x in each group or, when not splitting,
// gain·(a−b) of what was made so.
type mirror struct {
	groups int
	gain   float64
	split  bool
}

// Fill writes a weight [out, in per group, kernel…].
func (m mirror) Fill(v []float64, shape []int, _ *rand.Rand) {
	if len(shape) < 2 {
		return
	}
	kernel, middle := 1, 0
	for _, k := range shape[2:] {
		kernel *= k
		middle = middle*k + k/2
	}
	rows, cols := shape[0]/m.groups, shape[1]
	half := min(rows, cols) // channels of a group
	for o := range shape[0] {
		r := o % rows
		for _, c := range []int{r, r - half, r + half} {
			if c < 0 || c >= cols || m.split && c > r || !m.split && c < r {
				continue
			}
			x := m.gain
			if c != r {
				x = -x
			}
			v[(o*cols+c)*kernel+middle] = x
		}
	}
}

// Widen gives a layer's output factor times as many channels, or the nearest number that is
// possible; what the model computes stays.
func (e *Edit) Widen(n *Node, factor float64) {
	if factor < 1 {
		e.Failf("a factor of %g does not widen", factor)
	}
	if x, ok := e.channelAxisOf(n); ok {
		e.Resize(x.value, int(math.Round(factor*float64(x.size))), ResizeOptions{Axis: x.axis, Near: true})
	}
}

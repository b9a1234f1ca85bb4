package nn

import (
	"errors"
	"fmt"

	"github.com/graft-ml/graft/nn/op"
)

// Layer is something that adds nodes to a graph: Linear, Conv, Sequential. Sizes of inputs are
// read off the values it is applied to.
type Layer interface {
	Build(e *Edit, in ...*Value) []*Value // adds the layer to the graph of e, after in, and returns its outputs; what does not fit fails the edit
}

// Identical is a layer that can start as the identity; Edit.Insert asks for that form.
type Identical interface {
	Layer
	Identity() Layer // a layer like it that computes what it is given
}

// Placed is a layer that depends on where it is put.
type Placed interface {
	Layer
	At(v *Value) Layer // the layer after v
}

func placed(l Layer, at *Value) Layer {
	if p, ok := l.(Placed); ok {
		return p.At(at)
	}
	return l
}

// Silent is a layer that can start by giving zeros: the body of a residual block, or what is put on an edge that is added.
type Silent interface {
	Layer
	Silence() Layer // a layer like it that gives zeros at first
}

// Projection is a layer whose number of outputs can be chosen for the place that it is put in, such as a convolution or a linear layer.
type Projection interface {
	Layer
	// Fit is the layer with the given number of channels, unless it says one itself, padded to keep the other axes unless it pads itself.
	Fit(channels int) Layer
	// Mirror gives two layers for the channels x of a value. The first makes scale·x and −scale·x of them, twice as many channels; the
	// second, of such pairs a and b, gain·(a−b).
	Mirror(at *Value, scale, gain float64) (first, second Layer)
}

// Identity is the layer in the form that starts as the identity, where it has one.
func Identity(l Layer) Layer {
	if i, ok := l.(Identical); ok {
		return i.Identity()
	}
	return l
}

// Silence is the layer in the form that starts by giving zeros, where it has one.
func Silence(l Layer) Layer {
	if s, ok := l.(Silent); ok {
		return s.Silence()
	}
	return l
}

// Apply adds a layer to the graph, with the given values as its inputs, and returns its first output.
func (e *Edit) Apply(l Layer, in ...*Value) *Value {
	out := e.ApplyAll(l, in...)
	if e.err != nil || len(out) == 0 {
		return nil
	}
	return out[0]
}

// ApplyAll is Apply, but returns all outputs.
func (e *Edit) ApplyAll(l Layer, in ...*Value) []*Value {
	if e.err != nil {
		return nil
	}
	if l == nil {
		e.Failf("a layer is nil")
		return nil
	}
	for _, v := range in {
		if v != nil && !e.mine(v) {
			return nil
		}
	}
	e.place = append(e.place, layerName(l))
	defer func() { e.place = e.place[:len(e.place)-1] }()
	out := l.Build(e, in...)
	if e.err == nil && len(out) == 0 {
		e.Failf("the layer has no output")
	}
	return out
}

func layerName(l Layer) string {
	s := fmt.Sprintf("%T", l)
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '.' {
			return s[i+1:]
		}
	}
	return s
}

// Sequential applies layers one after the other. Each takes all outputs of the one before; layers that
// have several outputs, such as LSTM, pass on the first.
type Sequential []Layer

// Build adds the layers after in.
func (s Sequential) Build(e *Edit, in ...*Value) []*Value {
	if len(s) == 0 {
		e.fail(errors.New("there are no layers"))
	}
	at := len(e.place) - 1
	for i, l := range s {
		if at >= 0 {
			defer func(name string) { e.place[at] = name }(e.place[at])
			e.place[at] = fmt.Sprintf("Sequential[%d]", i)
		}
		in = []*Value{e.Apply(l, in...)}
		if e.err != nil {
			return nil
		}
	}
	return in
}

// Identity is the layers in the forms that start as the identity, where they have one.
func (s Sequential) Identity() Layer {
	list := make(Sequential, len(s))
	for i, l := range s {
		list[i] = Identity(l)
	}
	return list
}

// Silence is the layers with a last one that starts by giving zeros, where it can.
func (s Sequential) Silence() Layer {
	if len(s) == 0 {
		return s
	}
	last := len(s) - 1
	return append(s[:last:last], Silence(s[last]))
}

// Func makes a function that adds nodes a layer.
type Func func(e *Edit, in ...*Value) []*Value

// Build calls f.
func (f Func) Build(e *Edit, in ...*Value) []*Value {
	e.made()
	if e.err != nil {
		return nil
	}
	if f == nil {
		e.fail(errNoFunction)
		return nil
	}
	return f(e, in...)
}

// OpLayer makes any operator a layer.
type OpLayer struct {
	Config  op.Config // the operator and its attributes
	Outputs int       // 0: 1
	Name    string    // of its nodes and parameters; "": one is made
}

// Build adds the operator with in as its inputs.
func (o OpLayer) Build(e *Edit, in ...*Value) []*Value {
	e.made()
	if e.err != nil {
		return nil
	}
	if o.Config == nil {
		e.fail(errors.New("no operator is given"))
		return nil
	}
	return e.Op(o.Name, o.Config, max(o.Outputs, 1), in...)
}

package nn

import (
	"errors"
	"fmt"

	"github.com/graft-ml/graft/nn/op"
)

// Layer is something that adds nodes to a graph: Linear, Conv, Sequential. It takes the sizes of its inputs from the
// values that it is applied to.
type Layer interface {
	Build(e *Edit, in ...*Value) []*Value // Build adds the layer to the graph of e, with in as its inputs, and returns its outputs. If it does not fit, it makes e fail.
}

// Identical is a layer that can be initialized as the identity; Edit.Insert does so.
type Identical interface {
	Layer
	Identity() Layer // Identity returns the same layer with parameters for which it returns its input.
}

// Placed is a layer that depends on where it is inserted.
type Placed interface {
	Layer
	At(v *Value) Layer // At returns the layer to insert after v.
}

func placed(l Layer, at *Value) Layer {
	if p, ok := l.(Placed); ok {
		return p.At(at)
	}
	return l
}

// Silent is a layer that can be initialized so that it returns zeros. This is used for the body of a residual block and
// for a value that is added to another.
type Silent interface {
	Layer
	Silence() Layer // Silence returns the same layer with parameters for which it returns zeros.
}

// Projection is a layer whose number of output channels can be chosen to fit the place where it is inserted, such as a
// convolution or a linear layer.
type Projection interface {
	Layer
	// Fit returns the layer with the given number of channels, unless it sets one itself, and padded so that the other axes
	// keep their lengths, unless it sets a padding.
	Fit(channels int) Layer
	// Mirror returns two layers for the channels x of a value. The first computes scale·x and −scale·x, twice as many
	// channels; the second computes gain·(a−b) for each such pair a and b.
	Mirror(at *Value, scale, gain float64) (first, second Layer)
}

// Identity returns l initialized as the identity, if it is Identical, and l otherwise.
func Identity(l Layer) Layer {
	if i, ok := l.(Identical); ok {
		return i.Identity()
	}
	return l
}

// Silence returns l initialized so that it returns zeros, if it is Silent, and l otherwise.
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

// Sequential applies layers one after the other. Each gets all outputs of the one before; of layers with several outputs,
// such as LSTM, only the first is passed on.
type Sequential []Layer

// Build adds the layers in order, the first with the inputs in.
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

// Identity returns the layers, each initialized as the identity if it can be.
func (s Sequential) Identity() Layer {
	list := make(Sequential, len(s))
	for i, l := range s {
		list[i] = Identity(l)
	}
	return list
}

// Silence returns the layers with the last one initialized to return zeros, if it can be.
func (s Sequential) Silence() Layer {
	if len(s) == 0 {
		return s
	}
	last := len(s) - 1
	return append(s[:last:last], Silence(s[last]))
}

// LayerFunc is a function that is a Layer.
type LayerFunc func(e *Edit, in ...*Value) []*Value

// Build calls f.
func (f LayerFunc) Build(e *Edit, in ...*Value) []*Value {
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

// OpLayer makes a layer of any operator.
type OpLayer struct {
	Config  op.Config // the operator and its attributes
	Outputs int       // number of outputs; 0: 1
	Name    string    // of its nodes and parameters; "": generated
}

// Build adds the operator with the inputs in.
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

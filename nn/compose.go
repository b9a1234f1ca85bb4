package nn

import (
	"errors"
	"fmt"

	"github.com/graft-ml/graft/nn/op"
)

// Sequential applies layers one after the other. Each takes all outputs of the one before; layers that
// have several outputs, such as LSTM, pass on the first.
type Sequential []Layer

// Build adds the layers behind in.
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
		list[i] = identical(l)
	}
	return list
}

func identical(l Layer) Layer {
	if i, ok := l.(Identical); ok {
		return i.Identity()
	}
	return l
}

// Named puts a name and a dot in front of what a layer calls its nodes and parameters.
type Named struct {
	Name  string // what names begin with
	Layer Layer  // the layer that is built so
}

// Build adds the layer behind in.
func (n Named) Build(e *Edit, in ...*Value) []*Value {
	e.made()
	if e.err != nil {
		return nil
	}
	old := e.scope
	e.scope = e.begin("", n.Name) + "."
	defer func() { e.scope = old }()
	return e.ApplyAll(n.Layer, in...)
}

// Identity is the layer's identity under the same name.
func (n Named) Identity() Layer { return Named{n.Name, identical(n.Layer)} }

// Residual adds a layer's output to its input: x + Body(x).
type Residual struct {
	Body     Layer
	Shortcut Layer  // applied to x where the body changes its shape; nil: x as it is
	Name     string // of its nodes and parameters; "": one is made
}

// Build adds the layer behind in[0].
func (r Residual) Build(e *Edit, in ...*Value) []*Value {
	x := e.only(in)
	y := e.Apply(r.Body, x)
	if r.Shortcut != nil {
		x = e.Apply(r.Shortcut, x)
	}
	return []*Value{e.put(e.begin("add", r.Name), "Add", nil, x, y)}
}

// Identity is the layer with a body whose last convolution or matrix is zero, so that the input passes
// unchanged. A body that does not end in one stays as it is.
func (r Residual) Identity() Layer {
	if r.Shortcut == nil {
		r.Body = silent(r.Body)
	} else {
		r.Shortcut, r.Body = identical(r.Shortcut), silent(r.Body)
	}
	return r
}

// silent is a layer that starts by giving zeros, where it can.
func silent(l Layer) Layer {
	switch l := l.(type) {
	case Linear:
		l.Init, l.BiasInit = Zeros{}, Zeros{}
		return l
	case Conv:
		l.Init, l.BiasInit = Zeros{}, Zeros{}
		return l
	case Named:
		return Named{l.Name, silent(l.Layer)}
	case Sequential:
		if len(l) > 0 {
			last := len(l) - 1
			return append(l[:last:last], silent(l[last]))
		}
	}
	return l
}

// Parallel applies layers to the same input and joins their outputs along an axis.
type Parallel struct {
	Branches []Layer // layers that get the same inputs
	Axis     int     // 0: 1, the channels
	Name     string  // of its nodes and parameters; "": one is made
}

// Build adds the layers behind in.
func (p Parallel) Build(e *Edit, in ...*Value) []*Value {
	if len(p.Branches) == 0 {
		e.fail(errors.New("there are no branches"))
	}
	var list []*Value
	for _, l := range p.Branches {
		list = append(list, e.Apply(l, in...))
	}
	return Concat{Axis: p.Axis, Name: p.Name}.Build(e, list...)
}

// Concat joins its inputs along an axis.
type Concat struct {
	Axis int    // 0: 1, the channels
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer behind in.
func (c Concat) Build(e *Edit, in ...*Value) []*Value {
	e.made()
	if e.err != nil || len(in) == 0 {
		e.fail(errors.New("there is nothing to join"))
		return nil
	}
	axis := c.Axis
	if axis == 0 {
		axis = 1
	}
	return []*Value{e.put(e.begin("concat", c.Name), "Concat", attrs{"axis": e.axis(in[0], axis)}, in...)}
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

// Op makes any operator a layer.
type Op struct {
	Config  op.Config // the operator and its attributes
	Outputs int       // 0: 1
	Name    string    // of its nodes and parameters; "": one is made
}

// Build adds the operator with in as its inputs.
func (o Op) Build(e *Edit, in ...*Value) []*Value {
	e.made()
	if e.err != nil {
		return nil
	}
	if o.Config == nil {
		e.fail(errors.New("no operator is given"))
		return nil
	}
	return e.named(o.Name, o.Config, max(o.Outputs, 1), in)
}

package layers

import (
	"errors"

	"github.com/graft-ml/graft/nn"
)

// Named puts a name and a dot in front of what a layer calls its nodes and parameters.
type Named struct {
	Name  string   // what names begin with
	Layer nn.Layer // the layer that is built so
}

// Build adds the layer after in.
func (n Named) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	if e.Err() != nil {
		return nil
	}
	var out []*nn.Value
	e.Scope(e.Label("", n.Name)+".", func() { out = e.ApplyAll(n.Layer, in...) })
	return out
}

// Identity is the layer's identity under the same name.
func (n Named) Identity() nn.Layer { return Named{n.Name, nn.Identity(n.Layer)} }

// Silence is the layer under the same name, giving zeros at first where it can.
func (n Named) Silence() nn.Layer { return Named{n.Name, nn.Silence(n.Layer)} }

// Residual adds a layer's output to its input: x + Body(x).
type Residual struct {
	Body     nn.Layer
	Shortcut nn.Layer // applied to x where the body changes its shape; nil: x as it is
	Name     string   // of its nodes and parameters; "": one is made
}

// Build adds the layer after in[0].
func (r Residual) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	y := e.Apply(r.Body, x)
	if r.Shortcut != nil {
		x = e.Apply(r.Shortcut, x)
	}
	return []*nn.Value{put(e, e.Label("add", r.Name), "Add", nil, x, y)}
}

// Identity is the layer with a body whose last convolution or matrix is zero, so that the input passes
// unchanged. A body that does not end in one stays as it is.
func (r Residual) Identity() nn.Layer {
	if r.Shortcut == nil {
		r.Body = nn.Silence(r.Body)
	} else {
		r.Shortcut, r.Body = nn.Identity(r.Shortcut), nn.Silence(r.Body)
	}
	return r
}

// Parallel applies layers to the same input and joins their outputs along an axis.
type Parallel struct {
	Branches []nn.Layer // layers that get the same inputs
	Axis     int        // 0: 1, the channels
	Name     string     // of its nodes and parameters; "": one is made
}

// Build adds the layers after in.
func (p Parallel) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	if len(p.Branches) == 0 {
		e.Fail(errors.New("there are no branches"))
	}
	var list []*nn.Value
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

// Build adds the layer after in.
func (c Concat) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	if e.Err() != nil || len(in) == 0 {
		e.Fail(errors.New("there is nothing to join"))
		return nil
	}
	axis := c.Axis
	if axis == 0 {
		axis = 1
	}
	return []*nn.Value{put(e, e.Label("concat", c.Name), "Concat", attrs{"axis": axisOf(e, in[0], axis)}, in...)}
}

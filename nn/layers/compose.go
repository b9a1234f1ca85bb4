package layers

import (
	"errors"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
)

// Named prefixes the names of a layer's nodes and parameters with a name and a dot.
type Named struct {
	Name  string   // the prefix
	Layer nn.Layer // the layer
}

// Build adds the layer with the inputs in.
func (n Named) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	if e.Err() != nil {
		return nil
	}
	var out []*nn.Value
	e.Scope(e.Label("", n.Name)+".", func() { out = e.ApplyAll(n.Layer, in...) })
	return out
}

// Identity returns the layer initialized as the identity, with the same prefix.
func (n Named) Identity() nn.Layer { return Named{n.Name, nn.Identity(n.Layer)} }

// Silence returns the layer initialized to return zeros, if it can be, with the same prefix.
func (n Named) Silence() nn.Layer { return Named{n.Name, nn.Silence(n.Layer)} }

// Residual adds the output of a layer to its input: x + Body(x).
type Residual struct {
	Body     nn.Layer // the layer
	Shortcut nn.Layer // applied to x if Body changes the shape; nil: x is added as it is
	Name     string   // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (r Residual) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	y := e.Apply(r.Body, x)
	if r.Shortcut != nil {
		x = e.Apply(r.Shortcut, x)
	}
	return []*nn.Value{put(e, e.Label("add", r.Name), "Add", nil, x, y)}
}

// Identity returns the layer with a body whose last layer is initialized to zero, if that is possible, so that the input
// passes unchanged.
func (r Residual) Identity() nn.Layer {
	if r.Shortcut == nil {
		r.Body = nn.Silence(r.Body)
	} else {
		r.Shortcut, r.Body = nn.Identity(r.Shortcut), nn.Silence(r.Body)
	}
	return r
}

// Parallel applies several layers to the same inputs and concatenates their outputs.
type Parallel struct {
	Branches []nn.Layer // the layers
	Axis     *int       // axis of the concatenation, negative from the last; nil: 1, the channels
	Name     string     // of its nodes and parameters; "": one is made
}

// Build adds the layer with the inputs in.
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

// Concat concatenates its inputs along an axis.
type Concat struct {
	Axis   *int   // negative from the last; nil: 1, the channels
	Repeat bool   // repeat an input of one sample for the batch of the others: learned tokens before a sequence
	Name   string // of its nodes and parameters; "": one is made
}

// Build adds the layer with the inputs in.
func (c Concat) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	if e.Err() != nil || len(in) == 0 {
		e.Fail(errors.New("there is nothing to join"))
		return nil
	}
	name, axis := e.Label("concat", c.Name), axisOf(e, in[0], axisOr(c.Axis, 1))
	if c.Repeat {
		in = forBatch(e, name, in)
	}
	return []*nn.Value{put(e, name, "Concat", attrs{"axis": axis}, in...)}
}

// forBatch repeats the inputs whose first axis has length 1 as often as the first of the other inputs is long there.
func forBatch(e *nn.Edit, name string, in []*nn.Value) []*nn.Value {
	single := func(v *nn.Value) bool { return v.Type().Rank() > 0 && v.Type().Shape[0] == op.D(1) }
	i := slices.IndexFunc(in, func(v *nn.Value) bool { return !single(v) })
	if e.Err() != nil || i < 0 || !slices.ContainsFunc(in, single) {
		return in
	}
	shape := []*nn.Value{put(e, "", "Gather", attrs{"axis": 0}, put(e, "", "Shape", nil, in[i]), e.Ints(name+".batch", 0))}
	if ones := in[i].Type().Rank() - 1; ones > 0 {
		shape = append(shape, e.Ints(name+".ones", slices.Repeat([]int{1}, ones)...))
	}
	times := put(e, name+".shape", "Concat", attrs{"axis": 0}, shape...)
	in = slices.Clone(in)
	for k, v := range in {
		if single(v) {
			in[k] = put(e, "", "Expand", nil, v, times)
		}
	}
	return in
}

package layers

import (
	"cmp"
	"fmt"
	"math"

	"github.com/graft-ml/graft/nn"
)

// Flatten returns a matrix: the axes before Axis become its rows, the others its columns.
type Flatten struct {
	Axis *int   // from 0 to the rank, or negative from the last; nil: 1
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (f Flatten) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	return []*nn.Value{put(e, e.Label("flatten", f.Name), "Flatten", attrs{"axis": axisOr(f.Axis, 1)}, x)}
}

// Reshape changes the shape of a tensor. In Dims, 0 keeps the length of that axis, and −1, which may occur once, is
// computed from the number of elements.
type Reshape struct {
	Dims []int
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (r Reshape) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	name := e.Label("reshape", r.Name)
	return []*nn.Value{reshape(e, name, x, r.Dims...)}
}

func reshape(e *nn.Edit, name string, x *nn.Value, dims ...int) *nn.Value {
	if e.Err() != nil {
		return nil
	}
	return put(e, name, "Reshape", nil, x, e.Ints(name+".shape", dims...))
}

// Transpose permutes the axes: axis i of the result is axis Perm[i] of the input. A nil Perm reverses them.
type Transpose struct {
	Perm []int
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (t Transpose) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	a := attrs{}
	if len(t.Perm) > 0 {
		a["perm"] = t.Perm
	}
	return []*nn.Value{put(e, e.Label("transpose", t.Name), "Transpose", a, only(e, in))}
}

// Slice keeps the elements from From, inclusive, to To, exclusive, along an axis, or every Step-th of them. Negative
// positions count from the end.
type Slice struct {
	Axis     int    // a negative one counts from the last
	From, To int    // To 0: the end
	Step     int    // 0: 1
	Name     string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (s Slice) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, name := only(e, in), e.Label("slice", s.Name)
	if s.Step < 0 && e.Err() == nil {
		e.Failf("Step is %d: want a positive number", s.Step)
	}
	return []*nn.Value{slice(e, name, x, s.Axis, s.From, cmp.Or(s.To, math.MaxInt), cmp.Or(s.Step, 1))}
}

func slice(e *nn.Edit, name string, x *nn.Value, axis, from, to, step int) *nn.Value {
	in := []*nn.Value{x, e.Ints(name+".starts", from), e.Ints(name+".ends", to), e.Ints(name+".axes", axis)}
	if step != 1 {
		in = append(in, e.Ints(name+".steps", step))
	}
	return put(e, name, "Slice", nil, in...)
}

// Roll moves elements along an axis by By positions, towards the end if By is positive; elements that
// pass the end continue at the beginning.
type Roll struct {
	Axis int    // a negative one counts from the last
	By   int    // number of places; not 0
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (r Roll) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	if r.By == 0 && e.Err() == nil {
		e.Failf("By is 0: want the number of places")
	}
	name := e.Label("roll", r.Name)
	last, first := slice(e, name+".last", x, r.Axis, -r.By, math.MaxInt, 1), slice(e, name+".first", x, r.Axis, 0, -r.By, 1)
	return []*nn.Value{put(e, name, "Concat", attrs{"axis": r.Axis}, last, first)}
}

// Dropout sets elements to zero with probability P in training and divides the others by 1−P. Otherwise it does nothing.
type Dropout struct {
	P    float64 // probability, from 0 (nothing is dropped) to less than 1
	Name string  // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (d Dropout) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	return []*nn.Value{dropout(e, e.Label("dropout", d.Name), x, d.P)}
}

func dropout(e *nn.Edit, name string, x *nn.Value, p float64) *nn.Value {
	if !(p >= 0 && p < 1) { // NaN is refused, too
		e.Fail(fmt.Errorf("cannot drop a share of %g: want 0 or more and less than 1", p))
	}
	return put(e, name, "Dropout", nil, x, e.Scalar(name+".ratio", x, p))
}

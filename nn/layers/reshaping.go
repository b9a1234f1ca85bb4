package layers

import (
	"cmp"
	"fmt"

	"github.com/graft-ml/graft/nn"
)

// Flatten returns a matrix: the axes before Axis become its rows, the others its columns.
type Flatten struct {
	Axis int    // 0: 1
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (f Flatten) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	axis := f.Axis
	if axis == 0 {
		axis = 1
	}
	return []*nn.Value{put(e, e.Label("flatten", f.Name), "Flatten", attrs{"axis": axis}, x)}
}

// Reshape gives a tensor another shape. In Dims, 0 keeps the length of that axis, and −1, which may occur once, is
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

// Dropout sets elements to zero with probability P in training and divides the others by 1−P. Otherwise it does nothing.
type Dropout struct {
	P    float64 // probability; 0: 0.5
	Name string  // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (d Dropout) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	p := cmp.Or(d.P, 0.5)
	if !(p > 0 && p < 1) { // NaN is refused, too
		e.Fail(fmt.Errorf("cannot drop a share of %g: want 0 or more and less than 1", p))
	}
	name := e.Label("dropout", d.Name)
	return []*nn.Value{put(e, name, "Dropout", nil, x, e.Scalar(name+".ratio", x, p))}
}

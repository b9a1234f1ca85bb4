package layers

import (
	"cmp"
	"fmt"

	"github.com/graft-ml/graft/nn"
)

// Flatten makes a matrix: the axes before Axis become its rows, the rest its columns.
type Flatten struct {
	Axis int    // 0: 1
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer after in[0].
func (f Flatten) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	axis := f.Axis
	if axis == 0 {
		axis = 1
	}
	return []*nn.Value{put(e, e.Label("flatten", f.Name), "Flatten", attrs{"axis": axis}, x)}
}

// Reshape gives a tensor another shape. In Dims 0 means the length the axis has, −1 what is left.
type Reshape struct {
	Dims []int
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer after in[0].
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

// Transpose reorders axes: axis i of the result is axis Perm[i] of the input. nil reverses them.
type Transpose struct {
	Perm []int
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer after in[0].
func (t Transpose) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	a := attrs{}
	if len(t.Perm) > 0 {
		a["perm"] = t.Perm
	}
	return []*nn.Value{put(e, e.Label("transpose", t.Name), "Transpose", a, only(e, in))}
}

// Dropout sets a share of the elements to zero when training and scales the others up to match.
type Dropout struct {
	P    float64 // share; 0: 0.5
	Name string  // of its nodes and parameters; "": one is made
}

// Build adds the layer after in[0].
func (d Dropout) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	p := cmp.Or(d.P, 0.5)
	if !(p > 0 && p < 1) { // NaN is refused, too
		e.Fail(fmt.Errorf("cannot drop a share of %g: want 0 or more and less than 1", p))
	}
	name := e.Label("dropout", d.Name)
	return []*nn.Value{put(e, name, "Dropout", nil, x, e.Scalar(name+".ratio", x, p))}
}

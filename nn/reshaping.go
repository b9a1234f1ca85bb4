package nn

import "fmt"

// Flatten makes a matrix: the axes before Axis become its rows, the rest its columns.
type Flatten struct {
	Axis int    // 0: 1
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer behind in[0].
func (f Flatten) Build(e *Edit, in ...*Value) []*Value {
	x := e.only(in)
	axis := f.Axis
	if axis == 0 {
		axis = 1
	}
	return []*Value{e.put(e.begin("flatten", f.Name), "Flatten", attrs{"axis": axis}, x)}
}

// Reshape gives a tensor another shape. In Dims 0 means the length the axis has, −1 what is left.
type Reshape struct {
	Dims []int
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer behind in[0].
func (r Reshape) Build(e *Edit, in ...*Value) []*Value {
	x := e.only(in)
	name := e.begin("reshape", r.Name)
	return []*Value{e.reshape(name, x, r.Dims...)}
}

func (e *Edit) reshape(name string, x *Value, dims ...int) *Value {
	if e.err != nil {
		return nil
	}
	return e.put(name, "Reshape", nil, x, e.Ints(name+".shape", dims...))
}

// Transpose reorders axes: axis i of the result is axis Perm[i] of the input. nil reverses them.
type Transpose struct {
	Perm []int
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer behind in[0].
func (t Transpose) Build(e *Edit, in ...*Value) []*Value {
	a := attrs{}
	if len(t.Perm) > 0 {
		a["perm"] = t.Perm
	}
	return []*Value{e.put(e.begin("transpose", t.Name), "Transpose", a, e.only(in))}
}

// Dropout sets a share of the elements to zero when training and scales the others up to match.
type Dropout struct {
	P    float64 // share; 0: 0.5
	Name string  // of its nodes and parameters; "": one is made
}

// Build adds the layer behind in[0].
func (d Dropout) Build(e *Edit, in ...*Value) []*Value {
	x := e.only(in)
	p := or(d.P, 0.5)
	if !(p > 0 && p < 1) { // NaN is refused, too
		e.fail(fmt.Errorf("cannot drop a share of %g: want 0 or more and less than 1", p))
	}
	name := e.begin("dropout", d.Name)
	return []*Value{e.put(name, "Dropout", nil, x, e.Scalar(name+".ratio", x, p))}
}

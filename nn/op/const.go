package op

import (
	"fmt"
	"strings"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// constPrefix marks the input nodes that hold constants. Gorgonia's own constants are merged by
// their printed text, which is wrong for tensors; lowered names never begin with this.
const constPrefix = "const "

// Const returns an input node with a value that never changes.
func Const(g *gorgonia.ExprGraph, v dtype.Value) (*gorgonia.Node, error) {
	return Input(g, fmt.Sprintf("%s%d", constPrefix, serial.Add(1)), TypeOf(v), v)
}

// IsConst reports whether n was made by Const.
func IsConst(n *gorgonia.Node) bool {
	return n != nil && n.IsVar() && strings.HasPrefix(n.Name(), constPrefix)
}

// Input returns an input node of the given type, bound to v unless that is nil. The name must be unique in g: Gorgonia
// merges inputs of the same name, type and shape.
func Input(g *gorgonia.ExprGraph, name string, t Type, v dtype.Value) (n *gorgonia.Node, err error) {
	defer func() { // gorgonia's options panic
		if r := recover(); r != nil {
			err = &Error{Stage: "lower", Input: name, Err: fmt.Errorf("%v", r)}
		}
	}()
	shape := tensor.ScalarShape()
	if t.Kind == Tensor && t.DType != dtype.String {
		if !t.Static() {
			return nil, &Error{Stage: "lower", Input: name, Want: "a static shape", Got: t}
		}
		shape = t.TensorShape()
	}
	if err := engine.HoldNodes(g, len(g.AllNodes())+1); err != nil {
		return nil, &Error{Stage: "lower", Input: name, Err: err}
	}
	n = gorgonia.NewUniqueNode(gorgonia.WithType(nodeType(t)), gorgonia.WithName(name), gorgonia.WithShape(shape...), gorgonia.In(g))
	if v != nil {
		Bind(n, v)
	}
	return n, nil
}

// Bind sets the value of an input node without copying its elements. A tensor of rank 0 gets a separate header, since
// Gorgonia reshapes it and the tensor may belong to several graphs.
func Bind(n *gorgonia.Node, v dtype.Value) {
	if d, ok := v.(*tensor.Dense); ok && d.Dims() == 0 {
		if own, err := dtype.View(d); err == nil {
			v = own
		}
	}
	gorgonia.WithValue(v)(n)
}

// Scalar returns a constant of rank 0.
func Scalar(g *gorgonia.ExprGraph, t DType, x float64) (*gorgonia.Node, error) {
	v, err := dtype.FromFloats(t, []float64{x})
	if err != nil {
		return nil, err
	}
	return Const(g, v)
}

// Formal returns an input node without a value, for an input of a subgraph. Gorgonia never merges it with another node.
func Formal(g *gorgonia.ExprGraph, t Type) (*gorgonia.Node, error) {
	return Input(g, fmt.Sprintf("input of a body %d", serial.Add(1)), t, nil)
}

package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// varying adds a constant that depends on the sizes.
func (s *Site) varying() (v *Value, differs bool) {
	rows := make([][]float64, len(s.at))
	whole := make([][]int, len(s.at))
	var like *tensor.Dense
	for k, n := range s.at {
		x, _ := valueOf(constantValue(n))
		d, ok := x.(*tensor.Dense) // false after an error
		if !ok {
			return nil, false
		}
		if k == 0 {
			like = d
		} else if d.Dtype() != like.Dtype() || len(d.Shape()) != len(like.Shape()) {
			s.Failf("the type of a constant depends on a symbol")
			return nil, true
		}
		rows[k], whole[k] = floats(d)
		differs = differs || slices.Compare(rows[k], rows[0]) != 0 // NaN is equal to NaN
	}
	if !differs {
		return nil, false
	}
	t := dtype.Of(like.Dtype())
	if len(like.Shape()) > 1 || len(like.Shape()) == 1 && !t.IsInteger() {
		s.Failf("the value of a constant depends on a symbol")
		return nil, true
	}
	inverse := t.IsFloat() && invert(rows, whole)
	for k, r := range rows {
		for i, x := range r {
			y := float64(whole[k][i])
			if inverse {
				y = 1 / y
			}
			if math.Abs(x-y) > 1e-6*math.Abs(x) {
				s.Failf("the value of a constant depends on a symbol")
				return nil, true
			}
		}
	}
	v = s.vector(s.transpose(whole))
	if len(like.Shape()) == 0 {
		v = s.Node(std.SqueezeConfig{}, v, s.vector([]size{s.t.fixed(0)}))
	}
	if t != dtype.Int64 {
		v = s.Node(std.CastConfig{To: t}, v)
	}
	if inverse {
		v = s.Node(op.Plain("Reciprocal"), v)
	}
	return v, true
}

// invert replaces fractions by the integers that they are the inverses of, if all are.
func invert(rows [][]float64, whole [][]int) bool {
	all := true
	for k, r := range rows {
		for i, x := range r {
			all = all && x == float64(whole[k][i])
		}
	}
	if all {
		return false
	}
	for k, r := range rows {
		for i, x := range r {
			whole[k][i] = int(math.Round(1 / x))
		}
	}
	return true
}

// constantValue returns the value of a node that is a constant.
func constantValue(n *gorgonia.Node) gorgonia.Value {
	if c, ok := n.Op().(interface{ Value() gorgonia.Value }); ok {
		return c.Value()
	}
	return n.Value()
}

// floats returns the elements of a numeric tensor, unchanged and truncated to integers.
func floats(d *tensor.Dense) ([]float64, []int) {
	x, err := dtype.Float64s(d)
	if err != nil {
		return nil, nil
	}
	n := make([]int, len(x))
	for i := range x {
		n[i] = int(x[i])
	}
	return x, n
}

// valueOf converts Gorgonia's value to one of a graph: a dense, contiguous tensor or a string tensor.
func valueOf(v gorgonia.Value) (dtype.Value, error) {
	switch x := v.(type) {
	case *tensor.Dense:
		return contiguous(x)
	case *dtype.Strings:
		return x, nil
	case gorgonia.Scalar:
		return scalarValue(x)
	}
	if d, ok := v.(dtype.Value); ok {
		return d, nil
	}
	return nil, fmt.Errorf("a value of type %T has no ONNX form", v)
}

// contiguous returns the tensor itself, or a row-major copy if it is transposed, a view, or of Go's int, which becomes
// int64.
func contiguous(d *tensor.Dense) (dtype.Value, error) {
	d, err := engine.RowMajor(d)
	switch {
	case err != nil:
		return nil, err
	case d.Dtype() == tensor.Int:
		list, _ := d.Data().([]int)
		return dtype.FromInts(dtype.Int64, list, d.Shape()...)
	case dtype.Of(d.Dtype()) == dtype.Undefined:
		return nil, fmt.Errorf("elements of type %v have no ONNX form", d.Dtype())
	}
	return d, nil
}

// scalarValue returns a tensor of rank 0.
func scalarValue(x gorgonia.Scalar) (dtype.Value, error) {
	t := dtype.Of(x.Dtype())
	switch n := x.Data().(type) {
	case float64:
		return dtype.FromFloats(t, []float64{n})
	case float32:
		return dtype.FromFloats(t, []float64{float64(n)})
	case int:
		return dtype.FromInts(dtype.Int64, []int{n})
	case int64:
		return dtype.FromInts(t, []int{int(n)})
	case int32:
		return dtype.FromInts(t, []int{int(n)})
	case byte:
		return dtype.FromInts(t, []int{int(n)})
	case bool:
		return dtype.FromSlice([]bool{n})
	}
	return nil, fmt.Errorf("a scalar of type %v has no ONNX form", x.Dtype())
}

package engine

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// load reads the value of a source for the coming run.
func (v *value) load() error {
	val := v.bound
	if val == nil {
		val = v.node.Value()
	}
	if val == nil {
		return fmt.Errorf("engine: input %q has no value", v.name)
	}
	if err := v.accepts(val); err != nil {
		return err
	}
	if d, ok := val.(*tensor.Dense); ok {
		v.val = d
		if regular(d) {
			v.dense = d
			return nil
		}
		mem := alignedBytes(int64(d.Shape().TotalSize()) * int64(d.Dtype().Size()))
		v.dense = header(d.Dtype(), d.Shape(), mem)
		return flatten(mem, d)
	}
	own := v.val != nil && v.dense != nil && len(v.dense.Shape()) == 0 && v.val == gorgonia.Value(v.dense)
	if _, ok := val.(gorgonia.Scalar); !ok {
		v.val, v.dense = val, nil
		return nil
	}
	if !own { // the scalar's tensor, kept from run to run
		v.dense = header(v.dtype, tensor.ScalarShape(), alignedBytes(int64(v.dtype.Size())))
		v.val = v.dense
	}
	if !setScalar(v.dense, val) {
		v.val, v.dense = val, nil
	}
	return nil
}

// accepts checks element type and shape of a value for source v. What is neither a tensor nor a
// toScalar is left to its readers.
func (v *value) accepts(val gorgonia.Value) error {
	shape := tensor.ScalarShape()
	switch d := val.(type) {
	case *tensor.Dense:
		if shape = d.Shape(); v.shape == nil {
			shape = nil // not known
		}
	case gorgonia.Scalar:
	default:
		return nil
	}
	if val.Dtype() != v.dtype || !slices.Equal(shape, v.shape) {
		return fmt.Errorf("engine: input %q: wanted %v%v, got %v%v", v.name, v.dtype, v.shape, val.Dtype(), val.Shape())
	}
	return nil
}

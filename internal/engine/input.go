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
		return fmt.Errorf("engine: input %q has no value", v.name())
	}
	if err := v.accepts(val); err != nil {
		return err
	}
	v.val, v.dense = val, nil
	switch d := val.(type) {
	case *tensor.Dense:
		var err error
		v.dense, err = RowMajor(d)
		return err
	case gorgonia.Scalar:
		if v.cell == nil {
			v.cell = header(v.dtype, tensor.ScalarShape(), alignedBytes(int64(v.dtype.Size())))
		}
		if setScalar(v.cell, d) {
			v.dense = v.cell
		}
	}
	return nil
}

// accepts checks element type and shape of a value for source v. Values that are neither a tensor nor a scalar are
// checked by their readers.
func (v *value) accepts(val gorgonia.Value) error {
	shape := tensor.ScalarShape()
	switch d := val.(type) {
	case *tensor.Dense:
		if shape = d.Shape(); v.shape == nil {
			shape = nil // unknown
		}
	case gorgonia.Scalar:
	default:
		return nil
	}
	if val.Dtype() != v.dtype || !slices.Equal(shape, v.shape) {
		return fmt.Errorf("engine: input %q: wanted %v%v, got %v%v", v.name(), v.dtype, v.shape, val.Dtype(), val.Shape())
	}
	return nil
}

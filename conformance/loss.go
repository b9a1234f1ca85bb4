package conformance

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// The operators of losses; they compute the same in every opset version.
const (
	add = op.Plain("Add")
	mul = op.Plain("Mul")
)

// sumOf returns the sum over all elements of v × weight, of rank 0. The weight has the shape of v.
func sumOf(e *nn.Edit, v *nn.Value, weight *tensor.Dense) *nn.Value {
	product := e.Node(mul, v, e.Const(e.New("weight"), weight)).Out(0)
	return e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, product).Out(0)
}

// ones returns a tensor of the type and shape of d whose elements are 1.
func ones(d *tensor.Dense) (*tensor.Dense, error) {
	x := make([]float64, d.Shape().TotalSize())
	for i := range x {
		x[i] = 1
	}
	return dtype.FromFloats(dtype.Of(d.Dtype()), x, d.Shape()...)
}

// isFloat returns v as a tensor; ok is false unless it has floating-point elements, for which there are gradients.
func isFloat(v dtype.Value) (*tensor.Dense, bool) {
	d, ok := v.(*tensor.Dense)
	return d, ok && d != nil && dtype.Of(d.Dtype()).IsFloat()
}

// crossEntropy returns the mean over the rows of the softmax cross-entropy of logits [rows, classes] with labels, computed in
// float64, and its gradient with respect to the logits: (softmax − one-hot) / rows.
func crossEntropy(logits *tensor.Dense, labels []int) (loss float64, grad *tensor.Dense, err error) {
	shape := logits.Shape()
	if len(shape) != 2 || shape[0] != len(labels) {
		return 0, nil, fmt.Errorf("output 0 has shape %v, there are %d labels", shape, len(labels))
	}
	x, err := dtype.Float64s(logits)
	if err != nil {
		return 0, nil, err
	}
	rows, classes := shape[0], shape[1]
	for i, l := range labels {
		if l < 0 || l >= classes {
			return 0, nil, fmt.Errorf("label %d is not in [0, %d)", l, classes)
		}
		row := x[i*classes:][:classes]
		top, sum, at := slices.Max(row), 0.0, row[l]
		for k, v := range row {
			row[k] = math.Exp(v - top)
			sum += row[k]
		}
		loss += (math.Log(sum) + top - at) / float64(rows)
		for k := range row {
			row[k] /= sum * float64(rows)
		}
		row[l] -= 1 / float64(rows)
	}
	grad, err = dtype.FromFloats(dtype.Of(logits.Dtype()), x, shape...)
	return loss, grad, err
}

package onnxio

import (
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio/onnxpb"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// lossBuilder appends a loss to a model before it is loaded, in operators whose meaning no
// operator-set version changes.
type lossBuilder struct {
	graph *onnxpb.GraphProto
	g     *nn.Graph // the model without the loss, types inferred
	set   *DataSet
	count int
}

// withLoss loads the model with a loss on the data set attached to it, named lossName.
func (r *caseRun) withLoss(set string, build func(*lossBuilder) error) (*nn.Graph, *DataSet, error) {
	g, err := r.loader().Load("model.onnx")
	if err != nil {
		return nil, nil, err
	}
	data, err := ReadDataSet(r.fsys, set, declaredOf(g.Inputs()), declaredOf(g.Outputs()))
	if err != nil {
		return nil, nil, err
	}
	m, err := r.loader().readModel("model.onnx")
	if err != nil {
		return nil, nil, err
	}
	if err := build(&lossBuilder{graph: m.Graph, g: g, set: data}); err != nil {
		return nil, nil, err
	}
	ext, err := r.loader().external("model.onnx")
	if err != nil {
		return nil, nil, err
	}
	defer ext.close()
	g, err = r.loader().build(m, ext, nil)
	return g, data, err
}

// node adds an operator with one output. An empty name makes one up.
func (b *lossBuilder) node(name, operator string, attrs []*onnxpb.AttributeProto, in ...string) string {
	if name == "" {
		name = fmt.Sprintf("%s_%d", lossName, b.count)
		b.count++
	}
	b.graph.Node = append(b.graph.Node, &onnxpb.NodeProto{
		OpType: proto.String(operator), Input: in, Output: []string{name}, Attribute: attrs,
	})
	return name
}

func (b *lossBuilder) constant(d *tensor.Dense) (string, error) {
	name := fmt.Sprintf("%s_%d", lossName, b.count)
	b.count++
	p, err := encodeTensor(name, d)
	b.graph.Initializer = append(b.graph.Initializer, p)
	return name, err
}

func intAttr(name string, v int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: proto.String(name), Type: onnxpb.AttributeProto_INT.Enum(), I: proto.Int64(v)}
}

// sumUp adds all elements of value × weight up.
func (b *lossBuilder) sumUp(name, value string, weight *tensor.Dense) (string, error) {
	c, err := b.constant(weight)
	if err != nil {
		return "", err
	}
	return b.node(name, "ReduceSum", []*onnxpb.AttributeProto{intAttr("keepdims", 0)}, b.node("", "Mul", nil, value, c)), nil
}

// crossEntropy is the mean over the batch of the softmax cross-entropy of output 0.
func (b *lossBuilder) crossEntropy(labels []int) error {
	out := b.g.Outputs()
	if len(out) == 0 || len(b.set.Outputs) == 0 || b.set.Outputs[0].Value == nil {
		return fmt.Errorf("there is no output 0")
	}
	want := b.set.Outputs[0].Value
	shape := want.Shape()
	if len(shape) != 2 || shape[0] != len(labels) {
		return fmt.Errorf("output 0 has shape %v, there are %d labels", shape, len(labels))
	}
	w := make([]float64, shape[0]*shape[1])
	for i, l := range labels {
		if l < 0 || l >= shape[1] {
			return fmt.Errorf("label %d is outside of %d classes", l, shape[1])
		}
		w[i*shape[1]+l] = -1 / float64(len(labels))
	}
	weight, err := dtype.FromFloats(dtype.DTypeOf(want), w, shape...)
	if err != nil {
		return err
	}
	logs := b.node("", "LogSoftmax", []*onnxpb.AttributeProto{intAttr("axis", 1)}, out[0].Name())
	_, err = b.sumUp(lossName, logs, weight)
	return err
}

// weighted adds up all outputs, weighted by the gradients that they get.
func (b *lossBuilder) weighted() error {
	total := ""
	for i, v := range b.g.Outputs() {
		if i >= len(b.set.Outputs) || b.set.Outputs[i].Value == nil {
			continue
		}
		want, ok := b.set.Outputs[i].Value.(*tensor.Dense)
		if !ok || !dtype.Of(want.Dtype()).IsFloat() {
			continue
		}
		var weight *tensor.Dense
		if i < len(b.set.GradientInputs) && b.set.GradientInputs[i].Value != nil {
			weight, ok = b.set.GradientInputs[i].Value.(*tensor.Dense)
			if !ok || sameType(weight, want) != nil {
				return fmt.Errorf("gradient_input_%d: want %s, got %s", i, describe(want), describe(b.set.GradientInputs[i].Value))
			}
		} else {
			ones := make([]float64, want.Shape().TotalSize())
			for k := range ones {
				ones[k] = 1
			}
			var err error
			if weight, err = dtype.FromFloats(dtype.Of(want.Dtype()), ones, want.Shape()...); err != nil {
				return err
			}
		}
		sum, err := b.sumUp("", v.Name(), weight)
		if err != nil {
			return err
		}
		if total != "" {
			sum = b.node("", "Add", nil, total, sum)
		}
		total = sum
	}
	if total == "" {
		return fmt.Errorf("no output can be differentiated")
	}
	b.node(lossName, "Identity", nil, total)
	return nil
}

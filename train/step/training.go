package step

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// TrainingInfo returns the step of g as an entry of training_info, ONNX's form for training in the model's own file;
// onnxio.SetTrainingInfo adds it to g, which is not changed.
//
// The loss is differentiated by a node Gradient, and SGD with momentum, Adam and Adagrad are the operators of that
// name; other rules, clipping and accumulation are written as standard operators. If the model has operators that
// compute something else in training (batch normalization, Dropout), the whole step is written in standard operators,
// as by Export. The targets are the algorithm's inputs; the optimizer state, the number of the step and "rate", the
// factor on the learning rate, are its initializers.
func (x Exporter) TrainingInfo(g *nn.Graph) (onnxio.Training, error) {
	a, err := x.Config.Attach(g, x.Targets...)
	if err != nil {
		return onnxio.Training{}, err
	}
	for n := range a.Graph.Nodes() {
		if o := n.Op(); o != nil && (o.Random || o.State != nil) {
			return x.writtenOut(g)
		}
	}
	if x.Opset != 0 {
		if err := a.Graph.EditUntil(x.context(), func(e *nn.Edit) { e.SetOpset(x.Opset) }); err != nil {
			return onnxio.Training{}, exportError(err)
		}
	}
	s := &Model{}
	w := x.writer(s, a)
	w.stored = true
	outputs := a.Graph.Outputs()
	err = a.Graph.EditUntil(x.context(), func(e *nn.Edit) {
		d := &nn.Derivation{Loss: a.Loss, In: map[*nn.Param]*nn.Value{}, Grads: w.gradients(e)}
		for _, p := range a.Params {
			d.In[p] = p.Value()
		}
		w.write(e, d)
		w.counted(e)
		for _, v := range outputs { // Attach made the loss an output, with a unique name
			if v == a.Loss && v.Name() != LossName {
				e.RemoveOutput(v.Name())
			}
		}
	})
	if err != nil {
		return onnxio.Training{}, exportError(err)
	}
	return onnxio.Training{Algorithm: a.Graph, Update: s.bindings()}, nil
}

// gradients returns the outputs of a node Gradient of the loss.
func (w *writer) gradients(e *nn.Edit) map[*nn.Param]*nn.Value {
	var c std.GradientConfig
	var in []*nn.Value
	for _, p := range w.of.Params {
		c.Xs, in = append(c.Xs, p.Name()), append(in, p.Value())
	}
	for _, v := range e.Inputs() {
		if len(v.Users()) > 0 {
			c.Zs, in = append(c.Zs, v.Name()), append(in, v)
		}
	}
	c.Y = w.of.Loss.Name()
	n := e.NodeN(c, len(c.Xs), in...)
	list := map[*nn.Param]*nn.Value{}
	for i, p := range w.of.Params {
		list[p] = n.Out(i)
		e.RenameValue(n.Out(i), e.New(p.Name()+".gradient"))
	}
	return list
}

// counted increments the step number.
func (w *writer) counted(e *nn.Edit) {
	b := &builder{e: e}
	w.output(StepInput+suffix, b.do("Add", e.Value(StepInput), b.constant(dtype.Int64, 1)))
}

// bindings returns the bindings of the variables and of the step number.
func (s *Model) bindings() []onnxio.Binding {
	list := []onnxio.Binding{{Initializer: StepInput, Output: StepInput + suffix}}
	for _, v := range s.Variables {
		list = append(list, onnxio.Binding{Initializer: v.Name, Output: v.Next})
	}
	return list
}

// writtenOut returns the step of Export as an entry of training_info: variables that are not the model's become initializers.
func (x Exporter) writtenOut(g *nn.Graph) (onnxio.Training, error) {
	if x.Opset == 0 {
		x.Opset = g.Opsets()[""] // a file has a single opset
	}
	s, err := x.Export(g)
	if err != nil {
		return onnxio.Training{}, err
	}
	first := map[string]*tensor.Dense{StepInput: zeroStep(), RateInput: unitRate()}
	for _, v := range s.Variables {
		if v.Kind == State {
			first[v.Name] = s.first[v.Name]
		}
	}
	if s.Seeded {
		first[SeedInput] = zeroStep()
	}
	err = s.Graph.EditUntil(x.context(), func(e *nn.Edit) {
		for _, n := range e.Select() {
			for _, v := range n.Outputs() {
				if v == nil {
					continue
				}
				if g.Lookup(v.Name()) != nil {
					e.RenameValue(v, e.New("step/"+v.Name()))
				}
			}
		}
		for _, v := range slices.Clone(e.Inputs()) {
			d := first[v.Name()]
			if d == nil {
				continue
			}
			name := v.Name()
			if g.Lookup(name) != nil {
				e.Failf("a value of the model is called %q, as one of the step is: rename it first", name)
				return
			}
			e.Rewire(v, (&builder{e: e}).parameter(name+"_first", d))
			e.RemoveInput(name)
			e.RenameValue(e.Value(name+"_first"), name)
		}
		(&writer{e: e}).counted(e)
	})
	if err != nil {
		return onnxio.Training{}, exportError(err)
	}
	return onnxio.Training{Algorithm: s.Graph, Update: s.bindings()}, nil
}

// parameter adds an initializer with exactly the given name.
func (b *builder) parameter(name string, first *tensor.Dense) *nn.Value {
	v := b.e.Const(name, first.Clone().(*tensor.Dense))
	if b.e.Err() == nil && v.Name() != name {
		b.e.Fail(fmt.Errorf("a value of the model is called %q, as one of the step is: rename it first", name))
		return nil
	}
	return v
}

func zeroStep() *tensor.Dense { return dtype.New(dtype.Int64) }

func unitRate() *tensor.Dense {
	d := dtype.New(dtype.Float32)
	dtype.Slice[float32](d)[0] = 1
	return d
}

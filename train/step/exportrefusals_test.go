package step_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/step"
	"gorgonia.org/tensor"
)

// TestRefusals: what cannot be written down is refused by operator and node.
func TestRefusals(t *testing.T) {
	open := model(t, "float32[T,N,6]", layers.LSTM{Hidden: 4}, layers.Linear{Out: 3})
	for want, f := range map[string]func() error{
		"no ONNX form: LSTM lstm1 (needs operator set 9), RecurrentGrad after LSTM lstm1 (needs operator set 9)": func() error {
			_, err := step.Exporter{Config: train.Config{Loss: train.MSE{}}, Opset: 8}.Export(open)
			return err
		},
		"ConvDataGrad (the padding depends on a symbol: fix it in the type of the model's input)": func() error {
			g := nn.New("net")
			if err := g.Edit(func(e *nn.Edit) {
				x := e.Apply(layers.Conv{Out: 2, Kernel: []int{1}}, e.Input("x", "float32[N,2,T]"))
				w := e.Param("w", initial.FanIn{}, 3, 2, 3)
				y := e.Node(std.ConvConfig{AutoPad: "SAME_UPPER", Strides: []int{2}}, x, w).Out(0)
				e.Output("y", e.Node(op.Plain("GlobalAveragePool"), y).Out(0))
			}); err != nil {
				return err
			}
			_, err := step.Export(g)
			return err
		},
		"MaxPoolGrad of maxpool1 (ScatterElements: attribute reduction needs version 16, the graph has version 13)": func() error {
			_, err := step.Exporter{Opset: 13}.Export(model(t, "float32[N,2,8,8]", layers.Conv{Out: 2, Kernel: []int{1}}, layers.MaxPool{Kernel: []int{2}}, layers.Flatten{}, layers.Linear{Out: 3}))
			return err
		},
		"QuantizeLinear rounded: passes gradients straight through, which no ONNX operator does: remove the quantization from the model, or freeze the parameters before it": func() error {
			g := model(t, "float32[N,6]", layers.Linear{Out: 4, Name: "front"})
			if err := g.Edit(func(e *nn.Edit) {
				y := e.Outputs()[0]
				zero, err := dtype.FromInts(dtype.Int8, []int{3})
				if err != nil {
					t.Fatal(err)
				}
				scale, point := e.Scalar("scale", y, 0.1), e.Const("zero", zero)
				q := e.Node(std.QuantizeLinearConfig{}, y, scale, point)
				e.RenameNode(q, "rounded")
				e.Output("y", e.Node(std.DequantizeLinearConfig{}, q.Out(0), scale, point).Out(0))
				e.RemoveOutput("scores")
			}); err != nil {
				return err
			}
			_, err := step.Exporter{Config: train.Config{Loss: train.MSE{}}}.Export(g)
			return err
		},
		"train: there is no graph": func() error { _, err := step.Export(nil); return err },
		`an input of the model is called "rate", as one of the step is: rename it first`: func() error {
			g := nn.New("net")
			if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(layers.Linear{Out: 2}, e.Input("rate", "float32[N,3]"))) }); err != nil {
				return err
			}
			_, err := step.Export(g)
			return err
		},
		"step_test.unwritten: the update rule has no formula to export: it does not implement optim.Formula": func() error {
			_, err := step.Exporter{Config: train.Config{Rule: unwritten{}}}.Export(model(t, "float32[N,6]", layers.Linear{Out: 3}))
			return err
		},
		"the formula fails": func() error {
			_, err := step.Exporter{Config: train.Config{Rule: formula{err: errors.New("the formula fails")}}}.Export(model(t, "float32[N,6]", layers.Linear{Out: 3}))
			return err
		},
		"a term of an update rule is missing": func() error {
			_, err := step.Exporter{Config: train.Config{Rule: formula{}}}.Export(model(t, "float32[N,6]", layers.Linear{Out: 3}))
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// unwritten is a rule of one's own.
type unwritten struct{ optim.Rule }

func (unwritten) Init(*tensor.Dense) ([]optim.Slot, error) { return nil, nil }

// formula is a rule of one's own whose formula fails, or has a term that is nothing.
type formula struct {
	unwritten
	err error
}

func (f formula) Formula(b optim.Builder, w, _ optim.Term, _ []optim.Term, rate, _ optim.Term) (optim.Term, []optim.Term, error) {
	if f.err != nil {
		return w, nil, f.err
	}
	return b.Sub(w, b.Mul(rate, nil)), nil, nil
}

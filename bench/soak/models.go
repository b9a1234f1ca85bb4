package main

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// model is a served model: a network, inputs of many shapes, and the edits applied to it.
type model struct {
	name  string
	build func(e *nn.Edit)
	input func(i int) *tensor.Dense // the i-th shape
	edits []func(e *nn.Edit)
}

const shapes = 24

var models = []model{
	{
		name: "convolutions",
		build: func(e *nn.Edit) {
			x := e.Apply(nn.Sequential{
				layers.Conv{Out: 16, Kernel: []int{3}, Same: true}, layers.BatchNorm{}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
				layers.Conv{Out: 32, Kernel: []int{3}, Same: true}, layers.BatchNorm{}, layers.ReLU{}, layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 10},
			}, e.Input("x", "float32[N,3,H,W]"))
			e.Output("y", x)
		},
		input: func(i int) *tensor.Dense { return filled(1+i%5, 3, 8+2*(i%7), 16) },
		edits: []func(e *nn.Edit){
			func(e *nn.Edit) { e.Insert(first(e, "Relu"), layers.SiLU{}) },
			func(e *nn.Edit) { e.RemoveAtoms(e.Channels().Groups()[0].Atoms[:3]...) },
			func(e *nn.Edit) { e.Insert(first(e, "Relu"), layers.Conv{Out: 16, Kernel: []int{1}}) },
		},
	},
	{
		name: "attention",
		build: func(e *nn.Edit) {
			x := e.Apply(layers.Linear{Out: 32}, e.Input("x", "float32[N,L,8]"))
			x = e.Apply(layers.Residual{Body: nn.Sequential{layers.LayerNorm{}, layers.Attention{Heads: 4}}}, x)
			x = e.Apply(layers.Residual{Body: nn.Sequential{layers.LayerNorm{}, layers.Linear{Out: 64}, layers.GELU{}, layers.Linear{Out: 32}}}, x)
			e.Output("y", e.Apply(layers.Linear{Out: 5}, x))
		},
		input: func(i int) *tensor.Dense { return filled(1+i%4, 3+i, 8) },
		edits: []func(e *nn.Edit){
			func(e *nn.Edit) { e.Insert(first(e, "Gelu"), layers.Tanh{}) },
			func(e *nn.Edit) { e.Insert(first(e, "Gelu"), layers.Residual{Body: layers.Linear{Out: 64}}) },
		},
	},
	{
		name: "a shape that only a run knows",
		build: func(e *nn.Edit) {
			x := e.Input("x", "float32[N]")
			positive := e.Node(op.Plain("NonZero"), e.Node(op.Plain("Relu"), x).Out(0)).Out(0)
			picked := e.Node(std.GatherConfig{}, x, e.Node(op.Plain("Squeeze"), positive, e.Const("zero", int64s(0))).Out(0)).Out(0)
			y := e.Node(op.Plain("Mul"), picked, e.Param("w", initial.Full{Value: 3}, 1)).Out(0)
			e.Output("y", e.Node(op.Plain("Tanh"), y).Out(0))
		},
		input: func(i int) *tensor.Dense { return filled(10 + 3*i) },
		edits: []func(e *nn.Edit){func(e *nn.Edit) { e.Insert(first(e, "Mul"), layers.ReLU{}) }},
	},
}

// first returns the result of the first node of an operator.
func first(e *nn.Edit, name string) *nn.Value {
	for _, n := range e.Select(nn.Ops(name)) {
		return n.Out(0)
	}
	e.Failf("there is no %s", name)
	return nil
}

// filled has numbers between −1 and 1 that look random.
func filled(shape ...int) *tensor.Dense {
	d := dtype.New(dtype.Float32, shape...)
	s := uint32(len(shape))
	for i := range dtype.Slice[float32](d) {
		s = s*1664525 + 1013904223
		dtype.Slice[float32](d)[i] = float32(int32(s)) / (1 << 31)
	}
	return d
}

func int64s(v ...int64) *tensor.Dense {
	d, err := dtype.FromSlice(v, len(v))
	if err != nil {
		panic(err)
	}
	return d
}

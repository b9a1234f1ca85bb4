package train_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

func rowIndex(i int) *tensor.Dense {
	d := dtype.New(dtype.Int64, 1)
	dtype.Slice[int64](d)[0] = int64(i)
	return d
}

// largeGraphs have n nodes, in several ways.
var largeGraphs = []struct {
	name  string
	build func(e *nn.Edit, x *nn.Value, n int) *nn.Value
}{
	{"chain reading one weight", func(e *nn.Edit, x *nn.Value, n int) *nn.Value {
		w := e.Param("w", initial.Uniform{Low: -1, High: 1}, 8)
		for range n / 2 {
			x = e.Node(op.Plain("Add"), e.Node(op.Plain("Tanh"), x).Out(0), w).Out(0)
		}
		return x
	}},
	{"chain of layers", func(e *nn.Edit, x *nn.Value, n int) *nn.Value {
		for i := range n / 2 {
			x = e.Node(op.Plain("Relu"), e.Node(op.Plain("MatMul"), x, e.Param(fmt.Sprint("w", i), initial.FanIn{}, 8, 8)).Out(0)).Out(0)
		}
		return x
	}},
	{"one Concat", func(e *nn.Edit, x *nn.Value, n int) *nn.Value {
		x = e.Node(op.Plain("Mul"), x, e.Param("w", initial.Ones{}, 8)).Out(0)
		list := make([]*nn.Value, n)
		for i := range list {
			alpha := float32(i) / float32(n)
			list[i] = e.Node(std.LeakyReluConfig{Alpha: &alpha}, x).Out(0)
		}
		return e.Node(std.ConcatConfig{Axis: 1}, list...).Out(0)
	}},
	{"Gathers", func(e *nn.Edit, x *nn.Value, n int) *nn.Value {
		table := e.Node(op.Plain("MatMul"), e.Param("rows", initial.FanIn{}, n/2, 8), e.Param("w", initial.FanIn{}, 8, 8)).Out(0)
		list := []*nn.Value{x}
		for i := range n / 2 {
			list = append(list, e.Node(std.GatherConfig{}, table, e.Const(fmt.Sprint("row ", i), rowIndex(i))).Out(0))
		}
		return e.Node(op.Plain("Sum"), list...).Out(0)
	}},
	{"branches", func(e *nn.Edit, x *nn.Value, n int) *nn.Value {
		list := make([]*nn.Value, n/2)
		for i := range list {
			list[i] = e.Node(op.Plain("Tanh"), e.Node(op.Plain("Add"), e.Param(fmt.Sprint("w", i), initial.Ones{}, 8), x).Out(0)).Out(0)
		}
		return e.Node(op.Plain("Sum"), list...).Out(0)
	}},
	{"residuals", func(e *nn.Edit, x *nn.Value, n int) *nn.Value {
		x = e.Node(op.Plain("Mul"), x, e.Param("w", initial.Ones{}, 8)).Out(0)
		for range n / 2 {
			x = e.Node(op.Plain("Add"), x, e.Node(op.Plain("Tanh"), x).Out(0)).Out(0)
		}
		return x
	}},
}

// BenchmarkNodes builds graphs of many small nodes, saves, loads, runs, edits and trains them; each figure is in
// microseconds for a node and should not grow with their number.
func BenchmarkNodes(b *testing.B) {
	for _, c := range largeGraphs {
		for _, n := range []int{8000, 32000} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				for range b.N {
					largeGraph(b, n, func(e *nn.Edit, x *nn.Value) *nn.Value { return c.build(e, x, n) })
				}
			})
		}
	}
}

func largeGraph(b *testing.B, n int, build func(e *nn.Edit, x *nn.Value) *nn.Value) {
	ctx, begin := context.Background(), time.Now()
	lap := func(name string, err error) {
		if err != nil {
			b.Fatal(name, ": ", err)
		}
		b.ReportMetric(float64(time.Since(begin).Microseconds())/float64(n), name)
		begin = time.Now()
	}
	g := nn.New("large")
	lap("build", g.Edit(func(e *nn.Edit) { e.Output("y", build(e, e.Input("x", "float32[N,8]"))) }))
	var file bytes.Buffer
	lap("save", onnxio.Write(&file, g))
	g, err := onnxio.Read(bytes.NewReader(file.Bytes()))
	lap("load", err)
	x := dtype.New(dtype.Float32, 2, 8)
	out, err := g.Run(ctx, x)
	lap("first_run", err)
	_, err = g.Run(ctx, x)
	lap("run", err)
	lap("edit", g.Edit(func(e *nn.Edit) {
		nodes := e.Nodes()
		for i := range 8 {
			e.Insert(nodes[i*len(nodes)/8].Out(0), layers.ReLU{})
		}
	}))
	t, err := train.New(g, train.Config{Loss: train.MSE{}, Rule: optim.SGD{LR: 1e-9}})
	lap("trainer", err)
	s := data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{dtype.New(dtype.Float32, out[0].Shape()...)}}
	_, err = t.Step(ctx, s)
	lap("first_step", err)
	_, err = t.Step(ctx, s)
	lap("step", err)
}

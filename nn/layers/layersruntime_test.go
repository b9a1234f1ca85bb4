package layers_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// TestLayersInRuntime saves every layer in several operator sets: ONNX Runtime must accept the file
// and compute what the graph computes.
func TestLayersInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	for _, c := range nntest.LayerCases {
		t.Run(c.Name, func(t *testing.T) {
			for _, opset := range []int{21, 17, 13, 11, 9, 7} {
				if opset < c.Old {
					continue
				}
				g := nn.NewGraph("m", std.Operators(), map[string]int{"": opset})
				nntest.Edit(t, g, func(e *nn.Edit) {
					x := e.Input("x", c.In)
					e.Output("y", e.Apply(nn.Sequential{c.Layer, nn.OpLayer{Config: op.Plain("Identity")}}, x))
				})
				x := nntest.Sample(t, g.Inputs()[0].Type())
				in := oracle.Tensor{DType: dtype.Of(x.Dtype()).String(), Shape: append([]int{}, x.Shape()...), Data: dtype.Bytes(x)}
				file := filepath.Join(t.TempDir(), fmt.Sprintf("%d.onnx", opset))
				if err := onnxio.Save(file, g); err != nil {
					t.Fatal(err)
				}
				out, err := ort.RunFile(file, map[string]oracle.Tensor{"x": in})
				if err != nil {
					t.Fatalf("operator set %d: %v", opset, err)
				}
				want, err := out["y"].Float64s()
				if err != nil {
					t.Fatal(err)
				}
				nntest.Near(t, fmt.Sprintf("operator set %d", opset), nntest.Run(t, g, x), want, 1e-5)
			}
		})
	}
}

// TestSecondsInRuntime compares what layers do with further inputs and outputs with ONNX Runtime: initial states, and the
// weights of an attention.
func TestSecondsInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	for name, c := range map[string]struct {
		layer nn.Layer
		in    []string
		shape []int // of the second output
	}{
		"LSTM":      {layers.LSTM{Hidden: 3}, []string{"float32[4,2,5]", "float32[1,2,3]", "float32[1,2,3]"}, []int{1, 2, 3}},
		"GRU":       {layers.GRU{Hidden: 3, Bidirectional: true}, []string{"float32[4,2,5]", "float32[2,2,3]"}, []int{2, 2, 3}},
		"no bias":   {layers.LSTM{Hidden: 3, NoBias: true}, []string{"float32[4,2,5]", "float32[1,2,3]", "float32[1,2,3]"}, []int{1, 2, 3}},
		"RNN":       {layers.RNN{Hidden: 3, BatchFirst: true}, []string{"float32[2,4,5]", "float32[1,2,3]"}, []int{1, 2, 3}},
		"RNN, relu": {layers.RNN{Hidden: 3, ReLU: true, Bidirectional: true}, []string{"float32[4,2,5]", "float32[2,2,3]"}, []int{2, 2, 3}},
		"Attention": {layers.Attention{Heads: 2, Weights: true, Dropout: 0.5}, []string{"float32[2,4,6]", "float32[2,3,6]"}, []int{2, 2, 4, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			g := nn.New("m")
			feed, given := nn.Feed{}, map[string]oracle.Tensor{}
			nntest.Edit(t, g, func(e *nn.Edit) {
				var in []*nn.Value
				for i, s := range c.in {
					in = append(in, e.Input(fmt.Sprint("x", i), s))
				}
				for i, v := range e.ApplyAll(c.layer, in...)[:2] {
					e.Output(fmt.Sprint("y", i), e.Node(op.Plain("Identity"), v).Out(0))
				}
			})
			for _, v := range g.Inputs() {
				x := nntest.Sample(t, v.Type())
				feed[v.Name()], given[v.Name()] = x, oracle.Tensor{DType: "float32", Shape: append([]int{}, x.Shape()...), Data: dtype.Bytes(x)}
			}
			file := filepath.Join(t.TempDir(), "m.onnx")
			if err := onnxio.Save(file, g); err != nil {
				t.Fatal(err)
			}
			want, err := ort.RunFile(file, given)
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.Eval(t.Context(), feed)
			if err != nil {
				t.Fatal(err)
			}
			for _, y := range []string{"y0", "y1"} {
				list, err := want[y].Float64s()
				if err != nil {
					t.Fatal(err)
				}
				ours, err := dtype.Float64s(got[y].(*tensor.Dense))
				if err != nil {
					t.Fatal(err)
				}
				nntest.Near(t, y, ours, list, 1e-5)
			}
			if !slices.Equal(want["y1"].Shape, c.shape) {
				t.Errorf("the second output has shape %v, want %v", want["y1"].Shape, c.shape)
			}
		})
	}
}

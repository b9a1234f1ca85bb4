package onnxio_test

import (
	"bytes"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

const recurrentFile = `ir_version: 8 opset_import { version: 17 } graph { name: "g"
	input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 2 } } } } } output { name: "y" type { tensor_type { elem_type: 1 } } }
	initializer { name: "three" data_type: 7 int64_data: 3 }
	node { op_type: "Loop" input: "three" input: "" input: "x" output: "y" attribute { name: "body" type: GRAPH g { name: "body"
		input { name: "i" type { tensor_type { elem_type: 7 shape { } } } } input { name: "on" type { tensor_type { elem_type: 9 shape { } } } } input { name: "v" type { tensor_type { elem_type: 1 } } }
		initializer { name: "w" data_type: 1 dims: 2 dims: 2 float_data: [0.5, -0.25, 0.75, 0.125] } initializer { name: "b" data_type: 1 dims: 2 float_data: [0.5, -0.5] }
		node { op_type: "Gemm" input: "v" input: "w" input: "b" output: "a" } node { op_type: "Tanh" input: "a" output: "h" } node { op_type: "Identity" input: "on" output: "still" }
		output { name: "still" type { tensor_type { elem_type: 9 shape { } } } } output { name: "h" type { tensor_type { elem_type: 1 } } } } } } }`

// A trainer with the state of its rule changes weights of a subgraph as it changes the same weights outside of it, and so does
// the exported step. A snapshot restores them.
func TestTrainBodyWeights(t *testing.T) {
	read := func(change func(m *onnxpb.ModelProto)) *nn.Graph {
		m := &onnxpb.ModelProto{}
		if err := prototext.Unmarshal([]byte(recurrentFile), m); err != nil {
			t.Fatal(err)
		}
		change(m)
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		g, err := onnxio.Read(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	inside := read(func(*onnxpb.ModelProto) {})
	outside := read(func(m *onnxpb.ModelProto) {
		body := m.Graph.Node[0].Attribute[0].G
		m.Graph.Initializer, body.Initializer = append(m.Graph.Initializer, body.Initializer...), nil
	})
	config := train.Config{Loss: train.MSE{}, Rule: &optim.Adam{LR: 0.05}, Whole: true, Log: train.Quiet}
	batch := data.Sample{X: []*tensor.Dense{optest.Tensor([]float32{1, 2, -1, 0.5, 0, 1}, 3, 2)}, Y: []*tensor.Dense{optest.Tensor([]float32{0, 1, 1, 0, -1, -1}, 3, 2)}}
	exported, err := step.Exporter{Config: config}.Export(inside)
	if err != nil {
		t.Fatal(err)
	}
	written := func() []byte {
		var b bytes.Buffer
		if err := onnxio.Write(&b, inside); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	file, before := written(), nntest.Weights(t, inside)
	state, err := exported.Start.Eval(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	trained := map[*nn.Graph]*train.Trainer{}
	for _, g := range []*nn.Graph{inside, outside} {
		if trained[g], err = train.New(g, config); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		feed := nn.Feed{step.StepInput: dtype.Scalar(int64(i)), step.RateInput: dtype.Scalar(float32(1)), exported.Batch[0]: batch.X[0], exported.Batch[1]: batch.Y[0]}
		for _, v := range exported.Variables {
			feed[v.Name] = state[v.Name]
		}
		out, err := exported.Graph.Eval(t.Context(), feed)
		if err != nil {
			t.Fatal(err)
		}
		losses := []float64{float64(out[step.LossName].(*tensor.Dense).Data().(float32))}
		for _, g := range []*nn.Graph{inside, outside} {
			info, err := trained[g].Step(t.Context(), batch)
			if err != nil {
				t.Fatal(err)
			}
			losses = append(losses, info.Loss)
		}
		if losses[1] != losses[2] || losses[0]-losses[1] > 1e-6 || losses[1]-losses[0] > 1e-6 {
			t.Errorf("step %d: losses %v of the exported step, of weights inside and outside", i, losses)
		}
		for _, v := range exported.Variables {
			state[v.Name] = out[v.Next]
		}
	}
	changed := written()
	before.Restore()
	if bytes.Equal(changed, file) || !bytes.Equal(written(), file) {
		t.Error("training does not change the file, or the snapshot does not restore it")
	}
}

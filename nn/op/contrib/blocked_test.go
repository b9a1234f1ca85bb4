package contrib_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/onnxio"
	"golang.org/x/sys/cpu"
	"gorgonia.org/tensor"
)

// blockedCase is a case of testdata/blocked.py.
type blockedCase struct {
	Name  string          `json:"name"`
	Op    string          `json:"op"`
	Block int             `json:"block"`
	Attrs json.RawMessage `json:"attrs"`
	In    []*expected     `json:"in"`
	Out   expected        `json:"out"`
}

// config reads the attributes into the configuration of the operator.
func (c blockedCase) config(t *testing.T) op.Config {
	t.Helper()
	var a struct {
		Pads         []int     `json:"pads"`
		Strides      []int     `json:"strides"`
		Dilations    []int     `json:"dilations"`
		Kernel       []int     `json:"kernel_shape"`
		Scales       []int     `json:"scales"`
		Group        int       `json:"group"`
		Channels     int       `json:"channels"`
		ChannelsLast int       `json:"channels_last"`
		Pad          int       `json:"count_include_pad"`
		Activation   string    `json:"activation"`
		Params       []float32 `json:"activation_params"`
	}
	if err := json.Unmarshal(c.Attrs, &a); err != nil {
		t.Fatal(err)
	}
	switch c.Op {
	case "Conv":
		return contrib.BlockedConvConfig{Pads: a.Pads, Strides: a.Strides, Dilations: a.Dilations, Kernel: a.Kernel, Group: a.Group, Activation: a.Activation, Params: a.Params}
	case "MaxPool":
		return contrib.BlockedMaxPoolConfig{Pads: a.Pads, Strides: a.Strides, Dilations: a.Dilations, Kernel: a.Kernel}
	case "AveragePool":
		return contrib.BlockedAveragePoolConfig{Pads: a.Pads, Strides: a.Strides, Dilations: a.Dilations, Kernel: a.Kernel, Pad: a.Pad == 1}
	case "Upsample":
		return contrib.BlockedUpsampleConfig{Scales: a.Scales}
	case "ReorderInput":
		return contrib.ReorderInputConfig{ChannelsLast: a.ChannelsLast == 1}
	case "ReorderOutput":
		return contrib.ReorderOutputConfig{Channels: a.Channels, ChannelsLast: a.ChannelsLast == 1}
	}
	return op.Name{Domain: "com.microsoft.nchwc", Name: c.Op}
}

func blockedCases(t *testing.T) []blockedCase {
	t.Helper()
	var cases []blockedCase
	b, err := os.ReadFile("testdata/blocked.json")
	if err == nil {
		err = json.Unmarshal(b, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func (c blockedCase) inputs(t *testing.T) (in []dtype.Value) {
	t.Helper()
	for _, x := range c.In {
		if x == nil {
			in = append(in, nil)
			continue
		}
		d, err := x.dense()
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, d)
	}
	for in[len(in)-1] == nil {
		in = in[:len(in)-1]
	}
	return in
}

// withBlock runs f as on a processor on which ONNX Runtime has blocks of b channels.
func withBlock(b int, f func()) {
	had := cpu.X86.HasAVX512F
	cpu.X86.HasAVX512F = b == 16
	defer func() { cpu.X86.HasAVX512F = had }()
	f()
}

// TestBlocked takes the operators on channels in blocks, of 8 and of 16, through the checks of operators.
func TestBlocked(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range blockedCases(t) {
		want, err := c.Out.dense()
		if err != nil {
			t.Fatal(err)
		}
		seen[c.Op] = true
		u := optest.Case{Name: c.Name, Ops: set(t), Config: c.config(t), In: c.inputs(t), Want: []dtype.Value{want},
			NoCut: "channels come in blocks", NoGrad: "whole numbers lie on kinks; standard operators' gradients are tested with them"}
		withBlock(c.Block, func() { optest.Run(t, u) })
	}
	for _, o := range contrib.Ops() {
		if o.Domain == "com.microsoft.nchwc" && !seen[o.Name] {
			t.Errorf("%s has no case", o.Name)
		}
	}
}

// TestBlockedInRuntime lets ONNX Runtime compute the cases of the block that it has here, between its own operators that bring
// channels into blocks and out of them.
func TestBlockedInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	here := 8
	if cpu.X86.HasAVX512F {
		here = 16
	}
	for _, c := range blockedCases(t) {
		if c.Block != here || c.Op == "ReorderInput" || c.Op == "ReorderOutput" {
			continue
		}
		in, feed := c.inputs(t), map[string]oracle.Tensor{}
		g := nn.NewGraph("one", set(t), map[string]int{"": 17, "com.microsoft.nchwc": 1})
		err := g.Edit(func(e *nn.Edit) {
			var values []*nn.Value
			for i, v := range in {
				if v == nil {
					values = append(values, nil)
					continue
				}
				d := v.(*tensor.Dense)
				name := string(rune('a' + i))
				feed[name] = oracle.Tensor{DType: "float32", Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}
				if i == 1 || i == 2 {
					delete(feed, name)
					values = append(values, e.Const(name, d))
					continue
				}
				x := e.Input(name, op.TypeOf(v).String())
				if d.Shape()[1]%c.Block == 0 { // an image in blocks
					x = e.Node(contrib.ReorderInputConfig{}, x).Out(0)
				}
				values = append(values, x)
			}
			y := e.Node(c.config(t), values...).Out(0)
			e.Output("y", e.Node(contrib.ReorderOutputConfig{Channels: c.Out.Shape[1]}, y).Out(0))
		})
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		file := filepath.Join(t.TempDir(), "model.onnx")
		if err := onnxio.Save(file, g); err != nil {
			t.Fatal(err)
		}
		out, err := ort.RunFile(file, feed)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		want, err := oracle.Pack(c.Out.Data, c.Out.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		if err := oracle.Close(out["y"], want, 1e-5, 1e-6); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

package cli

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

var newNetworks = map[string][]int{ // arguments of new; the shape of two samples
	"mlp --input 5 --hidden 8 --outputs 2":                                  {2, 5},
	"cnn --input 3,12,10 --classes 4 --width 4":                             {2, 3, 12, 10},
	"resnet --input 1,17,16 --classes 3 --width 4 --depth 1":                {2, 1, 17, 16},
	"lstm --input 6,3 --classes 2 --width 8":                                {2, 6, 3},
	"transformer --input 6,3 --classes 2 --width 8":                         {2, 6, 3},
	"transformer --input 7 --vocabulary 40 --classes 2 --width 8 --depth 1": {2, 7},
	"lstm --input 7 --vocabulary 40 --outputs 1 --width 8 --dropout 0":      {2, 7},
}

// made makes a network and an input for it.
func made(t *testing.T, args string, shape []int) (path string, g *nn.Graph, x *tensor.Dense) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "m.onnx")
	if _, err := command(append(append([]string{"new"}, strings.Fields(args)...), "-o", path)...); err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	g, err := onnxio.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	x = dtype.New(g.Inputs()[0].Type().DType, shape...)
	if x.Dtype() == tensor.Int64 {
		for i := range x.Int64s() {
			x.Int64s()[i] = int64(i * 7 % 40)
		}
	} else {
		for i := range x.Float32s() {
			x.Float32s()[i] = float32(math.Sin(float64(i)))
		}
	}
	return path, g, x
}

// TestNewNetworks runs networks of all kinds, with batches of two samples and of one.
func TestNewNetworks(t *testing.T) {
	for args, shape := range newNetworks {
		_, g, x := made(t, args, shape)
		both, err := g.Run(context.Background(), x)
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		one, err := g.Run(context.Background(), dtype.Pick(x, 0, []int{1}))
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		n := both[0].Shape()[1]
		for i, v := range one[0].Float32s() {
			if w := both[0].Float32s()[n+i]; math.Abs(float64(v-w)) > 1e-5 {
				t.Errorf("%s: %v alone, %v in a batch", args, v, w)
			}
		}
	}
}

// TestNewNetworksInRuntime checks that ONNX Runtime computes the same.
func TestNewNetworksInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	for args, shape := range newNetworks {
		path, g, x := made(t, args, shape)
		want, err := g.Run(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		var in oracle.Tensor
		if d, ok := x.Data().([]float32); ok {
			in, err = oracle.Pack(d, x.Shape()...)
		} else {
			in, err = oracle.Pack(x.Int64s(), x.Shape()...)
		}
		if err != nil {
			t.Fatal(err)
		}
		model, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out, err := ort.Run(model, map[string]oracle.Tensor{"x": in})
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		got, err := out[g.Outputs()[0].Name()].Float64s()
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if math.Abs(v-float64(want[0].Float32s()[i])) > 1e-5 {
				t.Errorf("%s: element %d is %v, in ONNX Runtime %v", args, i, want[0].Float32s()[i], v)
			}
		}
	}
}

func TestNewMistakes(t *testing.T) {
	out := filepath.Join(t.TempDir(), "m.onnx")
	for args, want := range map[string]string{
		"new":                                   "want one KIND of cnn, lstm, mlp, resnet, transformer",
		"new gan --input 3":                     "gan: want one of cnn, lstm",
		"new mlp":                               `--input "": want a whole number above 0 for mlp, such as 20`,
		"new cnn --input 3":                     `--input "3": want 3 whole numbers above 0 for cnn, such as 3,32,32`,
		"new cnn --input 3,0,4":                 "whole numbers above 0",
		"new mlp --input 3 --hidden a":          `--hidden "a": want whole numbers above 0, such as 64,32`,
		"new mlp --input 3 --classes -1":        "--classes -1: want 0 or more",
		"new mlp --input 3 --outputs 0":         "--outputs 0: want 1 or more",
		"new mlp --input 3 --vocabulary 9":      "--vocabulary is for lstm and transformer, not mlp",
		"new transformer --input 5,3 --width 6": "--width 6: a transformer has 4 heads: want a multiple of 4",
		"new mlp --input 3 --dropout 1":         "--dropout 1: want a fraction from 0 to below 1",
	} {
		if _, err := command(append(strings.Fields(args), "-o", out)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", args, err, want)
		}
	}
	if _, err := command("new", "mlp", "--input", "3"); err == nil || !strings.Contains(err.Error(), "missing -o FILE, the file to write the model to") {
		t.Errorf("without -o: %v", err)
	}
}

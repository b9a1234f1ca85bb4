package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
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

// TestNewForTable makes a network for a table, with an encoding that ONNX Runtime reads, and trains it: prices that are linear in the
// columns are predicted nearly exactly.
func TestNewForTable(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("town;area;price\n")
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		area, town := r.IntN(200), []string{"Rome", "Oslo"}[i%2]
		fmt.Fprintf(&b, "%s;%d,5;%d\n", town, area, 1000*area+50_000*(i%2))
	}
	table, model := filepath.Join(dir, "houses.csv"), filepath.Join(dir, "m.onnx")
	if err := os.WriteFile(table, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := command("new", "tabular", "--data", table, "--hidden", "16", "--json", "-o", model)
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Inputs, Outputs []map[string]string }
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatal(err)
	}
	want := []map[string]string{{"name": "town", "type": "string[N,1]"}, {"name": "area", "type": "float32[N,1]"}}
	if !reflect.DeepEqual(made.Inputs, want) || made.Outputs[0]["name"] != "price" {
		t.Errorf("inputs %v, outputs %v", made.Inputs, made.Outputs)
	}
	if _, err := command("train", model, "--data", table, "--epochs", "60", "--lr", "0.01", "--batch", "16", "-o", filepath.Join(dir, "t.onnx")); err != nil {
		t.Fatal(err)
	}
	out, err = command("eval", filepath.Join(dir, "t.onnx"), "--data", table, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Metrics map[string]float64 }
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Metrics["r2"] < 0.98 {
		t.Errorf("%s, %v: want r2 near 1", out, err)
	}
}

// TestNewForTableMistakes pins the messages of wrong uses.
func TestNewForTableMistakes(t *testing.T) {
	dir := t.TempDir()
	table := filepath.Join(dir, "t.csv")
	if err := os.WriteFile(table, []byte("a,b,c\n1,2,x\n3,4,x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"tabular -o m.onnx":                                             "missing --data, the table whose columns the network reads: --data houses.csv",
		"tabular --data t.npz -o m.onnx":                                "--data t.npz: tabular is for tables (.csv, .tsv)",
		"tabular --data " + table + " --classes 3 -o m.onnx":            "--classes: the columns of --data and its target describe a tabular network",
		"tabular --data " + table + " -o m.onnx":                        table + ": the target c is always x: there is nothing to learn",
		"tabular --data " + table + " --target b --scale log -o m.onnx": "--scale log: want standard or quantile",
		"mlp --input 3 --data " + table + " -o m.onnx":                  "--data " + table + ": is for tabular; a new mlp is described by --input and --classes",
		"tabula -o m.onnx":                                              "tabula: want one of cnn, lstm, mlp, resnet, transformer, tabular",
	} {
		args := strings.Fields(strings.ReplaceAll(args, "m.onnx", filepath.Join(dir, "m.onnx")))
		if _, err := command(append([]string{"new"}, args...)...); err == nil || err.Error() != want {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}

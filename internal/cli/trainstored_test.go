package cli

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// largest writes samples of four numbers whose class is which of the first three is largest.
func largest(t *testing.T, path string, n int) {
	t.Helper()
	x, y := dtype.New(dtype.Float32, n, 4), dtype.New(dtype.Int64, n)
	v := dtype.Slice[float32](x)
	for i := range v {
		v[i] = float32((i*7919+i*i*31)%200)/100 - 1
	}
	for i := range n {
		row := v[4*i : 4*i+3]
		for k := range row {
			if row[k] > row[dtype.Slice[int64](y)[i]] {
				dtype.Slice[int64](y)[i] = int64(k)
			}
		}
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, d := range map[string]*tensor.Dense{"x": x, "y": y} {
		w, err := z.Create(name + ".npy")
		if err == nil {
			err = npy.Write(w, d)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestTrainAsStored: the training of a file trains, goes on from its output, follows an edit, and is refused by what is wrong.
func TestTrainAsStored(t *testing.T) {
	t.Chdir(t.TempDir())
	stepModel(t)
	largest(t, "samples.npz", 200)
	loss := func(line string) float64 {
		t.Helper()
		out, err := command(strings.Fields(line)...)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var epoch int
		var x float64
		for row := range strings.SplitSeq(out, "\n") {
			fmt.Sscanf(row, "epoch %d loss %g", &epoch, &x)
		}
		return x
	}
	if out, err := command(strings.Fields("export-step model.onnx --optimizer sgd --momentum 0.9 --lr 0.1 --training-info -o t.onnx")...); err != nil || !strings.Contains(out, "input   target int64[N]") {
		t.Fatal(out, err)
	}
	first := loss("train t.onnx --as-stored --data samples.npz --batch 20 --epochs 5 -o a.onnx")
	second := loss("train a.onnx --as-stored --data samples.npz --batch 20 --epochs 5 --val 0.2 -o b.onnx")
	if !(first < 0.9 && second < first) {
		t.Errorf("the loss goes to %v, then to %v", first, second)
	}
	g, err := onnxio.Load("b.onnx")
	if err != nil {
		t.Fatal(err)
	}
	list, err := onnxio.TrainingInfo(g)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := list[0].Algorithm.Value("step"); err != nil || dtype.Slice[int64](v.Param().Data())[0] != 50+40 {
		t.Errorf("the file counts %v steps, %v", v.Param().Data(), err)
	}
	if err := g.Edit(func(e *nn.Edit) { e.RenameValue(e.Value("x"), "numbers") }); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save("renamed.onnx", g); err != nil {
		t.Fatal(err)
	}
	if third := loss("train renamed.onnx --as-stored --data samples.npz --batch 20 -o c.onnx"); !(third < first) {
		t.Errorf("after renaming, the loss is %v", third)
	}
	for args, want := range map[string]string{
		"model.onnx --as-stored --data samples.npz":                    "the model's file states no training: it has no training_info",
		"t.onnx --as-stored":                                           "missing --data, the samples to read",
		"t.onnx --as-stored --data samples.npz --lr 0.1 --loss mse":    "--as-stored trains as the file states: leave out --loss, --lr",
		"t.onnx --as-stored --data samples.npz --resume":               "leave out --resume",
		"t.onnx --as-stored --data samples.npz --reset":                "--reset: the training_info of the model has no initialization",
		"t.onnx --reset --data samples.npz":                            "--reset is for --as-stored",
		"t.onnx --as-stored --data samples.npz --epochs -1":            "--epochs -1: want 1 or more",
		"t.onnx --as-stored --data missing.npz":                        "no such file or folder",
		"t.onnx --as-stored --data samples.npz --val 2":                "--val 2: want a fraction",
		"missing.onnx --as-stored --data samples.npz":                  "no such file or folder",
		"t.onnx --as-stored --data samples.npz --optimizer adamw":      "leave out --optimizer",
		"t.onnx --as-stored --data samples.npz --from-scratch --full ": "exclude each other",
	} {
		_, err := command(append([]string{"train", "-o", "no.onnx"}, strings.Fields(args)...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("train %s: %v, want %s", args, err, want)
		}
	}
	if _, err := command(strings.Fields("export-step model.onnx --training-info --opset 18 -o no.onnx")...); err == nil || !strings.Contains(err.Error(), "--opset is for steps of their own") {
		t.Error(err)
	}
	if _, err := os.Stat("no.onnx"); err == nil {
		t.Error("a command that failed wrote its output")
	}
}

// TestTrainWithoutData: a training that reads no data takes none; an epoch is a step.
func TestTrainWithoutData(t *testing.T) {
	dir := t.TempDir()
	oracle.Torch(t, "../../train/step/testdata/simpletraining.py", dir)
	t.Chdir(dir)
	expect(t, ".", [][3]string{
		{"train power.onnx --as-stored --epochs 3 -o out.onnx", "epoch 3", ""},
		{"train power.onnx --as-stored --data want.npz -o other.onnx", "", "the training_info reads no data: leave out --data"},
		{"train adam.onnx --as-stored -o other.onnx", "", "missing --data, the samples to read"},
	})
	want, err := oracle.NPZ("want.npz")
	if err != nil {
		t.Fatal(err)
	}
	g, err := onnxio.Load("out.onnx")
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.Value("B")
	if err != nil {
		t.Fatal(err)
	}
	power := dtype.New(dtype.Float32, 2, 2)
	copy(dtype.Bytes(power), want["power"].Data)
	if _, err := (dtype.Tolerance{Atol: 1e-6}).Compare(b.Param().Data(), power); err != nil {
		t.Error(err)
	}
}

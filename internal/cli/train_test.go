package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/internal/glyph"
	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// points writes points of two classes, apart from each other, as a CSV file.
func points(t *testing.T, path string, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	b.WriteString("width,height,kind,price\n")
	for i := range 120 {
		kind, at := "cat", 1.0
		if i%2 == 1 {
			kind, at = "dog", -1
		}
		fmt.Fprintf(&b, "%.3f,%.3f,%s,%.2f\n", at+0.2*r.NormFloat64(), at+0.2*r.NormFloat64(), kind, 3*at)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// classifier writes a network with the given number of inputs and outputs.
func classifier(t *testing.T, path string, in, out int) {
	t.Helper()
	g := nn.New("points")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", fmt.Sprintf("float32[1,%d]", in))
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 8, Name: "body"}, layers.ReLU{}, layers.Linear{Out: out, Name: "top"}}, x))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(path, g); err != nil {
		t.Fatal(err)
	}
}

// last is the last line of JSON that a command printed.
func last(t *testing.T, out string, v any) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), v); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
}

// TestTrainOnImages trains a new head on images in folders; the class names are then in the model.
func TestTrainOnImages(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("digits.onnx"), demo.Model(), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, seed := range map[string]uint64{"fit": 1, "held": 2} {
		if _, err := glyph.WriteFolder(in(name), "ABE", 150, seed); err != nil {
			t.Fatal(err)
		}
	}
	out, err := command("train", in("digits.onnx"), "--data", in("fit"), "--val", in("held"), "--head", "--no-flip",
		"--epochs", "4", "--lr", "5e-3", "--schedule", "cosine", "-o", in("letters.onnx"), "--json")
	if err != nil {
		t.Fatal(err)
	}
	var end struct {
		Model, Dir string
		Epochs     int
	}
	if last(t, out, &end); end.Model != in("letters.onnx") || end.Dir != in("letters.run") || end.Epochs != 4 {
		t.Errorf("the last line is %+v", end)
	}
	out, err = command("eval", in("letters.onnx"), "--data", in("held"), "--metric", "accuracy", "--metric", "confusion", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Samples   int
		Metrics   map[string]float64
		Confusion [][]int
		Classes   []string
	}
	last(t, out, &result)
	if result.Samples != 150 || result.Metrics["accuracy"] < 0.8 || len(result.Confusion) != 3 || strings.Join(result.Classes, "") != "ABE" {
		t.Errorf("evaluation says %+v", result)
	}
	if out, err = command("run", in("letters.onnx"), "--input", filepath.Join(in("held"), "B", "0001.png")); err != nil || !strings.Contains(out, "%  B") {
		t.Errorf("run prints %q, %v: want the names of the classes", out, err)
	}
	if _, err = command("eval", in("digits.onnx"), "--data", in("held")); err == nil || !strings.Contains(err.Error(), "the data have 3 classes (A, B, E), the model gives 10 scores") {
		t.Errorf("classes that do not fit: %v", err)
	}
}

// TestEvaluateDividedFolder checks that from a folder with train and val, eval and --val read the validation images.
func TestEvaluateDividedFolder(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("digits.onnx"), demo.Model(), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{"both/train": 40, "both/val": 20, "other": 30} {
		if err := os.MkdirAll(in(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := glyph.WriteFolder(in(name), "ABE", n, 1); err != nil {
			t.Fatal(err)
		}
	}
	out, err := command("train", in("digits.onnx"), "--data", in("other"), "--val", in("both"), "--head", "--epochs", "1", "-o", in("out.onnx"))
	if err != nil || !strings.Contains(out, "30 samples to train on, 20 to validate") {
		t.Errorf("train says %q, %v", out, err)
	}
	if out, err = command("eval", in("out.onnx"), "--data", in("both")); err != nil || !strings.HasPrefix(out, "20 samples") {
		t.Errorf("eval says %q, %v", out, err)
	}
}

// TestTrainOnTables trains on tables: class names, another target column, regression.
func TestTrainOnTables(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	points(t, in("all.csv"), 1)
	classifier(t, in("two.onnx"), 3, 2) // the price is a feature, too
	classifier(t, in("one.onnx"), 3, 1)
	numbers := "width,height,depth,price\n1,2,3,4\n2,3,4,5\n3,4,5,7\n"
	if err := os.WriteFile(in("numbers.csv"), []byte(numbers), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		args string
		want string // printed
		err  string
	}{
		{"two.onnx --data all.csv --target kind --epochs 3 --lr 0.05 --patience 1 --monitor accuracy", "classes: cat, dog", ""},
		{"two.onnx --data all.csv --target kind --optimizer sgd --momentum 0.9 --warmup 0.1 --schedule one-cycle --epochs 2", "validation accuracy", ""},
		{"two.onnx --data all.csv --target kind --schedule plateau --ema 0.9 --label-smoothing 0.1 --freeze body* --epochs 2", "best is epoch", ""},
		{"two.onnx --data all.csv --target kind --head-only --metric confusion --epochs 1", "f1", ""},
		{"one.onnx --data numbers.csv --task regression --val 0 --loss huber --epochs 2", "3 samples to train on, 0 to validate", ""},
		{"two.onnx --data all.csv --target kind --freeze none*", "", "--freeze none*: no node or parameter has such a name; graft inspect lists them"},
		{"two.onnx --data all.csv --target kind --momentum 0.9", "", "--momentum is for sgd and rmsprop"},
		{"two.onnx --data all.csv --target kind --optimizer fast", "", "--optimizer fast: want one of adadelta, adafactor, adagrad"},
		{"two.onnx --data all.csv --target kind --val 2", "", "--val 2: want a fraction"},
		{"two.onnx --data all.csv --target breed", "", `no column "breed"`},
		{"two.onnx --data all.csv --target kind --loss mse --label-smoothing 0.1", "", "--label-smoothing is for cross-entropy"},
		{"one.onnx --data numbers.csv --task regression --head", "", "the data have no classes"},
		{"two.onnx --data none.csv", "", "none.csv"},
		{"two.onnx --data all.csv --warmup 1", "", "--warmup 1"},
	} {
		args := []string{"train", "-o", in(fmt.Sprintf("out%d.onnx", i))}
		for _, a := range strings.Fields(c.args) {
			if strings.HasSuffix(a, ".csv") || strings.HasSuffix(a, ".onnx") {
				a = in(a)
			}
			args = append(args, a)
		}
		out, err := command(args...)
		if !strings.Contains(out, c.want) {
			t.Errorf("%s: printed %q, want %q", c.args, out, c.want)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", c.args, err, c.err)
		}
	}
	g, err := onnxio.Load(in("out0.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if typ := g.Inputs()[0].Type().String(); typ != "float32[N,3]" {
		t.Errorf("the trained model takes %s, want a free batch", typ)
	}
}

// stopper cancels a context when something is written to it.
type stopper struct{ stop context.CancelFunc }

func (s stopper) Write(b []byte) (int, error) {
	s.stop()
	return len(b), nil
}

// An interrupted run that is resumed writes the model of one that was not.
func TestTrainInterrupted(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	points(t, in("all.csv"), 1)
	classifier(t, in("two.onnx"), 3, 2)
	train := func(ctx context.Context, w io.Writer, more ...string) error {
		root := newRoot()
		root.SetOut(w)
		root.SetArgs(append([]string{"train", in("two.onnx"), "--data", in("all.csv"), "--target", "kind", "--epochs", "3", "--seed", "5", "--json"}, more...))
		return root.ExecuteContext(ctx)
	}
	if err := train(context.Background(), io.Discard, "-o", in("whole.onnx")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := train(ctx, stopper{cancel}, "-o", in("parts.onnx"))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "parts.run holds a checkpoint: the same command with --resume continues") {
		t.Fatalf("interrupted: %v", err)
	}
	if err := train(context.Background(), io.Discard, "-o", in("parts.onnx"), "--resume"); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(in("whole.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(in("parts.onnx"))
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("the resumed run writes another model (%v)", err)
	}
}

// A run goes on with the samples it began with: others would validate it on what it was trained on.
func TestTrainResumedOnOtherSamples(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	points(t, in("all.csv"), 1)
	classifier(t, in("two.onnx"), 3, 2)
	args := []string{"train", in("two.onnx"), "--data", in("all.csv"), "--target", "kind", "-o", in("out.onnx")}
	if _, err := command(append(args, "--epochs", "1")...); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{"--seed 3": "seed 0; with these flags they are 108, 12 and 3", "--val 0.5": "they are 60, 60 and 0", "--lr 0.1": ""} {
		_, err := command(append(append(args, "--epochs", "2", "--resume"), strings.Fields(flags)...)...)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("resumed with %s: %v, want %q", flags, err, want)
		}
	}
}

func TestExtract(t *testing.T) {
	dir := t.TempDir()
	model, part := cnn(t, dir), filepath.Join(dir, "part.onnx")
	out, err := command("inspect", model, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Summary struct{ Nodes []struct{ Outputs []string } }
	}
	last(t, out, &r)
	from, to := r.Summary.Nodes[1].Outputs[0], r.Summary.Nodes[3].Outputs[0]
	if out, err = command("extract", model, "--from", from, "--to", to, "-o", part); err != nil || !strings.HasPrefix(out, part+": 2 nodes") {
		t.Fatalf("printed %q, %v", out, err)
	}
	g, err := onnxio.Load(part)
	if err != nil {
		t.Fatal(err)
	}
	if g.Inputs()[0].Name() != from || g.Outputs()[0].Name() != to {
		t.Errorf("the part goes from %v to %v, want %s and %s", g.Inputs(), g.Outputs(), from, to)
	}
	for args, want := range map[string]string{"--to nowhere -o x": "nowhere", "--to " + to: "-o FILE", "--from nothing -o x": "nothing"} {
		if _, err := command(append([]string{"extract", model}, strings.Fields(args)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("extract %s: %v, want %q", args, err, want)
		}
	}
}

// TestTrainOnArrays trains on arrays for several inputs, by name; conversions of element types are
// reported, and values that are not numbers are located.
func TestTrainOnArrays(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	g := nn.New("two")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("scores", e.Apply(nn.Sequential{layers.Concat{}, layers.Linear{Out: 2}}, e.Input("left", "float32[N,2]"), e.Input("right", "float32[N,3]")))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(in("two.onnx"), g); err != nil {
		t.Fatal(err)
	}
	left, right, y := make([]float64, 80), make([]uint8, 120), make([]int32, 40)
	for i := range left {
		left[i] = float64(i%7) - 3
	}
	for i := range y {
		y[i] = int32(i % 2)
	}
	archive := func(name string, arrays map[string]*tensor.Dense) {
		t.Helper()
		f, err := os.Create(in(name))
		if err != nil {
			t.Fatal(err)
		}
		z := zip.NewWriter(f)
		for name, d := range arrays {
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
	dense := func(backing any, shape ...int) *tensor.Dense {
		return tensor.New(tensor.WithBacking(backing), tensor.WithShape(shape...))
	}
	archive("good.npz", map[string]*tensor.Dense{"left": dense(left, 40, 2), "right": dense(right, 40, 3), "y": dense(y, 40)})
	archive("lacks.npz", map[string]*tensor.Dense{"left": dense(left, 40, 2), "y": dense(y, 40)})
	archive("blind.npz", map[string]*tensor.Dense{"left": dense(left, 40, 2), "right": dense(right, 40, 3)})
	broken := slices.Clone(left)
	broken[13] = math.NaN()
	archive("nan.npz", map[string]*tensor.Dense{"left": dense(broken, 40, 2), "right": dense(right, 40, 3), "y": dense(y, 40)})
	out, err := command("train", in("two.onnx"), "--data", in("good.npz"), "--epochs", "1", "-o", in("out.onnx"))
	for _, want := range []string{"array for input left converted from float64 to float32", "array for input right converted from uint8 to float32", "36 samples to train on, 4 to validate"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("train says %q, %v: want %s", out, err, want)
		}
	}
	if out, err = command("eval", in("out.onnx"), "--data", in("good.npz")); err != nil || !strings.HasPrefix(out, "40 samples") {
		t.Errorf("eval says %q, %v", out, err)
	}
	if out, err = command("predict", in("out.onnx"), in("good.npz"), "--json"); err != nil || strings.Count(out, `"probability"`) < 40 {
		t.Errorf("predict says %q, %v", out, err)
	}
	for name, want := range map[string]string{
		"lacks.npz": "no array for input right; it has left, y: want arrays by the names of the inputs [left float32[N,2] right float32[N,3]], and y",
		"blind.npz": "; it has left, right; --target names another",
		"nan.npz":   "array left: element [6 1] is NaN: the loss would not be finite",
	} {
		if _, err := command("train", in("two.onnx"), "--data", in(name), "-o", in("other.onnx")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestCorruptImages checks that corrupt images are found before training: a few are listed and
// skipped, many are an error that names a way to go on.
func TestCorruptImages(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("digits.onnx"), demo.Model(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := glyph.WriteFolder(in("fit"), "AB", 30, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("fit/A/bad.png"), []byte("no image"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"train", in("digits.onnx"), "--data", in("fit"), "--head", "--epochs", "1", "-o", in("out.onnx")}
	if _, err := command(args...); err == nil || !strings.Contains(err.Error(), "1 of 31 images are corrupt, --skip-bad 0.04 leaves them out:\n  "+in("fit/A/bad.png")+": ") {
		t.Errorf("corrupt images: %v", err)
	}
	out, err := command(append(args, "--skip-bad", "0.04")...)
	if err != nil || !strings.Contains(out, "left out: "+in("fit/A/bad.png")) || !strings.Contains(out, "26 samples to train on, 4 to validate") {
		t.Errorf("--skip-bad 0.04 prints %q, %v", out, err)
	}
	if _, err := command(append(args, "--skip-bad", "2", "-o", in("other.onnx"))...); err == nil || !strings.Contains(err.Error(), "--skip-bad 2: want a fraction from 0 to 1") {
		t.Errorf("--skip-bad 2: %v", err)
	}
	// What a program reads says nothing of them, the other output does.
	var answer, beside bytes.Buffer
	root := newRoot()
	root.SetOut(&answer)
	root.SetErr(&beside)
	root.SetArgs(append(args, "--skip-bad", "0.04", "--json", "--head-only", "-o", in("json.onnx")))
	if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(beside.String(), "left out: "+in("fit/A/bad.png")) || strings.Contains(answer.String(), "left out") {
		t.Errorf("--json prints %q and %q, %v", answer.String(), beside.String(), err)
	}
	// Cut off in the middle, as by an interrupted copy, many of them; and all of a class.
	pics, err := filepath.Glob(in("fit/B/*.png"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pics {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b[:len(b)-20], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for share, want := range map[string]string{"0.01": fmt.Sprintf("%d of 31 images are corrupt, --skip-bad 0.52 leaves them out:", len(pics)+1), "1": "all images of the class B are corrupt"} {
		_, err := command(append(args, "--skip-bad", share, "-o", in("other.onnx"))...)
		if err == nil || !strings.Contains(err.Error(), want) || share != "1" && !strings.Contains(err.Error(), pics[len(pics)-1]) {
			t.Errorf("--skip-bad %s: %v, want %s", share, err, want)
		}
	}
}

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/internal/glyph"
)

// TestTrainUntuned checks that with no flag but --data a model gets a classifier for the new classes and learns them.
func TestTrainUntuned(t *testing.T) {
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
	out, err := command("train", in("digits.onnx"), "--data", in("fit"), "-o", in("letters.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"135 samples to train on, 15 to validate; classes: A, B, E", "images: ", "policy: AdamW at ", "validation: accuracy "} {
		if !strings.Contains(out, want) {
			t.Errorf("printed %q, want %q", out, want)
		}
	}
	out, err = command("eval", in("letters.onnx"), "--data", in("held"), "--json")
	if err != nil {
		t.Fatal(err)
	}
	var result struct{ Metrics map[string]float64 }
	if err := json.Unmarshal([]byte(out), &result); err != nil || result.Metrics["accuracy"] < 0.85 {
		t.Errorf("eval says %s, %v", out, err)
	}
	out, err = command("lr-find", in("digits.onnx"), "--data", in("fit"), "--steps", "30", "-o", in("lr.png"), "--json")
	var curve struct{ Suggestion float64 }
	if err != nil || json.Unmarshal([]byte(out), &curve) != nil || !(curve.Suggestion > 1e-5 && curve.Suggestion < 1) {
		t.Errorf("lr-find says %s, %v", out, err)
	}
	if info, err := os.Stat(in("lr.png")); err != nil || info.Size() < 1000 {
		t.Errorf("the image: %v, %v", info, err)
	}
}

// TestTrainMistakes checks the messages about mistakes in the command line of train: what is wrong,
// and what to type instead.
func TestTrainMistakes(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	points(t, in("all.csv"), 1)
	classifier(t, in("two.onnx"), 3, 2)
	const good = "two.onnx --data all.csv --target kind "
	for args, want := range map[string]string{
		good + "--policy best":                         "--policy best: want one of auto, head-only, full, from-scratch, manual",
		good + "--reduce-in float8":                    "--reduce-in float8: want float32, float16 or bfloat16",
		good + "--reduce-in float16":                   "--reduce-in is for several processes that train together, as mpirun starts them with graft-mpi: this is a single process",
		good + "--shard-state":                         "--shard-state is for several processes",
		good + "--sync-batchnorm":                      "--sync-batchnorm is for several processes",
		good + "--policy full":                         "--policy full is for images and arrays: networks on tables are trained whole",
		"two.onnx --data none/ --policy full --lr 0.1": "--lr is chosen by --policy full: --policy manual takes all settings by hand",
		good + "--full --head-only":                    "exclude each other",
		good + "--full --policy manual":                "--full and --policy manual exclude each other",
		good + "--epochs 0":                            "--epochs 0: want 1 or more",
		good + "--batch -3":                            "--batch -3: want 1 or more",
		good + "--micro-batch -1":                      "--micro-batch -1: want 0 or more",
		good + "--patience -1":                         "--patience -1: want 0 or more",
		good + "--lr -1":                               "--lr -1: want 0 or more",
		good + "--optimizer fast":                      "--optimizer fast: want one of adadelta, adafactor, adagrad",
		good + "--schedule fast":                       "--schedule fast: want one of constant, cosine",
		good + "--loss good":                           "--loss good: want one of bce, cross-entropy",
		good + "--metric good":                         "--metric good: want one of accuracy, auroc",
		good + "--epoch 3":                             "unknown flag: --epoch; did you mean --epochs?",
		good + "--val 2":                               "--val 2: want a fraction",
		good + "--preset caffe":                        "--preset is for images",
		"two.onnx":                                     "missing --data, the samples to read",
		"two.onnx --data none/":                        "none",
		"two.onnx two.onnx --data all.csv":             "want one MODEL, got 2 arguments",
	} {
		list := []string{"train", "-o", in("out.onnx")}
		for _, a := range strings.Fields(args) {
			if strings.HasSuffix(a, ".csv") || strings.HasSuffix(a, ".onnx") {
				a = in(a)
			}
			list = append(list, a)
		}
		if _, err := command(list...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	if _, err := command("train", in("two.onnx"), "--data", in("all.csv")); err == nil || err.Error() != "missing -o FILE, the file to write the model to" {
		t.Errorf("no -o: %v", err)
	}
	if _, err := command("train", in("two.onnx"), "--data", in("all.csv"), "-o", dir); err == nil || err.Error() != fmt.Sprintf("-o %s: is a folder, want a file", dir) {
		t.Errorf("-o is a folder: %v", err)
	}
}

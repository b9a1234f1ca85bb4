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
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train"
)

// in runs a command line; files without an absolute path are those of a folder.
func in(dir, line string) (string, error) {
	var args []string
	for _, a := range strings.Fields(line) {
		for _, end := range []string{".csv", ".onnx", ".yaml", ".npz", "/", ".html", ".png", ".svg", ".jsonl"} {
			if strings.HasSuffix(a, end) && !strings.HasPrefix(a, "-") && !filepath.IsAbs(a) {
				a = filepath.Join(dir, a)
				break
			}
		}
		args = append(args, a)
	}
	return command(args...)
}

// expect runs command lines: what they print, or the error that they end with.
func expect(t *testing.T, dir string, cases [][3]string) {
	t.Helper()
	for _, c := range cases {
		out, err := in(dir, c[0])
		if !strings.Contains(out, c[1]) {
			t.Errorf("%s: printed %q, want %q", c[0], out, c[1])
		}
		if (err == nil) != (c[2] == "") || err != nil && !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: error %v, want %q", c[0], err, c[2])
		}
	}
}

// rare writes points of two classes, one in ten of the second.
func rare(t *testing.T, path string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("width,height,depth,kind\n")
	for i := range 120 {
		kind := "cat"
		if i%10 == 3 {
			kind = "dog"
		}
		fmt.Fprintf(&b, "%.2f,%.2f,%.2f,%s\n", float64(i%7)/3, float64(i%5), float64(i%10)/4, kind)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTrainFlags checks the flags for options of the library: weights and balance of classes,
// mixtures, groups, a teacher, optimizers.
func TestTrainFlags(t *testing.T) {
	dir := t.TempDir()
	rare(t, filepath.Join(dir, "rare.csv"))
	classifier(t, filepath.Join(dir, "two.onnx"), 3, 2)
	classifier(t, filepath.Join(dir, "five.onnx"), 3, 5)
	classifier(t, filepath.Join(dir, "one.onnx"), 3, 1)
	if err := os.WriteFile(filepath.Join(dir, "numbers.csv"), []byte("a,b,c,y\n1,2,3,4.5\n2,3,4,5.5\n3,4,5,7.5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const run = "train two.onnx --data rare.csv --epochs 1 --batch 8 --scale none -o out.onnx "
	expect(t, dir, [][3]string{
		{run, "class imbalance: 96 samples of cat, 12 of dog; --class-weights auto or --balanced compensates for it", ""},
		{run + "--class-weights auto", "best is epoch 1", ""},
		{run + "--class-weights auto --force", "96 samples of cat, 12 of dog\n", ""},
		{run + "--balanced --force", "96 samples of cat, 12 of dog\n", ""},
		{run + "--class-weights 1,5 --force", "best is epoch 1", ""},
		{run + "--class-weights dog=4 --balanced --force", "best is epoch 1", ""},
		{run + "--class-weights dog=4 --mixup 0.2 --force", "best is epoch 1", ""},
		{run + "--lr-group *bias*=0 --lr-group body*=1e-4 --force", "best is epoch 1", ""},
		{run + "--optimizer adadelta --force", "best is epoch 1", ""},
		{run + "--optimizer adamax --force", "best is epoch 1", ""},
		{run + "--teacher two.onnx --temperature 4 --teacher-share 0.7 --force", "best is epoch 1", ""},
		{run + "--class-weights 1,2,3", "", "--class-weights 1,2,3: 3 weights for 2 classes"},
		{run + "--class-weights cow=3", "", `no class is called "cow"; there are cat, dog`},
		{run + "--class-weights heavy", "", `"heavy" is not a weight: want auto, a number for each class, or CLASS=NUMBER,…`},
		{run + "--class-weights auto --loss mse", "", "--class-weights is for the losses cross-entropy, nll and bce, not mse"},
		{run + "--mixup 0.2 --cutmix 1", "", "--mixup and --cutmix exclude each other"},
		{run + "--mixup -1", "", "--mixup -1: want a number above 0"},
		{run + "--lr-group body", "", "--lr-group body: want GLOB=RATE, such as 'layer4/*=1e-4'"},
		{run + "--lr-group body*=fast", "", `--lr-group body*=fast: "fast" is not a rate`},
		{run + "--lr-group bodi*=1e-4", "", "--lr-group bodi*: no node or parameter has such a name; near it: body"},
		{run + "--freeze tpo*", "", "--freeze tpo*: no node or parameter has such a name; near it: top"},
		{run + "--teacher five.onnx", "", "gives 5 scores, the model 2: want as many classes, and two or more"},
		{run + "--teacher none.onnx", "", "--teacher: "},
		{run + "--teacher two.onnx --temperature 0", "", "--temperature 0: want a fraction above 0, up to 1, and a temperature above 0"},
		{run + "--resume --force", "", "--resume and --force exclude each other"},
		{"train one.onnx --data numbers.csv --task regression --epochs 1 -o out.onnx --balanced", "", "--balanced is for classes: sample 1 has no class"},
		{"train one.onnx --data numbers.csv --task regression --epochs 1 -o out.onnx --class-weights auto", "", "--class-weights is for classes: sample 1 has no class"},
		{"train two.onnx --data rare.csv --policy full -o out.onnx", "", "networks on tables are trained whole"},
		{run + "--learning-rate 0.1", "", "unknown flag: --learning-rate; did you mean --lr?"},
		{run + "--batch_size 4", "", "unknown flag: --batch_size; did you mean --batch?"},
	})
}

// A second run takes the next folder; --resume goes on with the latest and says what is new; --force begins anew.
func TestRunFolders(t *testing.T) {
	dir := t.TempDir()
	rare(t, filepath.Join(dir, "rare.csv"))
	classifier(t, filepath.Join(dir, "two.onnx"), 3, 2)
	const run = "train two.onnx --data rare.csv --batch 8 --scale none -o out.onnx "
	expect(t, dir, [][3]string{
		{run + "--epochs 1 --tensorboard", "history and curves in " + filepath.Join(dir, "out.run"), ""},
		{run + "--epochs 1", "out.run holds another run, so this one is written to " + filepath.Join(dir, "out-2.run"), ""},
		{run + "--epochs 2 --lr 0.01 --resume", "the resumed run has other settings: epochs 1 → 2, lr default → 0.01", ""},
		{run + "--epochs 2 --lr 0.01 --resume", "checkpoints, history and curves in " + filepath.Join(dir, "out-2.run"), ""},
		{run + "--epochs 3 --lr 0.01 --optimizer adamax --resume", "optimizer default → adamax", "is of another optimizer, --optimizer adamw: the configuration has --optimizer adamax"},
		{run + "--epochs 3 --lr 0.02 --resume", "the resumed run has other settings: epochs 2 → 3, lr 0.01 → 0.02\n", ""}, // not those of the run that was refused
		{run + "--epochs 1 --force", "history and curves in " + filepath.Join(dir, "out.run"), ""},
		{run + "--epochs 1 --dir " + filepath.Join(dir, "out.run"), "out-2.run holds another run, so this one is written to " + filepath.Join(dir, "out-3.run"), ""},
	})
	found, err := filepath.Glob(filepath.Join(dir, "out.run", "events.*"))
	if err != nil || len(found) != 0 || !train.HasCheckpoint(filepath.Join(dir, "out-2.run")) {
		t.Errorf("--force left %v, %v", found, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "out-2.run", "recipe.yaml"), []byte("# empty\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, [][3]string{{run + "--epochs 4 --lr 0.02 --resume", "the resumed run has other settings: ", ""}})
	g, err := onnxio.Load(filepath.Join(dir, "two.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for p := range g.Params() {
		if p.Trainable() {
			dtype.Slice[float32](p.Data())[0] = 3e38
			p.Changed()
		}
	}
	if err := onnxio.Save(filepath.Join(dir, "huge.onnx"), g); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, [][3]string{{"train huge.onnx --data rare.csv --scale none --batch 8 --lr 0.1 --optimizer sgd --epochs 2 --tensorboard -o failed.onnx", "", "train: step 1: "}})
	if left, err := filepath.Glob(filepath.Join(dir, "failed*")); err != nil || len(left) != 0 {
		in, _ := filepath.Glob(filepath.Join(dir, "failed.run", "*"))
		t.Errorf("a run that failed before its first checkpoint left %v %v, %v", left, in, err)
	}
	expect(t, dir, [][3]string{{"train two.onnx --data rare.csv --scale none --batch 8 --lr 1e30 --optimizer sgd --epochs 2 -o wild.onnx", "", "step 2: the loss is NaN"}})
	if !train.HasCheckpoint(filepath.Join(dir, "wild.run")) {
		t.Error("a run whose second step was refused left no checkpoint")
	}
	if err := train.ClearRun(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a folder that is not there is cleared")
	}
}

// A recipe has the settings of a run, the command line counts more, and --dry-run prints one that is taken again.
func TestTrainRecipe(t *testing.T) {
	dir := t.TempDir()
	rare(t, filepath.Join(dir, "rare.csv"))
	classifier(t, filepath.Join(dir, "two.onnx"), 3, 2)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "DIR", dir)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("good.yaml", "model: DIR/two.onnx\ndata: DIR/rare.csv\noutput: DIR/out.onnx\nscale: none\nepochs: 7\nlr-group: ['body*=1e-4', '*=1e-3']\nclass-weights: auto\n")
	write("odd.yaml", "epoch: 3\n")
	write("many.yaml", "epochs: [1, 2]\n")
	write("word.yaml", "epochs: many\n")
	write("broken.yaml", "epochs: [1\n")
	out, err := in(dir, "train --recipe good.yaml --epochs 2 --dry-run")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# 108 samples to train on, 12 to validate", "epochs: 2\n", "lr: 0.001\n", "class-weights: auto\n", "    - body*=1e-4\n", "# momentum: 0", "model: " + dir} {
		if !strings.Contains(out, want) {
			t.Errorf("--dry-run prints %q, want %q", out, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "out.run")); err == nil {
		t.Error("--dry-run makes a folder")
	}
	var asked struct{ Settings map[string]any }
	if out, err := in(dir, "train --recipe good.yaml --epochs 2 --dry-run --json"); err != nil || json.Unmarshal([]byte(out), &asked) != nil || fmt.Sprint(asked.Settings["epochs"]) != "2" {
		t.Errorf("--dry-run --json prints %s, %v", out, err)
	}
	write("again.yaml", out)
	expect(t, dir, [][3]string{
		{"train --recipe again.yaml", "best is epoch", ""},
		{"train --recipe odd.yaml", "", `"epoch" is not a setting of train; did you mean epochs?`},
		{"train --recipe many.yaml", "", "epochs: want one value, got 2"},
		{"train --recipe word.yaml", "", "epochs: many is not what it takes: passes over the data"},
		{"train --recipe broken.yaml", "", "broken.yaml: not a recipe, which has lines such as \"epochs: 20\": line 1: did not find expected"},
		{"train --recipe none.yaml", "", "--recipe: no such file or folder: "},
		{"train --recipe good.yaml two.onnx two.onnx", "", "want one MODEL, got 2 arguments"},
	})
	if g, err := onnxio.Load(filepath.Join(dir, "out.onnx")); err != nil || g == nil {
		t.Error(err)
	}
}

// TestTrainImageFlags checks augmentation policies, CutMix and a teacher on images.
func TestTrainImageFlags(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "digits.onnx"), demo.Model(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := glyph.WriteFolder(filepath.Join(dir, "fit"), "AB", 40, 1); err != nil {
		t.Fatal(err)
	}
	const run = "train digits.onnx --data fit/ --head --epochs 1 --lr 1e-3 -o out.onnx --force "
	expect(t, dir, [][3]string{
		{run + "--augment trivial --cutmix 1", "best is epoch 1", ""},
		{run + "--augment none", "best is epoch 1", ""},
		{run + "--augment strong --teacher out.onnx", "best is epoch 1", ""},
		{run + "--augment wild", "", "--augment wild: want one of none, light, moderate, strong, trivial"},
		{run + "--teacher digits.onnx", "", "gives 10 scores, the model 2"},
		{"train digits.onnx --data fit/A/ --head -o out.onnx", "", "no class folders in it"},
	})
}

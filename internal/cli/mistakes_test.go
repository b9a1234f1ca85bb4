package cli

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/internal/glyph"
	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// spoiled makes a folder with models and data, good and bad.
func spoiled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"digits.onnx": string(demo.Model()), "cut.onnx": string(demo.Model()[:500]), "text.onnx": "this is no model", "empty.onnx": "", "head.csv": "a,b,y\n", "ragged.csv": "a,b,y\n1,2,3\n1,2\n",
		"text.npz": "nothing", "empty.jsonl": "", "empty.csv": "", "empty.npz": "", "plain.yaml": "hello\n", "wrong.yaml": "epochz: 1\n", "gap.csv": "a,b,c\n1,nan,3\n1,2,nan\n", "plan.json": `{"cuts": 3}`,
	} {
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := glyph.WriteFolder(in("letters"), "AB", 10, 1); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"bad/A", "bad/B", "none"} {
		if err := os.MkdirAll(in(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"bad/A/x.png", "bad/B/x.png"} {
		if err := os.WriteFile(in(f), []byte("no image"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cnn(t, dir)
	classifier(t, in("two.onnx"), 3, 2)
	rare(t, in("rare.csv"))
	for name, arrays := range map[string]map[string]*tensor.Dense{
		"blind.npz": {"x": dtype.New(dtype.Float32, 4, 1, 28, 28)},
		"odd.npz":   {"x": dtype.New(dtype.Float32, 4, 3, 5), "y": dtype.New(dtype.Int64, 4)},
		"short.npz": {"x": dtype.New(dtype.Float32, 4, 1, 28, 28), "y": dtype.New(dtype.Int64, 3)},
		"void.npz":  {"x": dtype.New(dtype.Float32, 0, 1, 4, 4), "y": dtype.New(dtype.Int64, 0)},
		"three.npz": {"x": dtype.New(dtype.Float32, 4, 1, 4, 4), "y": dtype.New(dtype.Int64, 3)},
	} {
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
	return dir
}

// TestMistakes checks the messages about mistakes with eval, predict, prune and inspect. Those with
// train are in TestTrainMistakes.
func TestMistakes(t *testing.T) {
	expect(t, spoiled(t), [][3]string{
		{"eval", "", "want one MODEL, got 0 arguments []; graft eval --help says more"},
		{"eval digits.onnx", "", "missing --data, the samples to read"},
		{"eval missing.onnx --data letters/", "", "no such file or folder: "},
		{"eval text.onnx --data letters/", "", "text.onnx: not an ONNX model"},
		{"eval empty.onnx --data letters/", "", "empty.onnx: not an ONNX model: it has no graph"},
		{"eval digits.onnx --data missing/", "", "data: no such file or folder: "},
		{"eval digits.onnx --data none/", "", "no class folders in it"},
		{"eval digits.onnx --data letters/ --metric acuracy", "", "--metric acuracy: want one of accuracy, auroc"},
		{"eval digits.onnx --data letters/", "", "the data have 2 classes (A, B), the model gives 10 scores"},
		{"eval digits.onnx --data blind.npz", "", "blind.npz: no array with the targets under y, label, target, labels, tags, "},
		{"eval digits.onnx --data odd.npz", "", "want float32[N,1,28,28], got float32[4,3,5]"},
		{"eval digits.onnx --data text.onnx", "", "text.onnx: want a folder of images, a table (.csv, .tsv), arrays (.npz, or X.npy,Y.npy)"},
		{"eval digits.onnx --data letters/A/0000.png", "", "0000.png is one image: want a folder with a folder of images for each class"},
		{"eval digits.onnx --data short.npz", "", "x has 4 rows (shape (4, 1, 28, 28)), y has 3 (shape (3))"},
		{"eval digits.onnx --data text.npz", "", "text.npz: not a NumPy archive, which is a zip file"},
		{"eval digits.onnx --data bad/", "", "bad/A/x.png: image: unknown format"},
		{"eval two.onnx --data letters/", "", "holds images, which are for models with one input [N,C,H,W] or [N,H,W,C] of 1 or 3 channels; this one has [x float32["},
		{"eval two.onnx --data head.csv", "", "head.csv: no rows below the header"},
		{"eval two.onnx --data ragged.csv", "", "ragged.csv: line 3 has another number of columns than the first line, 3"},
		{"eval two.onnx --data rare.csv --target breed", "", `no column "breed"; it has width, height, depth, kind`},
		{"eval two.onnx --data rare.csv --task regression --target depth --metric accuracy", "", "--metric accuracy is for classes, and the targets are measurements: --metric deviation is for them"},
		{"eval digits.onnx --data letters/ --confusion no/in/c.png", "", "/c.png: cannot be written: no such file or folder"},
		{"edit cnn.onnx --simplify --plan no/in/p.json -o e.onnx", "", "/p.json: cannot be written: no such file or folder"},
		{"prune cnn.onnx --plan ./e.onnx -o e.onnx", "", "e.onnx is also the file of -o: choose another name"},
		{"prune cnn.onnx --plan no/in/p.json -o e.onnx", "", "/p.json: cannot be written: no such file or folder"},
		{"verify letters/ --junit no/in/j.xml", "", "/j.xml: cannot be written: no such file or folder"},
		{"annotate cnn.onnx -o e.onnx", "", "nothing to change: give --set KEY=VALUE or --remove KEY, or leave out -o to list annotations"},
		{"eval two.onnx --data rare.csv --batch_dim N", "", "unknown flag: --batch_dim; did you mean --batch-dim?"},

		{"predict", "", "want MODEL and DATA, got 0 arguments []"},
		{"predict digits.onnx", "", "want MODEL and DATA, got 1 arguments"},
		{"predict missing.onnx letters/", "", "no such file or folder: "},
		{"predict text.onnx letters/", "", "text.onnx: not an ONNX model"},
		{"predict digits.onnx missing.png", "", "no such file or folder: "},
		{"predict digits.onnx none/", "", "no images in this folder"},
		{"predict digits.onnx bad/", "", "none of 2 samples can be read; the first: data: "},
		{"predict two.onnx letters/", "", "the model does not take images: its inputs are ["},
		{"predict two.onnx ragged.csv", "", "line 3 has another number of columns than the first line, 3"},
		{"predict digits.onnx odd.npz", "", "input image: want float32[N,1,28,28], got float32[4,3,5]"},
		{"predict digits.onnx text.npz", "", "not a NumPy archive, which is a zip file"},
		{"predict digits.onnx letters/ --top 0", "", "--top 0: want 1 or more"},
		{"predict digits.onnx letters/ --top many", "", `invalid argument "many" for "--top" flag: want a whole number`},
		{"predict digits.onnx letters/ --explain why", "", "--explain why: want gradients or cam"},
		{"predict digits.onnx letters/ --explain cam", "", "missing -o FOLDER, the folder to write images to"},
		{"predict digits.onnx letters/ --json --csv", "", "--json and --csv exclude each other"},
		{"predict digits.onnx letters/ --as tree", "", "--as tree: want classes, values, mask, image or arrays"},

		{"prune", "", "want one MODEL, got 0 arguments []"},
		{"prune cnn.onnx", "", "missing -o FILE, the file to write the model to"},
		{"prune missing.onnx --dry-run", "", "no such file or folder: "},
		{"prune text.onnx --dry-run", "", "text.onnx: not an ONNX model"},
		{"prune cnn.onnx --target macs=2 --dry-run", "", "--target macs=2: want the fraction to keep, above 0 and at most 1"},
		{"prune cnn.onnx --target speed=0.5 --dry-run", "", "--target speed=0.5: want macs=, params=, channels= or time= and a fraction"},
		{"prune cnn.onnx --criterion taylor --dry-run", "", "--criterion taylor needs --data"},
		{"prune cnn.onnx --criterion l3 --dry-run", "", "--criterion l3: want one of bn, fpgm, l1, l2, lamp, random, activation, hessian, taylor"},
		{"prune cnn.onnx --criterion taylor --data missing/ --dry-run", "", "data: no such file or folder: "},
		{"prune cnn.onnx --finetune-epochs 2 -o x.onnx", "", "--finetune-epochs needs --data"},
		{"prune cnn.onnx --ignore fd* --dry-run", "", "--ignore fd*: no node or parameter has such a name; near it: flatten1, fc"},
		{"prune cnn.onnx --most 3 --dry-run", "", "--most is 3: want a share between 0 and 1"},
		{"prune cnn.onnx --round-to 1000 --dry-run", "", "the target is out of reach: at best"},
		{"prune cnn.onnx -o missing/x.onnx", "", "x.onnx: cannot be written: no such file or folder: "},
		{"prune cnn.onnx --targt macs=0.5", "", "unknown flag: --targt; did you mean --target?"},

		{"train cnn.onnx --data letters --separator ; -o m.onnx", "", "--separator is for tables (.csv, .tsv), which letters is not"},
		{"eval cnn.onnx --data letters --header yes", "", "--header is for tables (.csv, .tsv), which letters is not"},
		{"train cnn.onnx --data letters/ --lr 0.1 --epochs 1 --temperature 3 -o m.onnx", "", "--temperature is for --teacher"},
		{"prune cnn.onnx --mean 1 -o m.onnx", "", "--mean needs --data"},
		{"prune cnn.onnx --clip-norm 1 -o m.onnx", "", "--clip-norm is for fine-tuning: --finetune-epochs says"},
		{"new mlp --input 4 --classes 2 --scale quantile -o m.onnx", "", "--scale is for tabular; a new mlp is described by --input and --classes"},
		{"inspect", "", "want one MODEL, got 0 arguments []"},
		{"inspect missing.onnx", "", "load: no such file or folder: "},
		{"inspect text.onnx", "", "text.onnx: not an ONNX model"},
		{"inspect empty.onnx", "", "empty.onnx: not an ONNX model: it has no graph"},
		{"inspect letters/", "", "is a folder"},
		{"inspect rare.csv", "", "rare.csv: not an ONNX model"},
		{"inspect cnn.onnx --type x", "", `input "x": want a name and a type such as "x float32[N,784]"`},
		{"inspect cnn.onnx --jsno", "", "unknown flag: --jsno; did you mean --json?"},
		{"inspect cnn.onnx --memory lots", "", "--memory lots: want a number of bytes as 500MB or 4GiB"},
		{"inspect cnn.onnx two.onnx", "", "want one MODEL, got 2 arguments"},
		{"inspect cnn.onnx --svg x.png", "", "x.png: want a name that ends in .svg"},
		{"inspect cut.onnx", "", "cut.onnx: not an ONNX model"},
		{"eval digits.onnx --data letters/ --confusion c.html", "", "c.html: want a name that ends in .png"},
		{"eval digits.onnx --data letters/ -o c.png", "", "c.png: want a name that ends in .html or .htm or .json"},
		{"predict digits.onnx text.onnx", "", "text.onnx: want an image, a folder of images, a table (.csv, .tsv), arrays (.npz, .npy), JSON lines (.jsonl), a CIFAR file (.bin), IMAGES,LABELS, or - for standard input"},
		{"predict two.onnx empty.jsonl", "", "empty.jsonl: empty: want JSON objects, one on each line"},
		{"predict two.onnx empty.csv", "", "empty.csv: empty"},
		{"predict two.onnx empty.npz", "", "empty.npz: not a NumPy archive, which is a zip file"},
		{"predict two.onnx rare.csv -o out.csv", "", "is a folder for masks, images and maps, and this model's predictions are printed: --csv > FILE stores them"},
		{"predict digits.onnx rare.csv", "", "rare.csv is a table, the model takes images (input image float32["},
		{"train --recipe plain.yaml", "", "plain.yaml: not a recipe, which has lines such as \"epochs: 20\": line 1: `hello`"},
		{"train --recipe wrong.yaml", "", "\"epochz\" is not a setting of train; did you mean epochs?"},
		{"run digits.onnx", "", "missing --input NAME=FILE for the inputs [image float32[N,1,28,28]]"},
		{"run digits.onnx blind.npz", "", "a value of an input goes with --input "},
		{"run digits.onnx --input text.onnx", "", "text.onnx: want an array (.npy, .npz), a tensor (.pb) or an image"},
		{"train --data rare.csv -o o.onnx", "", "--new tabular makes a network that fits a table"},
		{"serve digits.onnx --preset unit --data letters/ --listen localhost:0", "", "letters would estimate the preprocessing, which --preset unit sets: give one of the two"},
		{"serve digits.onnx --wait 3", "", "want a length of time, such as 5ms or 2s"},
		{"serve digits.onnx --listen 8080", "", "--listen 8080: want HOST:PORT: localhost:8080, or :8080 for all interfaces"},
		{"serve digits.onnx --listen here", "", "want HOST:PORT, such as localhost:8080"},
		{"verify", "", "want folders of test cases, got none; graft verify --help says more"},
		{"train cnn.onnx --recipe plain.yaml -o plain.yaml", "", "plain.yaml is also the file of --recipe, which would be lost: choose another name"},
		{"inspect cnn.onnx --svg letters/", "", "letters: is a folder, want a file"},
		{"inspect cnn.onnx --svg no/in/x.svg", "", "x.svg: cannot be written: no such file or folder: "},
		{"inspect cnn.onnx --svg x.svg --json", "", "--svg draws instead of printing: leave out --json"},
	})
	dir := spoiled(t)
	for typ, want := range map[string]string{"x float32[2,1,4]": "input x: want rank 4, got float32[2,1,4]", "y float32[1]": `the model has no input "y", it has ["x"]`, "x float33[1]": `unknown element type "float33"`} {
		if _, err := command("inspect", filepath.Join(dir, "cnn.onnx"), "--type", typ); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--type %s: %v, want %q", typ, err, want)
		}
	}
	boxes := filepath.Join(dir, "plan.json")
	if _, err := command("eval", filepath.Join(dir, "cnn.onnx"), "--data", boxes, "-o", filepath.Join(dir, "none")+"/../plan.json"); err == nil || !strings.Contains(err.Error(), "plan.json is also the file of --data, which would be lost: choose another name") {
		t.Errorf("annotations as the output: %v", err)
	}
	if _, err := command("prune", filepath.Join(dir, "cnn.onnx"), "--replay", filepath.Join(dir, "plan.json"), "-o", filepath.Join(dir, "x.onnx")); err == nil || !strings.Contains(err.Error(), `plan.json, which --plan of graft prune or graft edit writes: plan: not a plan: "cuts" is a number, which is not allowed there`) {
		t.Errorf("a plan that is none: %v", err)
	}
}

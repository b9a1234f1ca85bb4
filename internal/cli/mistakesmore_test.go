package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestOtherMistakes checks the messages about mistakes with the other commands.
func TestOtherMistakes(t *testing.T) {
	dir := spoiled(t)
	t.Chdir(dir) // names without an ending
	if err := os.Mkdir("hollow", 0o755); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, [][3]string{
		{"lr-find", "", "want one MODEL, got 0 arguments []; graft lr-find --help says more"},
		{"lr-find cnn.onnx", "", "missing --data, the samples to read"},
		{"lr-find cnn.onnx --data missing/", "", "no such file or folder: "},
		{"lr-find text.onnx --data letters/", "", "text.onnx: not an ONNX model"},
		{"lr-find two.onnx --data rare.csv --target none", "", `no column "none"; it has `},
		{"lr-find cnn.onnx --data letters/ --steps 3", "", "--steps 3: want 4 or more"},
		{"lr-find cnn.onnx --data letters/ --min 0", "", "--min 0: want a rate above 0"},
		{"lr-find cnn.onnx --data letters/ --min 1 --max 0.1", "", "--max 0.1: want a rate above that of --min, 1"},
		{"lr-find cnn.onnx --data letters/ --batch 0", "", "--batch 0: want 1 or more"},
		{"lr-find cnn.onnx --data letters/ -o x.html", "", "x.html: want a name that ends in .png"},
		{"lr-find cnn.onnx --data letters/ --optimizer sdg", "", "--optimizer sdg: want one of adadelta, "},

		{"serve", "", "want one MODEL, got 0 arguments []; graft serve --help says more"},
		{"serve missing.onnx", "", "no such file or folder: "},
		{"serve text.onnx", "", "text.onnx: not an ONNX model"},
		{"serve two.onnx --queue 0", "", "--queue 0: want 1 or more requests that may wait"},
		{"serve two.onnx --batch 0", "", "--batch 0: want 1 or more samples"},
		{"serve two.onnx --top -1", "", "--top -1: want 1 or more classes"},
		{"serve two.onnx --max-body 0", "", "--max-body 0: want 1 or more bytes"},
		{"serve two.onnx --timeout 0s", "", "--timeout 0s: want a length of time, such as 30s"},
		{"serve two.onnx --wait -1s", "", "--wait -1s: want 0 or a length of time, such as 5ms"},
		{"serve two.onnx --as tree", "", "--as tree: want classes, values, mask, image or arrays"},
		{"serve two.onnx --port 80", "", "unknown flag: --port"},

		{"generate", "", "want one MODEL, got 0 arguments []; graft generate --help says more"},
		{"generate two.onnx", "", "missing -o FOLDER, the folder to write the package to"},
		{"generate missing.onnx -o g", "", "no such file or folder: "},
		{"generate text.onnx -o g", "", "text.onnx: not an ONNX model"},
		{"generate empty.onnx -o g", "", "it has no graph"},
		{"generate two.onnx -o a-b", "", `"a-b" cannot be the name of a package that others import`},
		{"generate two.onnx -o g --package func", "", `"func" cannot be the name of a package that others import`},
		{"generate two.onnx -o no/in/g", "", "cannot be written: no such file or folder"},
		{"generate two.onnx cnn.onnx -o g", "", "want one MODEL, got 2 arguments"},
		{"generate two.onnx -o g --pakage x", "", "unknown flag: --pakage; did you mean --package?"},

		{"extract", "", "want one MODEL, got 0 arguments []"},
		{"extract cnn.onnx", "", "missing -o FILE, the file to write the model to"},
		{"extract missing.onnx -o x.onnx", "", "no such file or folder: "},
		{"extract text.onnx -o x.onnx", "", "text.onnx: not an ONNX model"},
		{"extract cnn.onnx --to nowhere -o x.onnx", "", `extract: no value is named "nowhere"`},
		{"extract cnn.onnx --from nowhere -o x.onnx", "", `extract: no value is named "nowhere"`},
		{"extract cnn.onnx --from y --to x -o x.onnx", "", `extract: [x] also depend on input "x": name it, or a value computed from it`},
		{"extract cnn.onnx -o no/in/x.onnx", "", "x.onnx: cannot be written: no such file or folder: "},
		{"extract cnn.onnx two.onnx -o x.onnx", "", "want one MODEL, got 2 arguments"},
		{"extract cnn.onnx --too y -o x.onnx", "", "unknown flag: --too; did you mean --to?"},

		{"verify", "", "want folders of test cases, got none; graft verify --help says more"},
		{"verify missing/", "", "no such file or folder: "},
		{"verify hollow", "", "hollow: no folder here has a model.onnx"},
		{"verify two.onnx", "", "two.onnx: is a file, want a folder of test cases; graft testcase writes one for a model"},
		{"verify hollow --backend torch", "", `--backend: want graft or tapemachine, got "torch"`},
		{"verify letters/", "", "no folder here has a model.onnx"},
		{"verify hollow --timeout 5", "", "want a length of time, such as 5ms or 2s"},
		{"verify hollow --workers many", "", "want a whole number"},
		{"verify hollow --rtol 1", "", "unknown flag: --rtol"},
		{"verify hollow --skip missing", "", "no folder here has a model.onnx"},

		{"testcase", "", "want one MODEL, got 0 arguments []; graft testcase --help says more"},
		{"testcase two.onnx", "", "missing -o DIR, the folder to write the test case to"},
		{"testcase two.onnx -o c", "", "missing inputs: give --input NAME=FILE, or --random K for random ones"},
		{"testcase two.onnx --random 0 -o c", "", "or --random K for random ones"},
		{"testcase missing.onnx --random 1 -o c", "", "no such file or folder: "},
		{"testcase text.onnx --random 1 -o c", "", "text.onnx: not an ONNX model"},
		{"testcase two.onnx --random 1 -o rare.csv", "", "rare.csv: is a file, want a folder"},
		{"testcase two.onnx --input x=missing.npy -o c", "", "input x: no such file or folder: missing.npy"},
		{"testcase two.onnx --input z=missing.npy -o c", "", `no value is named "z"`},
		{"testcase two.onnx --random 1 --seed a -o c", "", `invalid argument "a" for "--seed" flag: want a whole number, 0 or more`},

		{"strip", "", "want one PATH, got 0 arguments []; graft strip --help lists the usage"},
		{"strip missing.onnx", "", "no such file or folder: "},
		{"strip hollow", "", "hollow: no model (.onnx) and no value (.pb) in it"},
		{"strip two.onnx --over -1", "", "--over: want a number of elements, got -1"},
		{"strip two.onnx -o no/in/x.onnx", "", "no such file or folder"},
		{"unstrip", "", "want one PATH, got 0 arguments []; graft unstrip --help lists the usage"},
		{"unstrip missing.onnx", "", "no such file or folder: "},
		{"unstrip hollow", "", "hollow: no model (.onnx) and no value (.pb) in it"},
		{"unstrip two.onnx --seed -1", "", "want a whole number, 0 or more"},
		{"unstrip two.onnx --sed 1", "", "unknown flag: --sed; did you mean --seed?"},
		{"unstrip two.onnx --seed x", "", `invalid argument "x" for "--seed" flag: want a whole number, 0 or more; graft unstrip --help lists the flags`},
		{"unstrip two.onnx rare.csv", "", "want one PATH, got 2 arguments ["},
		{"unstrip rare.csv", "", "rare.csv: not an ONNX model"},
		{"unstrip two.onnx -o letters", "", "letters: is a folder"},
		{"unstrip two.onnx -o no/such.onnx", "", "no such file or folder: "},

		{"predict two.onnx gap.csv", "", "the first: 1: the model's scores are NaN: is a number missing, or too large for it?"},

		{"edit two.onnx --channels 0 -o x.onnx", "", "--channels 0: want 1 or more"},
		{"edit two.onnx --opset 0 -o x.onnx", "", "--opset 0: want 1 or more"},
		{"edit two.onnx --recipe rare.csv -o x.onnx", "", "rare.csv: not a recipe, which is JSON: "},
		{"edit two.onnx --compute half -o x.onnx", "", "--compute half: want float32 or float64"},
		{"edit two.onnx --compute float16 -o x.onnx", "", "--compute float16: want float32 or float64"},
		{"edit two.onnx --batch-dim 8 -o x.onnx", "", "--batch-dim 8: want a name for the batch dimension, such as N; --type fixes the size of an input"},
		{"edit two.onnx --remove relu1 -o x.onnx", "", "unknown flag: --remove; did you mean --recipe?"},
		{"annotate two.onnx --node a --set b=1 -o x.onnx", "", "unknown flag: --node; did you mean --glob?"},
		{"lr-find cnn.onnx --data letters/ --lr 1", "", "unknown flag: --lr; graft lr-find --help lists the flags"},
		{"extract cnn.onnx --to a,b -o x.onnx", "", "for several values the flag is given several times: --to a --to b"},
		{"prune cnn.onnx --lr 1e-3 -o x.onnx", "", "--lr is for fine-tuning: --finetune-epochs says how many epochs follow each round"},
		{"prune cnn.onnx --sparsity 0.5 -o x.onnx", "", "unknown flag: --sparsity; did you mean --target?"},
		{"predict cnn.onnx letters/ --explain cam -o rare.csv/x", "", "-o rare.csv/x: cannot be a folder: "},
		{"demo letters", "", `want no arguments, got ["letters"]; graft demo --help says more`},
		{"demo --epochs 0", "", "--epochs 0: want 1 or more"},
		{"demo --epochs -2", "", "--epochs -2: want 1 or more"},
		{"demo --dir rare.csv", "", "rare.csv: is a file, want a folder"},
		{"demo --seed -1", "", "want a whole number, 0 or more"},
		{"demo --dir rare.csv/x", "", "demo: cannot create the output folder: "},
		{"demo --epochs many", "", `invalid argument "many" for "--epochs" flag: want a whole number; graft demo --help lists the flags`},
		{"demo --epochs 1.5", "", `invalid argument "1.5" for "--epochs" flag: want a whole number`},
		{"demo --epoch 3", "", "unknown flag: --epoch; did you mean --epochs?"},
		{"demo --seed", "", "flag needs an argument: --seed; graft demo --help lists the flags"},
		{"version --json=maybe", "", `invalid argument "maybe" for "--json" flag: want true or false`},
		{"version 2", "", `want no arguments, got ["2"]; graft version --help says more`},
		{"version --jsn", "", "unknown flag: --jsn; did you mean --json?"},
	})
	_, err := command("strip", "text.onnx")
	if want := "text.onnx: not an ONNX model"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A model's name may be anything that a file's is: in paths of the protocol it is escaped.
func TestServeOddName(t *testing.T) {
	dir := spoiled(t)
	name := filepath.Join(dir, "my {odd} model 50%.onnx")
	if err := os.Rename(filepath.Join(dir, "two.onnx"), name); err != nil {
		t.Fatal(err)
	}
	s := serving(t, name, quick)
	path := "/v2/models/my%20%7Bodd%7D%20model%2050%25"
	code, got := post(t, s.URL+path+"/infer", "application/json", []byte(`{"inputs":[{"name":"x","shape":[1,3],"datatype":"FP32","data":[1,2,3]}]}`))
	if code != 200 || fmt.Sprint(got["model_name"]) != "my {odd} model 50%" {
		t.Error(code, got)
	}
	if code, got = post(t, s.URL+"/v2/models/other/infer", "application/json", []byte(`{}`)); code != 404 || fmt.Sprint(got["error"]) != "POST /v2/models/other/infer: the model is my {odd} model 50%; POST /predict or "+path+"/infer" {
		t.Error(code, got)
	}
	if code, got = post(t, s.URL+path, "application/json", []byte(`{}`)); code != 405 {
		t.Error(code, got)
	}
}

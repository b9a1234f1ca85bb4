package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
)

// TestLeavingMistakes checks the messages about mistakes with the commands that write test cases,
// stripped files, annotations, source and training steps. None of them writes a file.
func TestLeavingMistakes(t *testing.T) {
	dir := spoiled(t)
	g := nn.New("elsewhere")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		e.Output("y", e.NodeN(op.Plain("NonZero"), 1, x).Out(0))
	})
	if err == nil {
		err = onnxio.Save(filepath.Join(dir, "places.onnx"), g)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "input_0.pb"), []byte("\x08\x02\x10\x01\x4a\x7f"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, line := range []string{
		"strip cnn.onnx --over 0 -o stripped.onnx", "export-step cnn.onnx --training-info -o stored.onnx", "annotate cnn.onnx --glob a --set a=1 -o marked.onnx",
	} {
		if _, err := in(".", line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	before := filesIn(t, dir)
	const gone = "run graft unstrip on the file to fill them"
	expect(t, ".", [][3]string{
		{"serve stripped.onnx", "", gone},
		{"testcase", "", "want one MODEL, got 0 arguments"},
		{"testcase cnn.onnx --random 1", "", "missing -o DIR, the folder to write the test case to"},
		{"testcase cnn.onnx -o out", "", "missing inputs: give --input NAME=FILE, or --random K for random ones"},
		{"testcase cnn.onnx --random -3 -o out", "", "--random -3: want a number of data sets"},
		{"testcase cnn.onnx --random 1 --input x=blind.npz -o out", "", "--random and --input exclude each other"},
		{"testcase missing.onnx --random 1 -o out", "", "no such file or folder: "},
		{"testcase text.onnx --random 1 -o out", "", "text.onnx: not an ONNX model"},
		{"testcase cnn.onnx --random 1 --dims N=many -o out", "", `invalid argument "N=many" for "--dims" flag: want a whole number`},
		{"testcase cnn.onnx --random 1 --dims N=-1 -o out", "", "--dims N=-1: want a size"},
		{"testcase cnn.onnx --random 1 --dims N=99999999999 -o out", "", "input x: float32[99999999999 "},
		{"testcase stripped.onnx --random 1 -o out", "", gone},
		{"testcase places.onnx --random 1 --gradients -o out", "", "no output can be differentiated"},
		{"testcase cnn.onnx --random 1 --out-grad nowhere=blind.npz -o out", "", `--out-grad nowhere=blind.npz: no value is named "nowhere"`},
		{"testcase cnn.onnx --random 1 --meta a=1 --no-meta -o out", "", "UserMeta needs the meta.json that NoMeta leaves out"},
		{"testcase cnn.onnx --random 1 -o rare.csv", "", "is a file, want a folder"},

		{"strip", "", "want one PATH, got 0 arguments"},
		{"strip missing.onnx", "", "no such file or folder: "},
		{"strip text.onnx -o out.onnx", "", "text.onnx: not an ONNX model"},
		{"strip empty.onnx -o out.onnx", "", "empty.onnx: no model (.onnx) and no value (.pb) in it"},
		{"strip input_0.pb -o out.pb", "", "input_0.pb: not a value"},
		{"strip none -o out", "", "none: no model (.onnx) and no value (.pb) in it"},
		{"strip cnn.onnx --over -1 -o out.onnx", "", "--over: want a number of elements, got -1"},
		{"strip cnn.onnx --over few -o out.onnx", "", `invalid argument "few" for "--over" flag: want a whole number`},
		{"strip cnn.onnx -o letters", "", "letters: is a folder"},
		{"strip cnn.onnx -o no/such/out.onnx", "", "no such file or folder: "},
		{"unstrip none -o out", "", "none: no model (.onnx) and no value (.pb) in it"},
		{"unstrip cut.onnx -o out.onnx", "", "cut.onnx: not an ONNX model"},
		{"unstrip stripped.onnx --seed -1", "", `invalid argument "-1" for "--seed" flag: want a whole number, 0 or more`},

		{"annotate cnn.onnx", "no node has annotations; --glob PATTERN --set KEY=VALUE -o FILE adds some", ""},
		{"annotate cnn.onnx --json", "", ""},
		{"annotate marked.onnx", "Conv a  a=1", ""},
		{"annotate", "", "want one MODEL, got 0 arguments"},
		{"annotate text.onnx", "", "text.onnx: not an ONNX model"},
		{"annotate cnn.onnx --set a=1 -o out.onnx", "", "missing --glob PATTERN, the nodes to annotate"},
		{"annotate cnn.onnx --glob a --set a=1", "", "missing -o FILE, the file to write the model to"},
		{"annotate cnn.onnx --glob a --set a -o out.onnx", "", "--set a: want KEY=VALUE"},
		{"annotate cnn.onnx --glob a --set =1 -o out.onnx", "", "--set =1: want KEY=VALUE"},
		{"annotate cnn.onnx --glob convolution --set a=1 -o out.onnx", "", "--glob convolution: no node or parameter has such a name"},
		{"annotate cnn.onnx --glob @a=1 --remove a -o out.onnx", "", "--glob @a=1: no node has such an annotation"},
		{"annotate marked.onnx --remove b -o out.onnx", "", "--remove b: no node has such an annotation"},
		{"annotate cnn.onnx --remove * -o out.onnx", "", "--remove *: no node has such an annotation"},
		{"annotate cnn.onnx --glob a --set a=1 --as comments -o out.onnx", "", `--as: want metadata or attributes, got "comments"`},
		{"annotate cnn.onnx --glob a --set kernel_shape=3 --as attributes -o out.onnx", "", "annotation kernel_shape: Conv a has an attribute of that name"},

		{"generate", "", "want one MODEL, got 0 arguments"},
		{"generate cnn.onnx", "", "missing -o FOLDER, the folder to write the package to"},
		{"generate text.onnx -o out", "", "text.onnx: not an ONNX model"},
		{"generate stripped.onnx -o out", "", gone},
		{"generate cnn.onnx -o rare.csv --package net", "", "is a file, want a folder"},
		{"generate cnn.onnx -o out --package 9x", "", `"9x" cannot be the name of a package that others import`},
		{"generate cnn.onnx -o out --package func", "", `"func" cannot be the name of a package`},
		{"generate cnn.onnx -o out --style keras", "", `there is no style "keras": want layers or gorgonia`},
		{"generate places.onnx -o out --style gorgonia", "", "no form in Gorgonia for NonZero"},
		{"generate cnn.onnx -o out --recipe missing.json", "", "no such file or folder: "},
		{"generate cnn.onnx -o out --recipe text.onnx", "", "text.onnx: not a recipe, which is JSON: "},

		{"export-step", "", "want one MODEL, got 0 arguments"},
		{"export-step cnn.onnx", "", "missing -o FILE, the file to write the model to"},
		{"export-step stripped.onnx -o out.onnx", "", gone},
		{"export-step places.onnx --loss mse -o out.onnx", "", "the graph has no trainable parameter"},
		{"export-step cnn.onnx --loss huh -o out.onnx", "", "--loss huh: want one of bce, cross-entropy"},
		{"export-step cnn.onnx --optimizer huh -o out.onnx", "", "--optimizer huh: want one of adadelta"},
		{"export-step cnn.onnx --clip -1 -o out.onnx", "", "--clip -1: want 0 or more"},
		{"export-step cnn.onnx --accumulate 0 -o out.onnx", "", "--accumulate 0: want 1 or more"},
		{"export-step cnn.onnx --opset 99 -o out.onnx", "", "there is no operator set 99: want 1 to "},
		{"export-step cnn.onnx --opset 5 -o out.onnx", "", "(needs operator set 7)"},
		{"export-step cnn.onnx --freeze nowhere -o out.onnx", "", "--freeze nowhere: edit: the selection matches no node"},
		{"export-step cnn.onnx --class-axis 7 -o out.onnx", "", "it has no axis of classes"},
		{"export-step cnn.onnx -o no/such/out.onnx", "", "cannot be written: no such file or folder: "},

		{"run cnn.onnx --testcase out", "", "missing --input NAME=FILE for the inputs "},
		{"run cnn.onnx --input x=missing.npy --testcase out", "", "input x: no such file or folder: missing.npy"},
		{"run cnn.onnx --input nothing=blind.npz --testcase out", "", `no value is named "nothing"`},
		{"run digits.onnx --input image=odd.npz --testcase out", "", "got float32[4,3,5]"},
		{"run cnn.onnx --input x=blind.npz --runtime ort", "", "--runtime ort needs the command graft-ort"},
		{"run cnn.onnx --input x=blind.npz --provider cuda", "", "--provider is for --runtime ort"},

		{"train cnn.onnx --as-stored --data short.npz -o out.onnx", "", "states no training: it has no training_info"},
		{"train stored.onnx --as-stored -o out.onnx", "", "missing --data, the samples to read"},
		{"train stored.onnx --as-stored --data short.npz", "", "missing -o FILE, the file to write the model to"},
		{"train stored.onnx --as-stored --data missing.npz -o out.onnx", "", "no such file or folder: "},
		{"train stored.onnx --as-stored --data odd.npz -o out.onnx", "", "got float32[4,3,5]"},
		{"train stored.onnx --as-stored --data three.npz -o out.onnx", "", "x has 4 rows"},
		{"train stored.onnx --as-stored --data odd.npz --optimizer adam -o out.onnx", "", "--as-stored trains as the file states: leave out --optimizer"},
		{"train stored.onnx --as-stored --data odd.npz --epochs -1 -o out.onnx", "", "--epochs -1: want 1 or more"},
		{"train stored.onnx --as-stored --data odd.npz --batch 0 -o out.onnx", "", "--batch 0: want 1 or more"},
		{"train stored.onnx --as-stored --data void.npz -o out.onnx", "", "void.npz: there are no samples in it"},
		{"train text.onnx --as-stored --data odd.npz -o out.onnx", "", "text.onnx: not an ONNX model"},
	})
	if after := filesIn(t, dir); !slices.Equal(before, after) {
		t.Errorf("files %q, want %q", after, before)
	}
}

// filesIn returns the files below a folder.
func filesIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		list = append(list, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

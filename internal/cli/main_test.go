package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// command runs a command line and returns what it printed.
func command(args ...string) (string, error) {
	var out bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	return out.String(), err
}

// files makes the folder that the tests work in: the demonstration's model, an image, an array,
// a test case that holds and one that does not.
func files(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(dir, "digits.onnx"), demo.Model(), 0o644))
	pic := image.NewGray(image.Rect(0, 0, 28, 28))
	pic.SetGray(14, 14, color.Gray{255})
	must(onnxio.WriteFile(filepath.Join(dir, "pic.png"), func(w io.Writer) error { return png.Encode(w, pic) }))
	x := dtype.New(dtype.Float32, 1, 1, 28, 28)
	must(onnxio.WriteFile(filepath.Join(dir, "x.npy"), func(w io.Writer) error { return npy.Write(w, x) }))

	must(onnxio.WriteFile(filepath.Join(dir, "two.npz"), func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, name := range []string{"image", "other"} {
			part, err := z.Create(name + ".npy")
			if err == nil {
				err = npy.Write(part, x)
			}
			if err != nil {
				return err
			}
		}
		return z.Close()
	}))
	odd := nn.New("odd")
	must(odd.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(layers.ReLU{}, e.Input("a=b", "float32[1,1,28,28]"))) }))
	must(onnxio.Save(filepath.Join(dir, "odd.onnx"), odd))

	g := nn.New("double")
	must(g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(layers.ReLU{}, e.Input("x", "float32[N]"))) }))
	for name, y := range map[string][]float32{"good": {0, 2}, "bad": {0, 3}} {
		d := filepath.Join(dir, "suite", name)
		must(os.MkdirAll(d, 0o755))
		must(onnxio.Save(filepath.Join(d, "model.onnx"), g))
		in, err := dtype.FromSlice([]float32{-1, 2}, 2)
		must(err)
		out, err := dtype.FromSlice(y, 2)
		must(err)
		set := &onnxio.DataSet{Inputs: []onnxio.NamedValue{{Name: "x", Value: in}}, Outputs: []onnxio.NamedValue{{Name: "y", Value: out}}}
		must(set.Write(filepath.Join(d, "test_data_set_0")))
	}
	return dir
}

func TestCommands(t *testing.T) {
	dir := files(t)
	in := func(args ...string) []string {
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "DIR", dir)
		}
		return args
	}
	for _, c := range []struct {
		args []string
		want []string // in what is printed
		err  string   // in the error; "": there is none
	}{
		{in("version"), []string{"graft ", "kernels      ", "micro-kernel", "ai.onnx 2"}, ""},
		{in("version", "--json"), []string{`"kernels":"`, `"ai.onnx":2`, `"processors":`}, ""},
		{in("--help"), []string{"inspect", "run", "verify", "Examples:"}, ""},
		{in("inspect", "--help"), []string{"float32[N,3,224,224]"}, ""},
		{in("inspect", "DIR/digits.onnx"), []string{"input        image float32[N,1,28,28]", "opset        ai.onnx 13", "BatchNormalization"}, ""},
		{in("inspect", "--brief", "DIR/digits.onnx", "--input", "image float32[8,1,28,28]"), []string{"float32[8,1,28,28]", "float32[8,10]"}, ""},
		{in("inspect", "--json", "DIR/digits.onnx"), []string{`"unsupported":[]`, `"opsets":{"":13}`}, ""},
		{in("inspect", "DIR/none.onnx"), nil, "none.onnx"},
		{in("inspect", "DIR/x.npy"), nil, "not an ONNX model"},
		{in("inspect"), nil, "want one MODEL, got 0 arguments"},
		{in("inspect", "--shape"), nil, "unknown flag: --shape; graft inspect --help lists the flags"},
		{in("inspect", "DIR"), nil, "is a folder"},
		{in("run", "DIR/digits.onnx", "--input", "image=DIR/x.npy"), []string{"scores float32[1,10] ["}, ""},
		{in("run", "DIR/digits.onnx", "--input", "DIR/pic.png", "--output", "DIR/out", "--npy"), []string{"scores float32[1,10] ["}, ""},
		{in("run", "DIR/digits.onnx", "--input", "DIR/pic.png", "--output", "DIR/out", "--preset", "raw"), []string{"scores"}, ""},
		{in("run", "DIR/digits.onnx", "--json", "--input", "image=DIR/x.npy"), []string{`"type":"float32[1,10]","shape":[1,10],"data":[`}, ""},
		{in("run", "DIR/digits.onnx"), nil, "image"},
		{in("run", "DIR/digits.onnx", "--runtime", "ort"), nil, "--runtime ort needs the command graft-ort"},
		{in("run", "DIR/digits.onnx", "--runtime", "tflite"), nil, "--runtime tflite: want graft"},
		{in("run", "DIR/digits.onnx", "--provider", "cuda"), nil, "--provider is for --runtime ort"},
		{in("run", "DIR/digits.onnx", "--input", "img=DIR/x.npy"), nil, `did you mean "image"`},
		{in("run", "DIR/digits.onnx", "--input", "q=DIR/x.npy"), nil, `the model has the inputs [image float32[N,1,28,28]]`},
		{in("run", "DIR/digits.onnx", "--input", "image=DIR/x.npy", "--input", "DIR/x.npy"), nil, `image has a value already`},
		{in("run", "DIR/digits.onnx", "--input", "DIR/pic.png", "--preset", "odd"), nil, `--preset odd: want one of unit, symmetric`},
		{in("run", "DIR/digits.onnx", "--input", "DIR/none.pb"), nil, "input image: no such file or folder: "},
		{in("run", "DIR/digits.onnx", "--input", "DIR/two.npz"), []string{"scores float32[1,10] ["}, ""},
		{in("run", "DIR/odd.onnx", "--input", "a=b=DIR/x.npy"), []string{"y float32[1,1,28,28] ["}, ""},
		{in("run", "DIR/odd.onnx", "--input", "a=b=DIR/two.npz"), nil, "two.npz: no array for input a=b; it has image, other"},
		{in("verify", "DIR/suite/good"), []string{"ok   suite/good", "1 of 1 cases passed"}, ""},
		{in("verify", "DIR"), []string{"FAIL suite/bad", "ok   suite/good", "1 of 2 cases passed"}, "failed"},
		{in("verify", "--dump", "DIR/dump", "DIR/suite"), []string{"ok   good"}, "failed"},
		{in("verify", "DIR/dump/good/test_data_set_0"), nil, "no folder here has a model.onnx"},
		{in("verify", "DIR/nowhere"), nil, "nowhere"},
		{in("verify"), nil, "want folders of test cases, got none"},
		{in("extract", "DIR/digits.onnx", "-o", "DIR"), nil, "is a folder, want a file"},
		{in("extract", "DIR/digits.onnx", "-o", "DIR/none/part.onnx"), nil, "none/part.onnx: cannot be written: no such file"},
		{in("dance"), nil, `unknown command "dance"`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			out, err := command(c.args...)
			for _, w := range c.want {
				if !strings.Contains(out, w) {
					t.Errorf("printed %q, want %q", out, w)
				}
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
	for _, f := range []string{"out/scores.npy", "out/output_0.pb", "dump/good/test_data_set_0/output_0.pb", "dump/bad/test_data_set_0/output_0.pb"} {
		if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
			t.Error(err)
		}
	}
}

func TestVerifyJSON(t *testing.T) {
	dir := files(t)
	out, err := command("verify", "--json", filepath.Join(dir, "suite", "bad"), filepath.Join(dir, "suite", "good"))
	if err == nil {
		t.Error("a case that does not hold is no error")
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 || lines[1] != `{"case":"suite/good","ok":true,"max_abs":0,"gradients":"none","error":""}` {
		t.Errorf("printed %q", lines)
	}
	var r conformance.Result
	if err := json.Unmarshal([]byte(lines[0]), &r); err != nil || r.Case != "suite/bad" || r.OK || r.MaxAbs != 1 || r.Error == "" {
		t.Errorf("%+v, %v", r, err)
	}
}

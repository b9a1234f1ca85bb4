package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/internal/glyph"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// sure is a layer that makes of scores probabilities that are 0 or 1.
type sure struct{}

func (sure) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	scores := e.Node(op.Plain("Mul"), in[0], e.Scalar("factor", in[0], 1024)).Out(0)
	return []*nn.Value{e.Node(op.Plain("Softmax"), scores).Out(0)}
}

// A map does not depend on how sure a model is: probabilities of 1 and 0, whose gradients vanish, have that of the scores.
func TestSureMaps(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if _, err := glyph.WriteFolder(in("digits"), "3", 1, 1); err != nil {
		t.Fatal(err)
	}
	maps := map[string][]byte{}
	for _, name := range []string{"scores", "probabilities"} {
		g, err := onnxio.Read(bytes.NewReader(demo.Model()))
		if err != nil {
			t.Fatal(err)
		}
		if name == "probabilities" {
			if err := g.Edit(func(e *nn.Edit) {
				e.Insert(e.Outputs()[0], sure{})
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := onnxio.Save(in(name+".onnx"), g); err != nil {
			t.Fatal(err)
		}
		for _, how := range []string{"cam", "gradients"} {
			if _, err := command("predict", in(name+".onnx"), in("digits"), "--preset", "unit", "--explain", how, "-o", in(name)); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(in(name + "/*." + how + ".png"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			b, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if maps[how] == nil {
				maps[how] = b
			} else if !bytes.Equal(maps[how], b) {
				t.Errorf("%s: the map of sure probabilities is another than that of their scores", how)
			}
		}
	}
}

// A model that was trained on several measurements answers with them; one of scores without names has classes.
func TestPredictMeasurements(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	classifier(t, in("two.onnx"), 3, 2)
	x, y, class := make([]float64, 3*40), make([]float64, 2*40), make([]int64, 40)
	for i := range class {
		for k := range 3 {
			x[3*i+k] = float64((i*(k+2))%7) - 3
		}
		y[2*i], y[2*i+1], class[i] = x[3*i]-40, x[3*i+1]+x[3*i+2], int64(i%2)
	}
	of := func(d any, s ...int) *tensor.Dense { return tensor.New(tensor.WithShape(s...), tensor.WithBacking(d)) }
	archive(t, in("measured.npz"), map[string]*tensor.Dense{"x": of(x, 40, 3), "y": of(y, 40, 2)})
	archive(t, in("classes.npz"), map[string]*tensor.Dense{"x": of(x, 40, 3), "y": of(class, 40)})
	archive(t, in("new.npz"), map[string]*tensor.Dense{"x": of(x[:6], 2, 3)})
	for _, c := range []struct{ from, data, want string }{
		{"two.onnx", "measured.npz", "sample,value 0,value 1\n"},
		{"measured.npz.onnx", "classes.npz", "sample,label,probability,"},
		{"two.onnx", "classes.npz", "sample,label,probability,"},
	} {
		out := c.data + ".onnx"
		if _, err := command("train", in(c.from), "--data", in(c.data), "--epochs", "1", "--policy", "manual", "-o", in(out)); err != nil {
			t.Fatal(err)
		}
		if got, err := command("predict", in(out), in("new.npz"), "--csv"); err != nil || !strings.Contains(got, c.want) {
			t.Errorf("trained on %s, predict prints %q (%v), want %q", c.data, got, err, c.want)
		}
	}
	if _, err := command("new", "mlp", "--input", "3", "--outputs", "2", "-o", in("new.onnx")); err != nil {
		t.Fatal(err)
	}
	if got, err := command("predict", in("new.onnx"), in("new.npz"), "--csv"); err != nil || !strings.Contains(got, "sample,value 0,value 1\n") {
		t.Error(got, err)
	}
}

// TestPredictStandardInput checks that standard input may be an image or arrays; messages do not name
// the temporary file.
func TestPredictStandardInput(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("digits.onnx"), demo.Model(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := glyph.WriteFolder(in("digits"), "3", 1, 1); err != nil {
		t.Fatal(err)
	}
	classifier(t, in("two.onnx"), 3, 2)
	archive(t, in("x.npz"), map[string]*tensor.Dense{"x": tensor.New(tensor.WithShape(2, 3), tensor.WithBacking(make([]float64, 6)))})
	for name, text := range map[string]string{"t.csv": "a,b\n1,2\n", "cut.png": "\x89PNG\r\n\x1a\n cut", "x.npy": "\x93NUMPY"} {
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	for _, c := range []struct{ model, file, want, err string }{
		{"digits.onnx", "digits/3/0000.png", "standard input,3,", ""},
		{"two.onnx", "x.npz", "sample,label,", ""},
		{"digits.onnx", "t.csv", "", "standard input is text, the model takes images (input image float32["},
		{"digits.onnx", "cut.png", "", "standard input: "},
		{"two.onnx", "digits/3/0000.png", "", "standard input: the model does not take images: its inputs are [x float32["},
		{"two.onnx", "x.npy", "", "standard input: "},
	} {
		f, err := os.Open(in(c.file))
		if err != nil {
			t.Fatal(err)
		}
		os.Stdin = f
		out, err := command("predict", in(c.model), "-", "--csv")
		f.Close()
		if !strings.Contains(out, c.want) || c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "graft-")) {
			t.Errorf("%s < %s prints %q, %v; want %q, %q", c.model, c.file, out, err, c.want, c.err)
		}
	}
	for line, want := range map[string]string{
		"two.onnx x.npz -o answers.csv": "is a folder for masks, images and maps, and this model's predictions are printed: --csv > FILE stores them",
		"digits.onnx cut.png":           "cut.png: ",
	} {
		args := []string{"predict"}
		for _, a := range strings.Fields(line) {
			if a != "-o" {
				a = in(a)
			}
			args = append(args, a)
		}
		if out, err := command(args...); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "samples") {
			t.Errorf("predict %s prints %q, %v; want %q", line, out, err, want)
		}
	}
}

// TestPredictProbabilities checks that outputs of a Sigmoid are printed as independent probabilities,
// and that other scores become a distribution, on any axis.
func TestPredictProbabilities(t *testing.T) {
	dir := t.TempDir()
	archive(t, filepath.Join(dir, "x.npz"), map[string]*tensor.Dense{"x": tensor.New(tensor.WithShape(1, 3), tensor.WithBacking(make([]float32, 3)))})
	for want, layer := range map[string]nn.Layer{
		"1,0,0.5000,0.5000,0.5000,0.5000\n": layers.Sigmoid{},
		"1,0,0.3333,0.3333,0.3333,0.3333\n": layers.ReLU{},
	} {
		g := nn.New("m")
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Apply(layer, e.Input("x", "float32[N,3]")))
		}); err != nil {
			t.Fatal(err)
		}
		if err := onnxio.Save(filepath.Join(dir, "m.onnx"), g); err != nil {
			t.Fatal(err)
		}
		if out, err := command("predict", filepath.Join(dir, "m.onnx"), filepath.Join(dir, "x.npz"), "--csv"); err != nil || !strings.HasSuffix(out, want) {
			t.Errorf("after %T: %q, %v, want %q", layer, out, err, want)
		}
	}
}

// TestPredictFolders checks that a link to a folder is followed, its images called by the name of the link, and that a failure leaves no
// folder behind.
func TestPredictFolders(t *testing.T) {
	dir := spoiled(t)
	t.Chdir(dir)
	if err := os.Symlink("letters", "linked"); err != nil {
		t.Skip(err)
	}
	expect(t, ".", [][3]string{
		{"predict digits.onnx linked --preset unit --json", `{"sample":"linked/A/0000.png",`, ""},
		{"predict digits.onnx none --explain cam --preset unit -o maps/a", "", "no images in this folder"},
		{"predict digits.onnx bad --explain cam --preset unit -o maps/a", "", "none of 2 samples can be read"},
	})
	if _, err := os.Stat("maps"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder maps is left: %v", err)
	}
}

// TestPredictedNames checks that a prediction is not called like a column of the data.
func TestPredictedNames(t *testing.T) {
	dir := t.TempDir()
	classifier(t, filepath.Join(dir, "two.onnx"), 3, 2)
	if err := os.WriteFile(filepath.Join(dir, "t.csv"), []byte("a,b,c,label\n1,2,3,0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, [][3]string{{"predict two.onnx t.csv --csv", "sample,a,b,c,label,predicted label,probability,p(", ""}})
}

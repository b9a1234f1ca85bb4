package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// TestClassesOfPositions checks that sequences of unequal length with a class for each position train
// models with the classes on either axis, and that predict names the classes.
func TestClassesOfPositions(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, transposed := range map[string]bool{"last.onnx": false, "second.onnx": true} {
		g := nn.New("tagger")
		if err := g.Edit(func(e *nn.Edit) {
			e.Seed(1)
			x := e.Apply(nn.Sequential{layers.Embedding{Num: 12, Dim: 8}, layers.Linear{Out: 3}}, e.Input("tokens", "int64[N,T]"))
			if transposed {
				x = e.Apply(layers.Transpose{Perm: []int{0, 2, 1}}, x)
			}
			e.Output("scores", x)
		}); err != nil {
			t.Fatal(err)
		}
		if err := onnxio.Save(in(name), g); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for range 80 {
		var tokens, tags []string
		for range 2 + r.IntN(6) {
			k := r.IntN(12)
			tokens, tags = append(tokens, fmt.Sprint(k)), append(tags, fmt.Sprintf("%q", []string{"noun", "other", "verb"}[k%3]))
		}
		fmt.Fprintf(&text, "{\"tokens\":[%s],\"tags\":[%s]}\n", strings.Join(tokens, ","), strings.Join(tags, ","))
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.jsonl", text.String())
	write("one.jsonl", "{\"tokens\":[3,1,5]}\n{\"tokens\":[2]}\n")
	for _, name := range []string{"last.onnx", "second.onnx"} {
		out, err := command("train", in(name), "--data", in("a.jsonl"), "--target", "tags", "--lr", "0.05", "--epochs", "20", "-o", in("out.onnx"), "--force")
		if err != nil || !strings.Contains(out, "the loss and the metrics ignore the padding") {
			t.Fatal(name, out, err)
		}
		if out, err = command("eval", in("out.onnx"), "--data", in("a.jsonl"), "--target", "tags"); err != nil || out != "80 samples\naccuracy   1\n" {
			t.Error(name, out, err)
		}
		count := strings.Count(text.String(), `"noun"`)
		if out, err = command("eval", in("out.onnx"), "--data", in("a.jsonl"), "--target", "tags", "--per-class", "--metric", "confusion", "--confusion", in("c.png"), "-o", in("page.html")); err != nil ||
			!strings.Contains(strings.Join(strings.Fields(out), " "), fmt.Sprintf("noun 1.0000 1.0000 1.0000 %d %d", count, count)) {
			t.Error(name, out, err)
		}
		if _, err = command("eval", in("out.onnx"), "--data", in("a.jsonl"), "--target", "tags", "--worst", "3"); name == "last.onnx" && (err == nil || !strings.Contains(err.Error(), "for sequences, --per-class and --confusion count the positions")) {
			t.Error(name, err)
		}
		if out, err = command("predict", in("out.onnx"), in("one.jsonl")); err != nil || !strings.Contains(out, "noun other verb") {
			t.Error(name, out, err)
		}
		if out, err = command("predict", in("out.onnx"), in("one.jsonl"), "--json"); err != nil || !strings.HasPrefix(out, `{"sample":"1","labels":["noun","other","verb"],"probabilities":[0.9`) {
			t.Error(name, out, err)
		}
	}
	write("short.jsonl", `{"tokens":[1,2,3],"y":[0,1,2]}`+"\n"+`{"tokens":[1,2,3],"y":[0,1]}`+"\n")
	write("numbers.jsonl", `{"tokens":[1,2,3],"y":[0.5,1,2]}`+"\n"+`{"tokens":[1,2],"y":[0,1]}`+"\n")
	write("none.jsonl", `{"tokens":[1,2,3],"y":[0,1,2]}`+"\n"+`{"tokens":[1],"y":[]}`+"\n")
	for name, want := range map[string]string{
		"short.jsonl":   "object 2: the target y has 2 classes, which none of the inputs has positions for: input tokens has the shape [3]",
		"numbers.jsonl": "the target y has lists of numbers of unequal length: only classes, whole numbers or words, can be padded",
		"none.jsonl":    "object 2: the target y is empty",
	} {
		if _, err := command("train", in("last.onnx"), "--data", in(name), "-o", in("x.onnx")); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

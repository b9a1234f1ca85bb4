package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/phrase"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
)

// A network of graft new gets a tokenizer made of the texts, and reads texts by itself afterwards; of tables, JSON lines and words.
func TestTextLearned(t *testing.T) {
	t.Chdir(t.TempDir())
	reviews(t, "reviews", 200, 1)
	reviews(t, "new", 40, 2)
	sentences(t, "words", 60, 1)
	for _, c := range []struct{ kind, data, text, said, test string }{
		{"--classes 2", "reviews.csv", "sentence --target label", "the model has no tokenizer: one is learned from the texts, byte pair encoding with 80 tokens", "new.csv"},
		{"--classes 2", "reviews.jsonl", "sentence", "byte pair encoding with 80 tokens", "new.jsonl"},
		{"--classes 2 --per-token", "words.conll", "words", "the model has no tokenizer: one is learned from the texts", "words.conll"},
	} {
		if _, err := command(strings.Fields("new transformer --input 32 --vocabulary 80 --mask --width 8 --depth 1 -o start.onnx " + c.kind)...); err != nil {
			t.Fatal(err)
		}
		out, err := command(strings.Fields("train start.onnx --data " + c.data + " --epochs 2 --lr 1e-2 --force -o out.onnx --text " + c.text)...)
		if err != nil || !strings.Contains(out, c.said) {
			t.Fatal(c, out, err)
		}
		if out, err = command("eval", "out.onnx", "--data", c.test); err != nil || !strings.Contains(out, "accuracy") {
			t.Error(c, out, err)
		}
	}
	if _, err := command(strings.Fields("new transformer --input 32 --vocabulary 9 --mask --width 8 --depth 1 --classes 2 -o small.onnx")...); err != nil {
		t.Fatal(err)
	}
	_, err := command(strings.Fields("train small.onnx --data reviews.csv --text sentence --target label -o x.onnx")...)
	if want := "there is no --tokenizer, and the model's vocabulary is too small for one learned from the texts of reviews.csv: 9 tokens are too few: "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s…", err, want)
	}
}

// TestTextPositions checks that texts are truncated to the number of the model's positions.
func TestTextPositions(t *testing.T) {
	t.Chdir(t.TempDir())
	reviews(t, "reviews", 60, 1)
	g := nn.New("positions")
	if err := g.Edit(func(e *nn.Edit) {
		e.Seed(1)
		x := e.Input("input_ids", "int64[N,L]")
		words := e.Apply(layers.Embedding{Num: phrase.ReviewTokens(), Dim: 4, Name: "embedding"}, x)
		ones := e.Node(std.CastConfig{To: dtype.Int64}, e.Node(op.Plain("Equal"), x, x).Out(0)).Out(0)
		place := e.Node(op.Plain("Sub"), e.Node(op.Plain("CumSum"), ones, e.Scalar("axis", x, 1)).Out(0), ones).Out(0)
		words = e.Node(op.Plain("Add"), words, e.Apply(layers.Embedding{Num: 7, Dim: 4, Name: "positions"}, place)).Out(0)
		drop := false
		e.Output("scores", e.Apply(layers.Linear{Out: 2, Name: "head"}, e.Node(std.ReduceMeanConfig{KeepDims: &drop}, words, e.Ints("steps", 1)).Out(0)))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save("m.onnx", g); err != nil {
		t.Fatal(err)
	}
	out, err := command(strings.Fields("train m.onnx --data reviews.csv --text sentence --target label --tokenizer tokenizer.json --epochs 1 --lr 1e-2 -o out.onnx")...)
	if err != nil || !strings.Contains(out, "texts fill the 7 tokens or are cut to them (--max-length)") {
		t.Error(out, err)
	}
}

// A model with several scores gets a last layer with one number where what texts are to answer is measured.
func TestTextMeasured(t *testing.T) {
	t.Chdir(t.TempDir())
	reviews(t, "reviews", 60, 1)
	b, err := os.ReadFile("reviews.csv")
	if err != nil {
		t.Fatal(err)
	}
	measured := strings.NewReplacer(",good\n", ",4.5\n", ",bad\n", ",1.25\n", ",label\n", ",stars\n").Replace(string(b))
	if err := os.WriteFile("stars.csv", []byte(measured), 0o644); err != nil {
		t.Fatal(err)
	}
	masked(t, "m.onnx", "input_ids", "attention_mask", phrase.ReviewTokens())
	out, err := command(strings.Fields("train m.onnx --data stars.csv --text sentence --target stars --tokenizer tokenizer.json --epochs 2 -o out.onnx")...)
	if err != nil || !strings.Contains(out, "the targets are numbers: the last layer is replaced by one with 1 outputs instead of 2 scores") || !strings.Contains(out, "r2 ") {
		t.Fatal(out, err)
	}
	if out, err = command("predict", "out.onnx", "stars.csv", "--json"); err != nil || !strings.Contains(out, `{"sample":"1","value":`) {
		t.Error(out, err)
	}
}

// TestShortened checks that long texts are shortened in the table that predict prints, but not in its CSV.
func TestShortened(t *testing.T) {
	for in, want := range map[string]string{
		"a  b\n c":              "a b c",
		strings.Repeat("é", 48): strings.Repeat("é", 48),
		strings.Repeat("é", 49): strings.Repeat("é", 47) + "…",
		"":                      "",
	} {
		if got := shortened(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

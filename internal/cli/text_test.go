package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/phrase"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
)

// reviews writes reviews and tokenizer.json.
func reviews(t *testing.T, name string, rows int, seed uint64) {
	t.Helper()
	if err := phrase.Reviews(name, "tokenizer.json", rows, seed); err != nil {
		t.Fatal(err)
	}
}

// masked writes a model that takes ids and a mask of any length: the mean of the tokens' vectors, and a classifier.
func masked(t *testing.T, path string, ids, mask string, vocabulary int) {
	t.Helper()
	g := nn.New("masked")
	if err := g.Edit(func(e *nn.Edit) {
		e.Seed(1)
		x := e.Apply(layers.Embedding{Num: vocabulary, Dim: 8, Name: "embedding"}, e.Input(ids, "int64[N,L]"))
		m := e.Input(mask, "float32[N,L]")
		there := e.Node(op.Plain("Unsqueeze"), m, e.Ints("axes", 2)).Out(0)
		keep := false
		sum := e.Node(std.ReduceSumConfig{KeepDims: &keep}, e.Node(op.Plain("Mul"), x, there).Out(0), e.Ints("steps", 1)).Out(0)
		count := e.Node(op.Plain("ReduceSum"), m, e.Ints("steps2", 1)).Out(0)
		e.Output("scores", e.Apply(layers.Linear{Out: 2, Name: "head"}, e.Node(op.Plain("Div"), sum, count).Out(0)))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(path, g); err != nil {
		t.Fatal(err)
	}
}

// TestTextMask checks that padding changes no prediction, from tables, JSON lines and over HTTP; the
// tokenizer is stored in the model.
func TestTextMask(t *testing.T) {
	for name, start := range map[string]func(t *testing.T){
		"mean": func(t *testing.T) { masked(t, "start.onnx", "input_ids", "attention_mask", phrase.ReviewTokens()) },
		"transformer": func(t *testing.T) {
			if _, err := command(strings.Fields("new transformer --input 24 --vocabulary 40 --mask --width 8 --depth 1 --classes 2 -o start.onnx")...); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { textMask(t, start) })
	}
}

func textMask(t *testing.T, start func(t *testing.T)) {
	t.Chdir(t.TempDir())
	reviews(t, "reviews", 300, 1)
	reviews(t, "new", 12, 2)
	start(t)
	out, err := command("train", "start.onnx", "--data", "reviews.jsonl", "--val", "new.csv", "--text", "sentence", "--target", "label", "--tokenizer", "tokenizer.json", "--epochs", "3", "-o", "out.onnx")
	if err != nil || !strings.Contains(out, "texts of column sentence: ") || strings.Contains(out, "no attention_mask") {
		t.Fatal(out, err)
	}
	all := probabilities(t, "predict", "out.onnx", "new.csv", "--json")
	one := probabilities(t, "predict", "out.onnx", "new.csv", "--json", "--batch", "1")
	lines := probabilities(t, "predict", "out.onnx", "new.jsonl", "--json", "--batch", "5")
	if len(all) != 12 || len(one) != 12 || len(lines) != 12 {
		t.Fatal(all, one, lines)
	}
	for i := range all {
		if math.Abs(all[i]-one[i]) > 1e-5 || math.Abs(all[i]-lines[i]) > 1e-5 {
			t.Errorf("sample %d: %v, alone %v, of JSON lines %v", i, all[i], one[i], lines[i])
		}
	}
	server := serving(t, "out.onnx", quick)
	code, answer := post(t, server.URL+"/predict", "application/json", []byte(`{"samples":[{"sentence":"The film was dull!"},{"sentence":"The book was not awful, and the service was fast."}]}`))
	if list, ok := answer["predictions"].([]any); code != 200 || !ok || len(list) != 2 {
		t.Error(code, answer)
	}
	code, answer = post(t, server.URL+"/predict", "application/json", []byte(`{"text":"x"}`))
	if want := `request: object 1: no text "sentence"; it has text`; code != 400 || answer["error"] != want {
		t.Error(code, answer)
	}
}

func probabilities(t *testing.T, args ...string) (list []float64) {
	t.Helper()
	out, err := command(args...)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		var x struct {
			Label       string
			Probability float64
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		if x.Label == "bad" {
			x.Probability = 1 - x.Probability
		}
		list = append(list, x.Probability)
	}
	return list
}

// TestTextRefused checks the messages about what the texts or the model lack.
func TestTextRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	reviews(t, "a", 40, 1)
	masked(t, "m.onnx", "input_ids", "attention_mask", phrase.ReviewTokens())
	masked(t, "named.onnx", "words", "weights", phrase.ReviewTokens())
	masked(t, "other.onnx", "input_ids", "weights", phrase.ReviewTokens())
	masked(t, "small.onnx", "input_ids", "attention_mask", 7)
	b, err := os.ReadFile("tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"char.json":  strings.Replace(string(b), `"WordPiece"`, `"Char"`, 1),
		"empty.json": "{}",
		"bad.jsonl":  "{\"sentence\":\"a\",\"label\":\"x\"}\n{\"sentence\":3,\"label\":\"y\"}\n",
		"none.jsonl": "{\"sentence\":\"a\"}\n",
	} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	train := "train %s --data a.csv --text sentence --target label --tokenizer tokenizer.json -o x.onnx"
	for _, c := range []struct{ args, want string }{
		{"train m.onnx --data a.csv --text sentense --tokenizer tokenizer.json -o x.onnx", `table: a.csv: no column "sentense"; it has id, sentence, label`},
		{"train m.onnx --data a.csv --text sentence --target sentence --tokenizer tokenizer.json -o x.onnx", "a.csv: column sentence holds the texts: --target names the column with the answers"},
		{"train m.onnx --data a.csv --text sentence -o x.onnx", "the model has no tokenizer: --tokenizer tokenizer.json gives one"},
		{"train m.onnx --data a.csv --text sentence --tokenizer char.json -o x.onnx", `token: char.json: the model is of type "Char", which is not supported; there are WordPiece, BPE, Unigram, WordLevel`},
		{"predict m.onnx a.csv --text sentence --tokenizer empty.json", `token: empty.json: not a tokenizer.json: it has no "model"`},
		{fmt.Sprintf(train, "named.onnx"), "the model takes no text: none of its inputs [words int64[N,L] weights float32[N,L]] is called input_ids; a step of a recipe renames one: {\"do\": \"rename\", \"value\": \"words\", \"to\": \"input_ids\"}"},
		{fmt.Sprintf(train, "other.onnx"), "input weights float32[N,L] cannot be computed from texts: want the names input_ids, attention_mask, token_type_ids and position_ids"},
		{fmt.Sprintf(train, "small.onnx"), "the tokenizer has 23 tokens, the model knows 7: it is another model's tokenizer"},
		{"eval m.onnx --data a.csv --tokenizer tokenizer.json", "--tokenizer, --text-pair and --max-length are for texts: --text names the column of the texts"},
		{"predict m.onnx a.csv --text sentence --tokenizer tokenizer.json --max-length -1", "--max-length -1: want 1 or more"},
		{"train m.onnx --data a.npz --text sentence --tokenizer tokenizer.json -o x.onnx", "texts are read from tables, JSON lines and, with a class for each word, lines of words (.csv, .tsv, .jsonl, .conll), not from a.npz"},
		{"train m.onnx --data bad.jsonl --text sentence --tokenizer tokenizer.json -o x.onnx", `bad.jsonl: object 2: "sentence" is 3, want a text`},
		{"train m.onnx --data none.jsonl --text sentence --tokenizer tokenizer.json -o x.onnx", "none.jsonl: object 1: no target under y, label, target, labels, tags, scores; it has sentence; --target names another"},
	} {
		if _, err := command(strings.Fields(c.args)...); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.args, err, c.want)
		}
	}
}

// TestTrainLines checks that JSON lines, keyed by input names, train a model with several inputs and shapes.
func TestTrainLines(t *testing.T) {
	t.Chdir(t.TempDir())
	masked(t, "m.onnx", "ids", "mask", 9)
	var b strings.Builder
	for i := range 60 {
		more := []string{"", ",1", ",2,2"}[i%3] // of either class
		fmt.Fprintf(&b, "{\"ids\":[%d,%d,3%s],\"mask\":[1,1,0.5%s],\"y\":%d}\n", 5+i%2, 7+i/2%2, more, strings.Repeat(",0", i%3), i%2)
	}
	if err := os.WriteFile("a.jsonl", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := command("train", "m.onnx", "--data", "a.jsonl", "--epochs", "5", "--lr", "0.05", "--no-shuffle", "-o", "out.onnx"); err != nil || !strings.Contains(out, "a.jsonl: sequences of unequal length are padded with 0 to the longest of a batch") {
		t.Fatal(out, err)
	}
	out, err := command("eval", "out.onnx", "--data", "a.jsonl")
	if err != nil || !strings.Contains(out, "accuracy   1\n") {
		t.Error(out, err)
	}
	// Without a mask each position counts, and none of the padding: in a batch the answers are those of samples alone.
	short := `{"ids":[5,7,3],"y":0}` + "\n"
	long := `{"ids":[6,8,3,2,2],"y":1}` + "\n"
	if err := os.WriteFile("bare.jsonl", []byte(short+long), 0o644); err != nil {
		t.Fatal(err)
	}
	const made = "no values for the mask mask: it is 1 at each position of a sequence, and 0 where it is padded"
	if out, err = command("train", "out.onnx", "--data", "bare.jsonl", "--val", "bare.jsonl", "--epochs", "1", "--lr", "1e-3", "-o", "more.onnx"); err != nil || !strings.Contains(out, made) {
		t.Fatal(out, err)
	}
	if err := os.WriteFile("masked.jsonl", []byte(`{"ids":[5,7,3,0,0],"mask":[1,1,1,0,0],"y":0}`+"\n"+`{"ids":[6,8,3,2,2],"mask":[1,1,1,1,1],"y":1}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	masked, err := command("predict", "out.onnx", "masked.jsonl", "--json")
	if err != nil {
		t.Fatal(masked, err)
	}
	bare, err := command("predict", "out.onnx", "bare.jsonl", "--json", "--batch", "1")
	if err != nil || bare != masked {
		t.Errorf("with a mask that was made, %v\n%s\nwith the same by hand\n%s", err, bare, masked)
	}
	for want, line := range map[string]string{
		"object 1: no value for input ids; the model has the inputs [ids int64[N,L] mask float32[N,L]]": `{"id":[1],"y":0}`,
		"object 1: input ids: 1.5 is not a whole number, want int64":                                    `{"ids":[1.5],"mask":[1],"y":0}`,
		"object 2: the target y is [1]: want one as in the first object":                                `{"ids":[1],"mask":[1],"y":0}{"ids":[1],"mask":[1],"y":[1]}`,
		"no objects": ` `,
	} {
		if err := os.WriteFile("b.jsonl", []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := command("train", "m.onnx", "--data", "b.jsonl", "-o", "x.onnx"); err == nil || err.Error() != "b.jsonl: "+want {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}

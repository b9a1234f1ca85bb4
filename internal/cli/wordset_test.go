package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/phrase"
)

// sentences writes sentences with a label for each word, and tokenizer.json.
func sentences(t *testing.T, name string, count int, seed uint64) {
	t.Helper()
	if err := phrase.Sentences(name, "tokenizer.json", count, seed); err != nil {
		t.Fatal(err)
	}
}

// TestWords checks word classification: words keep their position, long texts are read in windows, and
// predict, eval and serve count every word once.
func TestWords(t *testing.T) {
	t.Chdir(t.TempDir())
	sentences(t, "train", 200, 1)
	sentences(t, "test", 50, 2)
	run := func(line string) string {
		t.Helper()
		out, err := command(strings.Fields(line)...)
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return out
	}
	run("new transformer --input 32 --vocabulary 40 --mask --per-token --width 16 --classes 2 -o start.onnx")
	run("train start.onnx --data train.conll --text words --tokenizer tokenizer.json --epochs 15 -o conll.onnx")
	out := run("train start.onnx --data train.jsonl --text words --tokenizer tokenizer.json --max-length 9 --lr 0.01 --epochs 15 -o parts.onnx")
	if !strings.Contains(out, "texts have more than 9 tokens (--max-length) and are read in parts: ") {
		t.Error(out)
	}
	words, count := 0, map[string]int{}
	file, err := os.ReadFile("test.conll")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] != "-DOCSTART-" {
			words++
			count[f[2]]++
		}
	}
	for _, model := range []string{"conll.onnx", "parts.onnx"} {
		for _, file := range []string{"test.conll", "test.jsonl"} {
			out := run("eval " + model + " --data " + file + " --per-class --json")
			var r struct {
				Metrics map[string]float64
				Classes []string
				Per     []struct{ Samples int } `json:"per_class"`
			}
			if err := json.Unmarshal([]byte(out), &r); err != nil || r.Metrics["accuracy"] < 0.9 || len(r.Per) != 3 {
				t.Fatal(model, file, out, err)
			}
			for i, c := range r.Classes {
				if r.Per[i].Samples != count[c] {
					t.Errorf("%s %s: %d words are %s, want %d", model, file, r.Per[i].Samples, c, count[c])
				}
			}
			if out = run("predict " + model + " " + file + " --csv"); strings.Count(out, "\n") != words+1 || !strings.HasPrefix(out, "sample,word,label,probability\n1,") || !strings.Contains(out, "\n50,") {
				t.Errorf("%s %s: %d lines, want %d\n%s", model, file, strings.Count(out, "\n"), words+1, out[:200])
			}
		}
	}
	if err := os.WriteFile("new.jsonl", []byte(`{"words":["Kalo","met","Panvor"]}`+"\n"+`{"words":"nobody in Tensel knows Oridu or Lomi , and Kadu lives in Milo ."}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(run("predict parts.onnx new.jsonl --json")), "\n")
	var got struct {
		Sample        string
		Words, Labels []string
	}
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"sample":"1","labels":["`) || json.Unmarshal([]byte(lines[1]), &got) != nil || got.Sample != "2" || len(got.Words) != 14 || len(got.Labels) != 14 {
		t.Error(lines)
	}
	code, answers := post(t, serving(t, "parts.onnx", quick).URL+"/predict", "application/json", []byte(`[{"words":["Kalo","met","Panvor"]},{"words":"nobody in Tensel knows Oridu or Lomi , and Kadu lives in Milo ."}]`))
	if list, ok := answers["predictions"].([]any); !ok || code != 200 || len(list) != 2 || fmt.Sprint(list[0].(map[string]any)["words"]) != "[Kalo met Panvor]" || len(list[1].(map[string]any)["labels"].([]any)) != 14 {
		t.Error(code, answers)
	}
	for name, text := range map[string]string{
		"ragged.conll": "a X\nb\n", "other.conll": "a X\n", "one.conll": "a\n\nb\n", "narrow.conllu": "a\n\nb\n", "none.conll": "\n\n",
		"short.jsonl": `{"words":["a","b"],"tags":["x"]}`, "number.jsonl": `{"words":["a",3],"tags":["x","y"]}`, "empty.jsonl": `{"words":[],"tags":[]}`, "single.jsonl": `{"words":["a"],"tags":"x"}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const train = "train start.onnx --text words --tokenizer tokenizer.json -o x.onnx --data "
	run("new transformer --input 32 --vocabulary 40 --mask --width 8 --classes 2 -o whole.onnx")
	for line, want := range map[string]string{
		"train start.onnx --data train.conll -o x.onnx": "train.conll has one word on each line: give --text",
		train + "ragged.conll":                          "ragged.conll: line 2 has 1 columns, the sentence began with 2: want a word on each line, and an empty line after a sentence",
		train + "one.conll":                             "one.conll: column 0 holds the words, and cannot be the target: --target names the column of their classes",
		train + "none.conll":                            "none.conll: no words",
		train + "train.conll --target 7":                "train.conll: line 3 has 3 columns, and no column 7",
		train + "train.conll --target pos":              `train.conll: no column "pos": columns have numbers from 0 to 2`,
		train + "short.jsonl":                           "short.jsonl: object 1: 2 words under words, 1 classes under tags",
		train + "number.jsonl":                          `number.jsonl: object 1: "words" has the element 3, want a text`,
		train + "single.jsonl":                          "single.jsonl: the model has a class for each word: want a list of classes under tags",
		"train whole.onnx --text words --tokenizer tokenizer.json -o x.onnx --data train.conll": "the model gives scores float32[N,2]: want scores for each token, [N,length,classes] (graft new transformer --per-token makes a network)",
		"eval conll.onnx --data other.conll":                                                    `other.conll: sentence 1: the target is "X", which is not among the classes other, person, place`,
		"eval conll.onnx --data train.csv":                                                      "train.csv: the model has a class for each word, a table has one for a row",
		"predict conll.onnx narrow.conllu":                                                      "narrow.conllu: line 1 has 1 columns, and no column 1",
		"predict whole.onnx test.conll":                                                         "test.conll has a word on each line: that is for models that graft trained on words",
		"new transformer --input 32 --vocabulary 40 --per-token -o x.onnx":                      "--per-token is for transformer with --mask",
		train + "train.conll --head-only":                                                       "head-only is for classifiers with one class for each sample",
	} {
		if _, err := command(strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

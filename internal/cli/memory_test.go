package cli

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
)

func TestBytesOf(t *testing.T) {
	for s, want := range map[string]int64{"": 0, "1000": 1000, "4GB": 4e9, "1.5 MiB": 3 << 19, "2kb": 2000, "7b": 7} {
		if n, err := bytesOf(s); err != nil || n != want {
			t.Errorf("%q: %d, %v, want %d", s, n, err, want)
		}
	}
	for _, s := range []string{"much", "-1GB", "0", "NaN", "1e300", "GB"} {
		if n, err := bytesOf(s); err == nil {
			t.Errorf("%q: %d", s, n)
		}
	}
}

// TestGarbageLimit: a command limits Go's garbage beside what is charged, and no more than what was set at the start.
func TestGarbageLimit(t *testing.T) {
	defer limitMemory(0)
	for _, c := range []struct{ n, want int64 }{{1e9, 1e9 + runtimeMemory}, {0, min(ownLimit, budget.Default()+runtimeMemory)}, {math.MaxInt64, ownLimit}} {
		limitMemory(c.n)
		if got := debug.SetMemoryLimit(-1); got > c.want || got < c.want-1<<20 { // less what is mapped outside of Go's memory
			t.Errorf("--memory %d: a limit of %d, want %d", c.n, got, c.want)
		}
	}
}

// TestDecodedMemory: small files that become many times their size are refused before they are decoded.
func TestDecodedMemory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	const n = 40000
	many := func(item string) string { return strings.Repeat(item+",", n-1) + item }
	for name, text := range map[string]string{
		"objects.json": `{"steps":[` + many("{}") + `]}`, "towards.json": `{"steps":[{"do":"insert","towards":[` + many(`""`) + `]}]}`,
		"set.json": `{"steps":[{"do":"annotate","glob":["*"],"set":{"a":[` + many("[]") + `]}}]}`, "plan.json": `{"model":"m","cuts":[` + many("{}") + `]}`,
		"rows.jsonl": strings.Repeat("{\"x\":1}\n", n), "list.jsonl": "[" + many("{}") + "]", "long.jsonl": `{"x":[` + many("1") + `,` + many("1") + `],"y":1}`,
		"boxes.json": `{"images":[` + many("{}") + `],"annotations":[],"categories":[]}`, "sound.json": `{"images":[{"id":1,"file_name":"a.jpg"}],"annotations":[],"categories":[{"id":1,"name":"a"}]}`,
		"results.json": "[" + many("{}") + "]", "vocab.json": `{"model":{"type":"BPE","vocab":{},"merges":[` + many(`"a b"`) + `]}}`, "words.conll": strings.Repeat("a O\n", n),
		"train.yaml": "epochs: [" + many("1") + "," + many("1") + "," + many("1") + "," + many("1") + "]\n", "texts.csv": "text,y\na,1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	classifier(t, filepath.Join(dir, "m.onnx"), 3, 2)
	const over = "more than the limit of 2000000"
	expect(t, dir, [][3]string{
		{"new transformer --input 16 --vocabulary 100 --mask --classes 2 --per-token -o text.onnx", "", ""},
		{"edit m.onnx --recipe objects.json -o x.onnx --memory 2MB", "", over}, {"edit m.onnx --recipe towards.json -o x.onnx --memory 2MB", "", over}, {"edit m.onnx --recipe set.json -o x.onnx --memory 2MB", "", over},
		{"prune m.onnx --replay plan.json -o x.onnx --memory 2MB", "", over}, {"generate m.onnx --recipe plan.json -o x --memory 2MB", "", over},
		{"predict m.onnx rows.jsonl --memory 2MB", "", over}, {"train m.onnx --data list.jsonl -o x.onnx --memory 2MB", "", over}, {"train m.onnx --data long.jsonl -o x.onnx --memory 2MB", "", "a list of 80000 elements"},
		{"eval m.onnx --data boxes.json --memory 2MB", "", over}, {"eval --detections results.json --data sound.json --memory 2MB", "", over},
		{"predict text.onnx texts.csv --text text --tokenizer vocab.json --memory 2MB", "", over}, {"train text.onnx --data words.conll --text 0 -o x.onnx --memory 2MB", "", over},
		{"train m.onnx --recipe train.yaml", "", "a recipe at most 262144"},
	})
}

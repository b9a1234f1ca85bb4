package cli

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/nn/dtype"
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

// TestBlocks: the elements of an array are looked at in place, in blocks: figures, the first that is not finite, and memory.
func TestBlocks(t *testing.T) {
	const n = 2*blockLength + 5
	d := dtype.New(dtype.Uint8, n)
	for i := range d.Raw {
		d.Raw[i] = byte(i%200 + 3)
	}
	seen := 0
	budget.Limit(budgettest.Used() + 4*n)
	defer budget.Limit(0)
	err := eachBlock(d, func(at int, block []float64) {
		for i, x := range block {
			if at+i != seen || x != float64(seen%200+3) {
				t.Fatalf("element %d, %v", at+i, x)
			}
			seen++
		}
	})
	least, most, whole, e := spread(d)
	if err != nil || e != nil || seen != n || least != 3 || most != 202 || !whole {
		t.Errorf("%d elements, %v, from %v to %v, %v, %v", seen, err, least, most, whole, e)
	}
	x := dtype.New(dtype.Float32, 2, n)
	x.Float32s()[n+7], x.Float32s()[n+8] = float32(math.Inf(-1)), float32(math.NaN())
	const want = "a.npz: array x: element [1 7] is -Inf, and 1 more are not finite: the loss would not be finite"
	if err := (&dataset{val: "0.2"}).whole("a.npz", "x", x); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

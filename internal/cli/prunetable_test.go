package cli

import (
	"path/filepath"
	"testing"
)

// A row for each layer; the figures after each round; the flags of train.
func TestPruneTable(t *testing.T) {
	dir := t.TempDir()
	cnn(t, dir)
	rare(t, filepath.Join(dir, "rare.csv"))
	classifier(t, filepath.Join(dir, "two.onnx"), 3, 2)
	expect(t, dir, [][3]string{
		{"prune cnn.onnx --target macs=0.5 --round-to 4 --dry-run", "layer  op    gives                parameters   multiply-adds", ""},
		{"prune cnn.onnx --target macs=0.5 --round-to 4 --dry-run", "b      Conv  N×16×4×4 → N×8×4×4   2 320 → 872  36 864 → 13 824", ""},
		{"prune cnn.onnx --target macs=0.5 --round-to 4 --dry-run", "total: parameters 3 251 → ", ""},
		{"prune cnn.onnx --target macs=0.5 --dry-run --details", "axis 0 of ", ""},
		{"prune two.onnx --target macs=0.5 --data rare.csv --preset none -o s.onnx", "", "--preset is for images"},
		{"prune two.onnx --target macs=0.5 --data rare.csv --iterations 2 --finetune-epochs 1 --optimizer sgd --lr 0.1 --class-weights auto -o s.onnx", "validation loss", ""},
		{"prune cnn.onnx --optimizer fast --dry-run", "", "--optimizer fast: want one of adadelta"},
		{"prune cnn.onnx --lr -1 --dry-run", "", "--lr -1: want 0 or more"},
		{"prune cnn.onnx --iterations 0 --dry-run", "", "--iterations 0: want 1 or more"},
		{"prune cnn.onnx --finetune-epochs -2 --dry-run", "", "--finetune-epochs -2: want 0 or more"},
	})
}

// TestSizesOf checks that commas within a function of symbols stay.
func TestSizesOf(t *testing.T) {
	for typ, want := range map[string]string{
		"float32[N,32,28,28]": "N×32×28×28", "float32": "", "float32[N,floor(T-1,2)+1,4]": "N×floor(T-1,2)+1×4", "float32[max(floor(a,2),b),3]": "max(floor(a,2),b)×3",
	} {
		if got := sizesOf(typ); got != want {
			t.Errorf("%s: %q, want %q", typ, got, want)
		}
	}
}

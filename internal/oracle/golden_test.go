package oracle_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/glyph"
	"github.com/graft-ml/graft/internal/oracle"
)

const (
	goldenDir = "../../testdata/torch"
	digits    = "../../cmd/graft/demo/digits.onnx"
)

// The committed trajectories are what their script makes.
func TestTrajectoriesAreReproducible(t *testing.T) {
	dir := t.TempDir()
	oracle.Torch(t, filepath.Join(goldenDir, "trajectories.py"), dir)
	for _, net := range []string{"mlp", "convbn", "lstm"} {
		for _, precision := range []string{"float32", "float64"} {
			name := net + "." + precision + ".npz"
			want, err := oracle.NPZ(filepath.Join(goldenDir, name))
			if err != nil {
				t.Fatal(err)
			}
			got, err := oracle.NPZ(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Errorf("%s: %d arrays, want %d", name, len(got), len(want))
			}
			for array := range want {
				// Another processor rounds differently; ten steps amplify that a little. The net's output before
				// training is float32 in either file.
				tol := 1e-4
				if want[array].DType == "float64" && precision == "float64" {
					tol = 1e-10
				}
				if err := oracle.Close(got[array], want[array], tol, tol); err != nil {
					t.Errorf("%s, %s: %v", name, array, err)
				}
			}
		}
	}
}

// TestTrajectoryNetsInORT checks that ONNX Runtime computes from the exported networks the same as
// PyTorch before the export.
func TestTrajectoryNetsInORT(t *testing.T) {
	ort := oracle.ORT(t)
	for _, net := range []string{"mlp", "convbn", "lstm"} {
		arrays, err := oracle.NPZ(filepath.Join(goldenDir, net+".float32.npz"))
		if err != nil {
			t.Fatal(err)
		}
		all := arrays["input"]
		first := oracle.Tensor{DType: all.DType, Shape: all.Shape[1:], Data: all.Data[:len(all.Data)/all.Shape[0]]}
		out, err := ort.RunFile(filepath.Join(goldenDir, net+".onnx"), map[string]oracle.Tensor{"input": first})
		if err != nil {
			t.Fatalf("%s: %v", net, err)
		}
		if err := oracle.Close(out["output"], arrays["output"], 1e-4, 1e-5); err != nil {
			t.Errorf("%s: %v", net, err)
		}
	}
}

// The model of the demonstration reads at least 97 of 100 digits that it has not seen.
func TestDigitsModel(t *testing.T) {
	ort := oracle.ORT(t)
	const n = 1000
	images, labels, err := glyph.Set("0123456789", n, 99)
	if err != nil {
		t.Fatal(err)
	}
	x, err := oracle.Pack(images, n, 1, glyph.Size, glyph.Size)
	if err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile(digits)
	if err != nil {
		t.Fatal(err)
	}
	out, err := ort.Run(model, map[string]oracle.Tensor{"image": x})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := out["scores"].Float64s()
	if err != nil {
		t.Fatal(err)
	}
	hits := 0
	for i, label := range labels {
		row, best := scores[10*i:10*i+10], 0
		for j, v := range row {
			if v > row[best] {
				best = j
			}
		}
		if int64(best) == label {
			hits++
		}
	}
	if hits < n*97/100 {
		t.Errorf("%d of %d right", hits, n)
	}
	t.Logf("%d of %d right", hits, n)
}

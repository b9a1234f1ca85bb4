package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/train/data"
)

// A gray image in each row of a table, or in arrays of any element type, is prepared like one in a file: 99 % of digits, whichever way they
// come. What is not an image, or would have no effect, is said.
func TestImagesInRows(t *testing.T) {
	model := oracle.Shared(t, "models", "mnist-bn-cnn", "model.onnx")
	images, labels := data.FindIDX(oracle.Shared(t, "data", "mnist"), false)
	digits, err := data.IDX(images, labels)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var header, first, last, bare strings.Builder
	header.WriteString("label")
	for k := range 784 {
		fmt.Fprintf(&header, ",pixel%d", k)
	}
	header.WriteString("\n")
	const n = 200
	for i := range n {
		s, err := digits.At(i, nil)
		if err != nil {
			t.Fatal(err)
		}
		class := s.Y[0].ScalarValue().(int64)
		var row, unit []string
		for _, v := range s.X[0].Float32s() {
			row, unit = append(row, fmt.Sprint(int(v*255+0.5))), append(unit, fmt.Sprint(v))
		}
		fmt.Fprintf(&first, "%d,%s\n", class, strings.Join(row, ","))
		fmt.Fprintf(&last, "%s,%d\n", strings.Join(unit, ","), class)
		fmt.Fprintln(&bare, strings.Join(row, ","))
	}
	for name, text := range map[string]string{
		"kaggle.csv": header.String() + first.String(), "first.csv": first.String(), "last.csv": last.String(), "bare.csv": bare.String(),
		"wide.csv": header.String() + strings.Replace(first.String(), ",0,", ",300,", 1), "gap.csv": header.String() + strings.Replace(first.String(), ",0,", ",,", 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"kaggle.csv", "first.csv", "last.csv", "first.csv --target 0"} {
		out, err := in(dir, "eval "+model+" --data "+name)
		if err != nil || !strings.Contains(out, "accuracy   0.99") && !strings.Contains(out, "accuracy   1\n") {
			t.Errorf("%s: %s%v", name, out, err)
		}
	}
	if out, err := in(dir, "eval "+model+" --data kaggle.csv --preset unit"); err != nil || !strings.Contains(out, "200 samples") || strings.Contains(out, "accuracy   0.9") {
		t.Errorf("--preset unit has no effect: %s%v", out, err) // about 0.6
	}
	expect(t, dir, [][3]string{
		{"eval " + model + " --data kaggle.csv --crop 0.5", "", "the images are 28×28, as the model takes them, so nothing is cropped"},
		{"eval " + model + " --data wide.csv", "", "is not a pixel: want numbers from 0 to 255, or from 0 to 1"},
		{"eval " + model + " --data gap.csv", "", "the pixel is missing"},
		{"predict " + model + " bare.csv --csv", "1,7,", ""},
		{"predict " + model + " kaggle.csv --csv", "1,7,", ""},
		{"train " + model + " --data first.csv --val kaggle.csv --epochs 1 --policy manual -o out.onnx", "200 samples to train on, 200 to validate; classes: 0, 1, 2", ""},
		{"lr-find out.onnx --data last.csv --steps 4", "suggested rate", ""},
	})
}

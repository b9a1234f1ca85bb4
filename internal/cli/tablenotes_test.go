package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTableNotes checks what train says about a table: names that occur twice, missing words, tabs, and columns that alone determine the
// target, which others with the same values do not.
func TestTableNotes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	classes, numbers := "a\ta\tcity\tanswer\trank\tkind\n", "half\tother\tprice\n"
	for i := range 60 {
		kind, city := []string{"cat", "dog", "cow"}[i%3], []string{"Rome", "Oslo", "Bonn", "NA"}[i%4]
		classes += fmt.Sprintf("%.2f\t%.2f\t%s\tit is a %s\t%d\t%s\n", float64(i*i%41)/7, float64(i*7%31)/3, city, kind, i%3, kind)
		numbers += fmt.Sprintf("%.2f\t%.2f\t%.2f\n", float64(i*i%53)/2, float64(i*i%53)+float64(i%5)/4, 7-float64(i*i%53))
	}
	for name, text := range map[string]string{"classes.tsv": classes, "numbers.tsv": numbers, "few.tsv": strings.Join(strings.Split(classes, "\n")[:15], "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const determines = "alone determines the target"
	for data, c := range map[string]struct{ says, leaves []string }{
		"classes.tsv": {[]string{
			"classes.tsv: 60 rows, tabs between columns", "columns called like an earlier one are renamed: a.1\n", "city: category, 3 categories, missing: ",
			"column answer " + determines + ": is it known when the model is used? --column answer=ignore leaves it out\n", "column rank " + determines,
		}, []string{"column a " + determines, "column a.1 " + determines, "column city " + determines}},
		"numbers.tsv":                           {[]string{"column half " + determines}, []string{"column other " + determines, "renamed"}},
		"few.tsv":                               {nil, []string{determines}},
		"classes.tsv --column answer=ignore":    {[]string{"column answer is left out: --column says so"}, []string{"column answer " + determines}},
		"classes.tsv --target a --task classes": {nil, []string{determines}},
	} {
		out, err := in(".", "train --new tabular --epochs 1 --lr 0.01 --force -o m.onnx --data "+data)
		if err != nil {
			t.Fatal(data, err)
		}
		for _, want := range c.says {
			if !strings.Contains(out, want) {
				t.Errorf("%s: printed %q, want %q", data, out, want)
			}
		}
		for _, not := range c.leaves {
			if strings.Contains(out, not) {
				t.Errorf("%s: printed %q, not expected is %q", data, out, not)
			}
		}
	}
}

// TestTableFlags checks that flags for images, and those for numbers of a model that scales its columns itself, are errors with tables.
func TestTableFlags(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	rare(t, filepath.Join(dir, "rare.csv"))
	if _, err := in(".", "train --new tabular --epochs 1 --lr 0.01 --data rare.csv -o m.onnx"); err != nil {
		t.Fatal(err)
	}
	const own, images = "--mean: the model scales its columns itself: leave it out", "--size is for images, which rare.csv does not hold"
	expect(t, ".", [][3]string{
		{"eval m.onnx --data rare.csv --size 32", "", images},
		{"predict m.onnx rare.csv --size 32", "", images},
		{"train m.onnx --data rare.csv --size 32 -o n.onnx", "", images},
		{"lr-find m.onnx --data rare.csv --size 32", "", images},
		{"prune m.onnx --data rare.csv --size 32 --criterion taylor --dry-run", "", images},
		{"serve m.onnx --size 32", "", "--size: the model does not take images: its inputs are [width float32[N,1]"},
		{"eval m.onnx --data rare.csv --mean 3", "", own},
		{"predict m.onnx rare.csv --mean 3", "", own},
		{"train m.onnx --data rare.csv --mean 3 -o n.onnx", "", own},
		{"lr-find m.onnx --data rare.csv --mean 3", "", own},
		{"serve m.onnx --mean 3", "", own},
		{"serve m.onnx --std 3", "", "--std: the model scales its columns itself"},
	})
}

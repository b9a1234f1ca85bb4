package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"image"
	_ "image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/internal/glyph"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// houses writes a table of all kinds of columns, separated by semicolons, with decimal commas and missing values.
func houses(t *testing.T, path string, rows int, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	b.WriteString("id;area;city;sold;price;dear\n")
	for i := range rows {
		area, city := 30+200*r.Float64(), r.IntN(3)
		price := 2500*area + 100_000*float64(city)
		text, dear := strings.Replace(fmt.Sprintf("%.1f", area), ".", ",", 1), "no"
		if r.Float64() < 0.02 {
			text = ""
		}
		if price > 400_000 {
			dear = "yes"
		}
		fmt.Fprintf(&b, "h%04d;%s;%s;2020-%02d-11;%.0f;%s\n", i, text, []string{"Oslo", "Rome", "Paris"}[city], 1+r.IntN(12), price, dear)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A stranger's table, no flag but its target: a network is made, trained, evaluated on other rows, and answers in the target's unit.
func TestNewTabular(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	houses(t, in("houses.csv"), 1200, 1)
	houses(t, in("new.csv"), 300, 2)
	out, err := command("train", "--new", "tabular", "--data", in("houses.csv"), "--target", "price", "--column", "dear=ignore", "--epochs", "12", "-o", in("m.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1200 rows, ';' between columns, ',' in numbers, a header; target price: measurements", "area: number", "city: category, 3 categories",
		"sold: date, as 2006-01-02", "column id is left out: 1200 of 1200 values differ"} {
		if !strings.Contains(out, want) {
			t.Errorf("train prints %q, want %q in it", out, want)
		}
	}
	if out, err = command("eval", in("m.onnx"), "--data", in("new.csv"), "--json"); err != nil {
		t.Fatal(err)
	}
	var figures struct{ Metrics map[string]float64 }
	if last(t, out, &figures); figures.Metrics["r2"] < 0.9 {
		t.Errorf("eval says %v", figures.Metrics)
	}
	// Columns in another order, one of them in no file the model saw, and no target.
	text := "city,extra,sold,area\nRome,1,2020-05-11,100.5\nAtlantis,2,11.05.2020,\n"
	if err := os.WriteFile(in("other.csv"), []byte(strings.Replace(text, "11.05.2020", "2020-05-12", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err = command("predict", in("m.onnx"), in("other.csv"), "--json"); err != nil {
		t.Fatal(err)
	}
	var a struct {
		Sample string
		Value  float64
	}
	if !strings.HasPrefix(out, `{"sample":"1","value":`) {
		t.Errorf("predict --json prints %q, want the sample first", out)
	}
	if err := json.Unmarshal([]byte(strings.Split(out, "\n")[0]), &a); err != nil || a.Sample != "1" || a.Value < 250_000 || a.Value > 450_000 {
		t.Errorf("predict says %q, %v: want about 351250", out, err)
	}
	if out, err = command("predict", in("m.onnx"), in("other.csv"), "--csv"); err != nil {
		t.Fatal(err)
	}
	if rows, err := csv.NewReader(strings.NewReader(out)).ReadAll(); err != nil || len(rows) != 3 || strings.Join(rows[0], " ") != "sample city extra sold area value" {
		t.Errorf("predict --csv prints %q, %v", out, err)
	}
	if err := os.WriteFile(in("rows.jsonl"), []byte(`{"city":"Rome","sold":"2020-05-11","area":100.5}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var b struct{ Value float64 }
	if out, err = command("predict", in("m.onnx"), in("rows.jsonl"), "--json"); err != nil {
		t.Fatal(err)
	}
	if last(t, out, &b); b.Value != a.Value {
		t.Errorf("a row as JSON gives %v, as CSV %v", b.Value, a.Value)
	}
}

// TestPredictImages checks images in nested folders: corrupt ones are named and skipped; class maps are drawn.
func TestPredictImages(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("digits.onnx"), demo.Model(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := glyph.WriteFolder(in("digits"), "07", 6, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("digits/0/bad.png"), []byte("no image"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"gradients", "cam"} {
		out, err := command("predict", in("digits.onnx"), in("digits"), "--json", "--top", "2", "--explain", how, "-o", in("maps"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		right := 0
		for _, line := range lines {
			var a struct {
				Sample, Label, Map string
				Probability        float64
				Top                []choice
			}
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			if !strings.HasPrefix(line, `{"sample":`) || !strings.Contains(line, `,"label":`) {
				t.Errorf("predict --json prints %q, want the sample first", line)
			}
			if a.Label == filepath.Base(filepath.Dir(a.Sample)) && len(a.Top) == 2 && a.Top[0].Probability == a.Probability {
				right++
			}
			f, err := os.Open(a.Map)
			if err != nil {
				t.Fatal(err)
			}
			img, _, err := image.Decode(f)
			if f.Close(); err != nil || img.Bounds().Dx() != 2*8*glyph.Size || img.Bounds().Dy() != 8*glyph.Size {
				t.Errorf("map %s: %v", a.Map, err)
			}
		}
		if len(lines) != 6 || right < 5 {
			t.Errorf("%d answers, %d right: %q", len(lines), right, out)
		}
	}
}

// TestPredictMistakes checks the messages about mistakes: what is wrong, where, and what to type instead.
func TestPredictMistakes(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("digits.onnx"), demo.Model(), 0o644); err != nil {
		t.Fatal(err)
	}
	classifier(t, in("two.onnx"), 2, 2)
	houses(t, in("houses.csv"), 60, 1)
	for name, text := range map[string]string{"three.csv": "a,b,c\n1,2,3\n4,5,6\n", "bad.jsonl": "{\"x\":\n", "other.jsonl": "{\"z\":[1,2]}\n", "uneven.jsonl": "{\"x\":[[1],[2,3]]}\n",
		"word.jsonl": "{\"x\":[1,\"two\"]}\n", "empty.csv": "", "bad.png": "no image"} {
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(in("none"), 0o755); err != nil {
		t.Fatal(err)
	}
	g := nn.New("column")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Linear{Out: 1}, e.Input("size", "float32[N,1]")))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(in("column.onnx"), g); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"predict two.onnx":                                                     "want MODEL and DATA, got 1 arguments",
		"predict two.onnx three.csv --top 0":                                   "--top 0: want 1 or more",
		"predict two.onnx three.csv --json --csv":                              "--json and --csv exclude each other",
		"predict two.onnx three.csv --as labels":                               "--as labels: want classes, values, mask, image or arrays",
		"predict two.onnx houses.csv":                                          "the table has 5 columns besides the target",
		"predict two.onnx empty.csv":                                           "empty.csv: empty",
		"predict two.onnx bad.jsonl":                                           "bad.jsonl: object 1: the text is truncated",
		"predict two.onnx other.jsonl":                                         "no value for input x; the model has the inputs [x float32[N,2]]",
		"predict two.onnx uneven.jsonl":                                        "input x: a list of lists of unequal length, [1] and [2]",
		"predict two.onnx word.jsonl":                                          `input x: "two" is a text, want a number`,
		"predict two.onnx bad.png":                                             "the model does not take images: its inputs are [",
		"predict digits.onnx none":                                             "none: no images in this folder",
		"predict digits.onnx bad.png":                                          "bad.png: image: unknown format",
		"predict digits.onnx bad.png --explain heat":                           "--explain heat: want gradients or cam",
		"predict digits.onnx bad.png --explain cam":                            "missing -o FOLDER, the folder to write images to",
		"predict column.onnx three.csv":                                        "the table has 2 columns besides the target (a, b), the model takes 1",
		"train two.onnx --new tabular --data three.csv -o o.onnx":              "--new tabular creates the network: leave out MODEL, ",
		"train --new tabular --data none -o o.onnx":                            "--new tabular is for tables (.csv, .tsv)",
		"train --new transformer --data three.csv -o o.onnx":                   "--new transformer: want tabular",
		"train --new tabular --data houses.csv --target cost -o o.onnx":        `no column "cost"; it has id, area, city, sold, price, dear`,
		"train --new tabular --data houses.csv --column area=size -o o.onnx":   `--column: column area: "size" is not a kind`,
		"train --new tabular --data houses.csv --column size=number -o o.onnx": `no column "size"; it has id`,
		"train --new tabular --data houses.csv --column city=number -o o.onnx": `line 2, column city: "`,
		"train --new tabular --data houses.csv --task ranking -o o.onnx":       "--task ranking: want classes, regression or auto",
		"train --new tabular --data houses.csv --task regression -o o.onnx":    `target column dear holds text, such as "`,
		"train --new tabular --data houses.csv --separator : -o o.onnx":        `--separator ":": want one of "," ";" "|" "\t"`,
		"train --new tabular --data houses.csv --header maybe -o o.onnx":       "--header maybe: want yes, no or auto",
		"train --new tabular --data houses.csv --scale log -o o.onnx":          "--scale log: want standard or quantile",
		"train two.onnx --data houses.csv -o o.onnx":                           "the table's columns give 11 features (area: number, missing: 7, the first in line 6; city: category, 3 categories; sold: date, as 2006-01-02; price: number; column id is left out: 60 of 60 values differ; --column id=category uses it), the model takes 2: graft train --new tabular makes a network that fits",
	} {
		words := strings.Fields(args)
		for i, w := range words {
			if _, err := os.Stat(in(w)); err == nil || w == "o.onnx" {
				words[i] = in(w)
			}
		}
		if _, err := command(words...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", args, err, want)
		}
	}
}

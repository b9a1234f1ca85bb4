package cli

import (
	"encoding/json"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/graft-ml/graft/onnxio"
)

// TestPruneTabular prunes a model that encodes the columns of a table: by scores of data, and with fine-tuning. The file that is written
// has fewer parameters, takes the raw columns, and evaluates to the figures that prune printed for the part it trained.
func TestPruneTabular(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	houses(t, filepath.Join(dir, "houses.csv"), 200, 1)
	if _, err := in(".", "train --new tabular --data houses.csv --target price --column dear=ignore --epochs 6 --lr 0.003 -o m.onnx"); err != nil {
		t.Fatal(err)
	}
	before, err := onnxio.Load("m.onnx")
	if err != nil {
		t.Fatal(err)
	}
	last := regexp.MustCompile(`validation mae \S+ → (\S+)`)
	for _, flags := range []string{"--criterion taylor", "--iterations 2 --finetune-epochs 1 --lr 1e-3", "--criterion hessian --iterations 2", "--target macs=1"} {
		out, err := in(".", "prune m.onnx --data houses.csv --val houses.csv -o small.onnx "+flags)
		if err != nil {
			t.Errorf("%s: %v", flags, err)
			continue
		}
		after, err := onnxio.Load("small.onnx")
		if err != nil {
			t.Fatal(err)
		}
		if was, is := before.Summary().Total.Params, after.Summary().Total.Params; flags != "--target macs=1" && is > was*6/10 || len(after.Inputs()) != len(before.Inputs()) {
			t.Errorf("%s: %d parameters of %d, inputs %v", flags, is, was, after.Inputs())
		}
		said := last.FindStringSubmatch(out)
		if rounds := strings.Contains(flags, "--iterations"); said == nil || !rounds {
			if rounds {
				t.Errorf("%s printed %s", flags, out)
			}
			continue
		}
		want, err := strconv.ParseFloat(said[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		out, err = in(".", "eval small.onnx --data houses.csv --json")
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Metrics struct{ Mae float64 } }
		if err := json.Unmarshal([]byte(out), &got); err != nil || math.Abs(got.Metrics.Mae-want) > 1e-3*want {
			t.Errorf("%s: mean absolute error %v of the file, %v of what was trained, %v", flags, got.Metrics.Mae, want, err)
		}
	}
}

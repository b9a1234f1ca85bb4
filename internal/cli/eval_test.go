package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEvaluate checks metrics of models with a single score, class counts that do not fit, and fixed batch sizes.
func TestEvaluate(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	classifier(t, in("one.onnx"), 2, 1)
	var yes, all strings.Builder
	for i := range 60 {
		fmt.Fprintf(&yes, "%d,%d,%d\n", i%2, i%5, i%2)
		fmt.Fprintf(&all, "%d,%d,%d\n", i%2, i%5, i%7)
	}
	for name, text := range map[string]string{"yes.csv": yes.String(), "seven.csv": all.String(), "nan.csv": "1,NaN,0.5\n2,2,1.5\n"} {
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := command("train", in("one.onnx"), "--data", in("yes.csv"), "--val", in("yes.csv"), "--loss", "bce", "--epochs", "5", "--lr", "0.02",
		"--metric", "binary-accuracy", "-o", in("out.onnx"), "--json")
	if err != nil {
		t.Fatal(err)
	}
	var end struct {
		Best struct{ Val map[string]float64 }
	}
	last(t, out, &end)
	for _, flags := range []string{"", "--metric binary-accuracy", "--type x=float32[32,2]"} {
		args := []string{"eval", in("out.onnx"), "--data", in("yes.csv"), "--json"}
		out, err := command(append(args, strings.Fields(flags)...)...)
		if err != nil {
			t.Errorf("%s: %v", flags, err)
			continue
		}
		var r struct{ Metrics map[string]float64 }
		if last(t, out, &r); r.Metrics["accuracy"] != end.Best.Val["accuracy"] {
			t.Errorf("%s: accuracy %v, in training it was %v", flags, r.Metrics, end.Best.Val)
		}
	}
	if _, err := command("eval", in("out.onnx"), "--data", in("seven.csv")); err == nil || !strings.Contains(err.Error(), `line 3: the target 2 is "2", which is not among the classes 0, 1`) {
		t.Errorf("classes beyond the scores: %v", err)
	}
	if out, err := command("eval", in("one.onnx"), "--data", in("nan.csv"), "--task", "regression", "--json"); err != nil || !strings.Contains(out, `"rmse":null`) {
		t.Errorf("figures that are no numbers: %q, %v", out, err)
	}
}

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOddities checks that values of a table that are not numbers are located by line and column in
// every command, and that dropped rows are counted.
func TestOddities(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	var b strings.Builder
	b.WriteString("width,height,weight\n")
	for i := range 100 {
		width, height, weight := fmt.Sprint(i%17), fmt.Sprint(i%23), fmt.Sprintf("%.1f", 2.5*float64(i%17)+float64(i%23))
		switch i {
		case 3:
			width = "wide" // line 5
		case 5, 8:
			height = "NaN" // 7 and 10
		case 10:
			width = "inf" // 12
		case 18:
			weight = "" // 20
		}
		fmt.Fprintf(&b, "%s,%s,%s\n", width, height, weight)
	}
	if err := os.WriteFile(in("t.csv"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	words, dropped := `column width: counted as missing: "inf" (line 12), "wide" (line 5)`, "left out, without a target: 1 of 100 rows, the first in line 20"
	checkOdd(t, in, "train --new tabular --data t.csv --epochs 1 -o m.onnx", []string{words, dropped,
		"width: number, missing: ", "height: number, missing: "})
	checkOdd(t, in, "eval m.onnx --data t.csv", []string{words, dropped, "99 samples"})
}

func checkOdd(t *testing.T, in func(string) string, line string, want []string) {
	t.Helper()
	args := strings.Fields(line)
	for i, a := range args {
		if strings.Contains(a, ".") {
			args[i] = in(a)
		}
	}
	out, err := command(args...)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("%s prints %q, want %q in it", line, out, w)
		}
	}
}

package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestRateOfTable checks that lr-find reads tables as train does: columns are prepared by the model,
// and differences between the first batches suggest no learning rate.
func TestRateOfTable(t *testing.T) {
	t.Chdir(t.TempDir())
	r := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	b.WriteString("a,y,b\n")
	for range 200 {
		x, z := r.Float64(), 100*r.Float64()
		fmt.Fprintf(&b, "%.3f,%.3f,%.3f\n", x, 3*x-z/100, z)
	}
	if err := os.WriteFile("t.csv", []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := command(strings.Fields("new mlp --input 2 -o m.onnx")...); err != nil {
		t.Fatal(err)
	}
	out, err := command(strings.Fields("lr-find m.onnx --data t.csv --target y")...)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(strings.TrimSpace(out), "suggested rate: ")
	rate, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil || rate < 1e-4 || rate > 0.2 {
		t.Error(out, err)
	}
}

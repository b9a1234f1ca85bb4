package conformance_test

import (
	"bytes"
	"flag"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
)

var (
	torchTrials   = flag.Int("torch", 4, "random models of each operator that are compared with PyTorch")
	torchFamilies = flag.String("torchfamilies", "", "functions of torchsweep.py that draw them, with commas between; empty: all")
)

// TestSweepTorch compares random models of single operators, and their gradients, with PyTorch, in float64: what differs by more than rounding is a fault.
func TestSweepTorch(t *testing.T) {
	if testing.Short() {
		t.Skip("PyTorch takes seconds")
	}
	dir := t.TempDir()
	args := []string{dir, strconv.FormatUint(*sweepSeed, 10), strconv.Itoa(*torchTrials)}
	if *torchFamilies != "" {
		args = append(args, *torchFamilies)
	}
	oracle.Torch(t, filepath.Join("testdata", "torchsweep.py"), args...)
	arrays, err := oracle.NPZ(filepath.Join(dir, "cases.npz"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]map[string]oracle.Tensor{}
	for key, x := range arrays {
		name, part, _ := strings.Cut(key, ".")
		if cases[name] == nil {
			cases[name] = map[string]oracle.Tensor{}
		}
		cases[name][part] = x
	}
	gradients := 0
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) { gradients += likeTorch(t, cases[name]) })
	}
	t.Logf("%d models, %d gradients", len(cases), gradients)
}

// likeTorch compares one model and returns the number of its gradients.
func likeTorch(t *testing.T, c map[string]oracle.Tensor) int {
	g, err := onnxio.Read(bytes.NewReader(c["model"].Data))
	if err != nil {
		t.Fatal(err)
	}
	feed, names := nn.Feed{}, []string{}
	for part, x := range c {
		if name, ok := strings.CutPrefix(part, "in."); ok {
			feed[name] = unpackValue(t, x)
		} else if name, ok := strings.CutPrefix(part, "grad."); ok {
			names = append(names, name)
		}
	}
	got, err := g.Eval(t.Context(), feed)
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range c {
		if name, ok := strings.CutPrefix(part, "out."); ok {
			if err := oracle.Close(packValue(got[name]), want, 1e-9, 1e-9); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if len(names) == 0 {
		return 0
	}
	slices.Sort(names)
	grads, err := g.Grad(t.Context(), feed, "loss", names...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		want, largest := c["grad."+name], 1.0
		f, err := want.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range f {
			largest = max(largest, math.Abs(x))
		}
		if err := oracle.Close(packValue(grads[name]), want, 1e-9, 1e-9*largest); err != nil {
			t.Errorf("gradient by %s: %v", name, err)
		}
	}
	return len(names)
}

package nn_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestChargedBefore: operators whose kernels allocate in proportion to their input, and not only their result, are
// refused before they do.
func TestChargedBefore(t *testing.T) {
	const n = 1 << 20
	defer nn.LimitMemory(0)
	texts := make([]string, n)
	for i := range texts {
		texts[i] = "1"
	}
	words, err := dtype.NewStrings(texts, n)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg  op.Config
		x    dtype.Value
		then op.Config // reads the result, nil: it is the output
	}{
		"SplitToSequence":   {std.SplitToSequenceConfig{KeepDims: new(bool)}, dtype.New(dtype.Float32, n), std.ConcatFromSequenceConfig{NewAxis: true}},
		"Unique":            {std.UniqueConfig{}, dtype.New(dtype.Float32, n), nil},
		"Cast to strings":   {std.CastConfig{To: dtype.String}, dtype.New(dtype.Float32, n), nil},
		"Cast from strings": {std.CastConfig{To: dtype.Float32}, words, nil},
	} {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			typ := "float32"
			if c.x == words {
				typ = "string"
			}
			y := e.Node(c.cfg, e.Input("x", fmt.Sprintf("%s[%d]", typ, n))).Out(0)
			if c.then != nil {
				y = e.Node(c.then, y).Out(0)
			}
			e.Output("y", y)
		}); err != nil {
			t.Fatal(err)
		}
		nn.LimitMemory(10 << 20)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := g.Eval(t.Context(), nn.Feed{"x": c.x})
		runtime.ReadMemStats(&after)
		nn.LimitMemory(0)
		if err == nil || !strings.Contains(err.Error(), "memory") {
			t.Errorf("%s: %v", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 10<<20 {
			t.Errorf("%s: allocated %d MB with a limit of 10 MB: %v", name, got>>20, err)
		}
	}
}

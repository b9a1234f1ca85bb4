package train_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
)

// TestLinearLoad: loading a graph of four times as many nodes allocates at most about four times as much.
func TestLinearLoad(t *testing.T) {
	const n = 1500
	for _, c := range largeGraphs {
		took := func(n int) float64 {
			g := nn.New("large")
			if err := g.Edit(func(e *nn.Edit) { e.Output("y", c.build(e, e.Input("x", "float32[N,8]"), n)) }); err != nil {
				t.Fatal(err)
			}
			var file bytes.Buffer
			if err := onnxio.Write(&file, g); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := onnxio.Read(&file); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		if ratio := took(4*n) / took(n); ratio > 5 {
			t.Errorf("%s: %d nodes allocate %.1f times as much as %d", c.name, 4*n, ratio, n)
		}
	}
}

package train_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
)

// TestLinearLoad: loading a graph of four times as many nodes, and saving it with weights in another type, allocate at most about four times as much.
func TestLinearLoad(t *testing.T) {
	const n = 1500
	for _, c := range largeGraphs {
		took := func(n int) (load, save float64) {
			g := nn.New("large")
			if err := g.Edit(func(e *nn.Edit) { e.Output("y", c.build(e, e.Input("x", "float32[N,8]"), n)) }); err != nil {
				t.Fatal(err)
			}
			var file bytes.Buffer
			if err := onnxio.Write(&file, g); err != nil {
				t.Fatal(err)
			}
			load = allocates(t, func() error { _, err := onnxio.Read(&file); return err })
			save = allocates(t, func() error { return onnxio.Saver{DType: dtype.Float16}.Write(io.Discard, g) })
			return load, save
		}
		load, save := took(n)
		load4, save4 := took(4 * n)
		if load4 > 5*load || save4 > 5*save {
			t.Errorf("%s: %d nodes allocate %.1f times as much as %d when they are loaded, %.1f times when they are saved", c.name, 4*n, load4/load, n, save4/save)
		}
	}
}

// allocates returns how many bytes f allocates.
func allocates(t *testing.T, f func() error) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := f(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

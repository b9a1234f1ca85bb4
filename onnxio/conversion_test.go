package onnxio_test

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
)

// product multiplies by a weight of rows × 1000.
func product(t *testing.T, rows int) *nn.Graph {
	t.Helper()
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", fmt.Sprintf("float32[N,%d]", rows))
		e.Output("y", e.Node(op.Plain("MatMul"), x, e.Param("w", initial.Uniform{Low: -2, High: 3}, rows, 1000)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestConvertedWeights: weights of several blocks that are stored in another type have the elements of the whole tensor converted at once, inside
// the model and beside it.
func TestConvertedWeights(t *testing.T) {
	for _, rows := range []int{0, 1, 66, 131} {
		g := product(t, rows)
		for _, s := range []onnxio.Saver{{DType: dtype.Float16}, {DType: dtype.BFloat16}, {DType: dtype.Float64}, {DType: dtype.Float16, ExternalOver: 1000}} {
			path := filepath.Join(t.TempDir(), "m.onnx")
			if err := s.Save(path, g); err != nil {
				t.Fatal(err)
			}
			back, err := onnxio.Load(path)
			if err != nil {
				t.Fatalf("%d rows, %+v: %v", rows, s, err)
			}
			for p := range g.Params() {
				want, err := dtype.ConvertTo(s.DType, p.Data())
				if err != nil {
					t.Fatal(err)
				}
				v, err := back.Value("w/" + s.DType.String())
				if err != nil || v.Param() == nil || !bytes.Equal(dtype.Bytes(v.Param().Data()), dtype.Bytes(want)) {
					t.Errorf("%d rows, %+v: %v, %v", rows, s, v, err)
				}
			}
		}
	}
}

// TestConvertedMemory: storing 20 MB of weights in 16 bits takes no second copy of them.
func TestConvertedMemory(t *testing.T) {
	g := product(t, 5000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := (onnxio.Saver{DType: dtype.Float16}).Write(io.Discard, g); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
		t.Errorf("%d bytes are allocated", n)
	}
}

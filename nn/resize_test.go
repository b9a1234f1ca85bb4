package nn_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
)

// TestGrowModels widens every group of every model: the outputs stay.
func TestGrowModels(t *testing.T) {
	shared := os.Getenv("GRAFT_SHARED")
	if shared == "" {
		t.Skip("GRAFT_SHARED is not set")
	}
	files, _ := filepath.Glob(filepath.Join(shared, "models", "*", "model.onnx"))
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			if name == "qtdnn" {
				t.Skip("its kernel is longer than the two frames that inputs of open length are made with")
			}
			g, err := onnxio.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			open := max(openSizes[name], 5)
			in, err := draw(g, 2, open, rand.New(rand.NewPCG(1, 2)))
			if err != nil {
				t.Fatal(err)
			}
			want, err := g.Run(context.Background(), in...)
			if err != nil {
				t.Fatal(err)
			}
			tried := 0
			for i, gr := range g.Channels().Groups() {
				if gr.Normalized || i > 4 && i%5 != 0 {
					continue
				}
				tried++
				for _, copying := range []bool{false, true} {
					w := nntest.Clone(t, g)
					if err := w.Edit(func(e *nn.Edit) {
						p := e.Channels().Groups()[i].Params()[0]
						e.Resize(p.Value, p.Size+2*p.PerAtom, nn.ResizeOptions{Axis: p.Axis - len(p.Value.Type().Shape), Copy: copying})
					}); err != nil {
						t.Errorf("group %d: %v", i, err)
						continue
					}
					if name == "super-resolution" && i > 0 {
						continue
					}
					got, err := w.Run(context.Background(), in...)
					if err != nil {
						t.Fatalf("group %d: %v", i, err)
					}
					for k := range want {
						if err := agree(got[k], want[k], 1e-4); err != nil {
							t.Errorf("group %d, output %d, copying %v: %v %s", i, k, copying, err, describeGroup(gr))
						}
					}
				}
			}
			t.Logf("%d groups", tried)
		})
	}
}

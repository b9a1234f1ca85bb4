package safetensors_test

import (
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/disk/disktest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/safetensors"
)

// TestFaults: weights are replaced whole or not at all.
func TestFaults(t *testing.T) {
	save := func(dir string, v float32) error {
		g := nn.New("g")
		err := g.Edit(func(e *nn.Edit) {
			w := dtype.New(dtype.Float32, 3)
			dtype.Slice[float32](w)[1] = v
			e.Output("y", e.Apply(layers.ReLU{}, e.Const("w", w)))
		})
		if err != nil {
			return err
		}
		return safetensors.Save(filepath.Join(dir, "w.safetensors"), g, nil)
	}
	disktest.Sweep(t, disktest.Case{
		Name:    "save",
		Prepare: func(dir string) error { return save(dir, 1) },
		Do:      func(dir string) error { return save(dir, 2) },
	})
}

package conformance_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/internal/disk/disktest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
)

// TestFaults: a test case is exported as a whole, in place of another, into a new folder, and as one more data set.
func TestFaults(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		w := dtype.New(dtype.Float32, 400)
		e.Output("y", e.Node(op.Plain("Add"), e.Input("x", "float32[400]"), e.Const("w", w)).Outputs()[0])
	}); err != nil {
		t.Fatal(err)
	}
	export := func(x conformance.CaseWriter, dir string, feeds ...float32) error {
		var list []nn.Feed
		for _, v := range feeds {
			d := dtype.New(dtype.Float32, 400)
			dtype.Slice[float32](d)[0] = v
			list = append(list, nn.Feed{"x": d})
		}
		x.Now = func() time.Time { return time.Unix(int64(feeds[0]), 0) }
		_, err := x.Export(context.Background(), g, dir, list...)
		return err
	}
	external := conformance.CaseWriter{Saver: onnxio.Saver{ExternalOver: 1000}, UserMeta: map[string]any{"a": 1}}
	plain := conformance.CaseWriter{}
	// The folder that meta.json records is another for each copy.
	same := func(name string, b []byte) []byte {
		if filepath.Base(name) == "meta.json" {
			return nil
		}
		return b
	}
	disktest.Sweep(t,
		disktest.Case{
			Name: "replaced", Same: same,
			Prepare: func(dir string) error { return export(external, filepath.Join(dir, "case"), 1, 2) },
			Do:      func(dir string) error { return export(plain, filepath.Join(dir, "case"), 3) },
		},
		disktest.Case{
			Name: "new", Same: same,
			Prepare: func(string) error { return nil },
			Do:      func(dir string) error { return export(plain, filepath.Join(dir, "case"), 3) },
		},
	)
}

// TestExportAddsToNothing: the first data set of a folder that is not there yet, though a model that is there would be kept.
func TestExportAddsToNothing(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(layers.ReLU{}, e.Input("x", "float32[2]"))) }); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "case")
	for range 2 {
		if _, err := (conformance.CaseWriter{KeepModel: true}).Export(context.Background(), g, dir, nn.Feed{"x": dtype.New(dtype.Float32, 2)}); err != nil {
			t.Fatal(err)
		}
	}
	if sets, err := filepath.Glob(filepath.Join(dir, "test_data_set_[01]", "output_0.pb")); err != nil || len(sets) != 2 {
		t.Errorf("%v, %v", sets, err)
	}
}

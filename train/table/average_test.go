package table

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// The average of networks computes the mean of what they compute.
func TestAverage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("a,b,y\n1,2,3.5\n2,1,4.5\n4,0,2.5\n0,3,1.5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := Reader{Task: Regression}.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, hidden := range map[string][]int{"one layer": {3}, "two layers": {5, 4}, "three layers": {4, 3, 2}} {
		t.Run(name, func(t *testing.T) {
			rows := x.Complete()
			prep, err := Fit(t.Context(), x, rows, Options{})
			if err != nil {
				t.Fatal(err)
			}
			g, err := Network{Hidden: hidden}.New(prep, nil, train.Scaling{Mean: 1, Deviation: 2})
			if err != nil {
				t.Fatal(err)
			}
			trunk, err := Cut(g, prep.Schema)
			if err != nil {
				t.Fatal(err)
			}
			set, err := trunk.Samples(t.Context(), x, rows)
			if err != nil {
				t.Fatal(err)
			}
			answers := func() []float64 {
				if err := trunk.Return(); err != nil {
					t.Fatal(err)
				}
				feed, err := prep.Feed(x, rows)
				if err != nil {
					t.Fatal(err)
				}
				out, err := g.Eval(t.Context(), feed, "y")
				if err != nil {
					t.Fatal(err)
				}
				y, err := dtype.Float64s(out["y"].(*tensor.Dense))
				if err != nil {
					t.Fatal(err)
				}
				return y
			}
			want := make([]float64, len(rows))
			b := Blend{Anew: func(_ context.Context, _ data.Dataset[data.Sample], way, member int) error {
				if way != 7 {
					t.Errorf("way %d", way)
				}
				r := rand.New(rand.NewPCG(uint64(member), 3))
				for p := range trunk.Rest.Params() {
					for i := range dtype.Slice[float32](p.Data()) {
						dtype.Slice[float32](p.Data())[i] = float32(r.NormFloat64())
					}
					p.Changed()
				}
				for i, y := range answers() {
					want[i] += y / members
				}
				return nil
			}}
			if err := b.average(t.Context(), trunk, set, 7); err != nil {
				t.Fatal(err)
			}
			for i, got := range answers() {
				if math.Abs(got-want[i]) > 1e-4 {
					t.Errorf("row %d: %v, want the mean %v", i, got, want[i])
				}
			}
		})
	}
}

package nn_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// A plan that is applied leaves what the edit itself does to a copy, whatever was asked of the graph before: names, types, roles, and what it
// computes, although programs of the graph before it are kept. Taken back, it leaves what was there, and what the copy shares with nobody.
// A refused one changes nothing.
func TestPlansAreEdits(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "networks", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d networks, %v", len(files), err)
	}
	for k, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := readNetwork(t, name, "float32")
			in, err := draw(g, 2, 5, rand.New(rand.NewPCG(1, 2)))
			if err != nil {
				t.Fatal(err)
			}
			run := func(g *nn.Graph) []string {
				out, err := g.Run(t.Context(), in...)
				if err != nil {
					return []string{err.Error()}
				}
				var list []string
				for _, v := range out {
					list = append(list, string(dtype.Bytes(v)))
				}
				return list
			}
			ask := func() { // fills what a graph remembers
				nntest.Dump(g)
				g.Summary()
				g.Channels()
				run(g)
			}
			want, computed := nntest.Dump(g), run(g)
			for i, x := range editsOf(g) {
				if i%9 != k%9 {
					continue
				}
				twin := nntest.Clone(t, g)
				p, err := g.Plan(x.edit)
				if e := twin.Edit(x.edit); (e == nil) != (err == nil) || e != nil && strings.TrimPrefix(e.Error(), "edit: ") != strings.TrimPrefix(err.Error(), "edit: ") {
					t.Errorf("%s: planned %v, made %v", x.name, err, e)
				}
				if err == nil {
					ask()
					if err := p.Apply(); err != nil {
						t.Fatalf("%s: %v", x.name, err)
					}
					if got, want := nntest.Dump(g), nntest.Dump(twin); got != want {
						t.Errorf("%s: applied, it differs from the edit:\n%s", x.name, diff(want, got))
					}
					same(t, x.name+", applied", run(twin), run(g))
					ask()
					if err := p.Undo(); err != nil {
						t.Fatalf("%s: %v", x.name, err)
					}
				}
				for p := range twin.Params() {
					if d, ok := p.Tensor().(*tensor.Dense); ok {
						clear(dtype.Bytes(d))
					}
				}
				if got := nntest.Dump(g); got != want {
					t.Fatalf("%s: taken back, the graph differs:\n%s", x.name, diff(want, got))
				}
				same(t, x.name+", taken back", computed, run(g))
			}
		})
	}
}

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d outputs, want %d", what, len(got), len(want))
	}
	for i := range want {
		if want[i] != got[i] {
			t.Errorf("%s: output %d differs", what, i)
		}
	}
}

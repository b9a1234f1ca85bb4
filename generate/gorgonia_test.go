package generate_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"gorgonia.org/tensor"
)

// stock runs each package on Gorgonia's own machine, prints its outputs and takes gradients.
const stock = `package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
%s)

func main() {
%s}

func check(dir string, err error) {
	if err != nil {
		log.Fatal(dir, ": ", err)
	}
}

// damage writes the weights with a wrong bit in the last byte.
func damage(dir string) {
	b, err := os.ReadFile(dir + "/weights.safetensors")
	check(dir, err)
	b[len(b)-1] ^= 1
	check(dir, os.WriteFile(dir+"/damaged.safetensors", b, 0o600))
}

func print(dir string, out *G.Node, params G.Nodes, fresh []string) {
	for _, name := range fresh {
		log.Println(dir, "fresh", name)
	}
	sum, err := G.Sum(out)
	check(dir, err)
	_, err = G.Grad(sum, params...)
	check(dir, err)
	vm := G.NewTapeMachine(out.Graph())
	check(dir, vm.RunAll())
	f, err := os.Create(dir + "/out.txt")
	check(dir, err)
	for _, x := range out.Value().Data().([]float32) {
		fmt.Fprintln(f, x)
	}
	check(dir, f.Close())
}

func input(dir, name string, in map[string]*tensor.Dense) *G.Node {
	return G.NodeFromAny(G.NewGraph(), in[name], G.WithName(name))
}
`

// The source for Gorgonia compiles without graft, computes what the model computes on Gorgonia's own machine, and is
// differentiated there.
func TestGorgonia(t *testing.T) {
	m := newModule(t)
	mod, err := os.ReadFile(filepath.Join(m.dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	without, _, _ := strings.Cut(string(mod), "\nrequire github.com/graft-ml/graft ")
	m.put("go.mod", []byte(without))
	all := models(t)
	delete(all, "encoder")
	delete(all, "branching")
	delete(all, "lstm")
	want := map[string][]float64{}
	var imports, calls strings.Builder
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		g := all[pkg]
		s, err := generate.Generate(context.Background(), g, generate.Options{Package: pkg, Style: generate.Gorgonia})
		if err != nil {
			t.Errorf("%s: %v", pkg, err)
			continue
		}
		if strings.Contains(string(s.Files[pkg+".go"]), "graft-ml") {
			t.Errorf("%s imports graft", pkg)
		}
		in := inputs(t, g)
		m.add(pkg, s, in)
		out, err := eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		d := out[g.Outputs()[0].Name()].(*tensor.Dense)
		if want[pkg], err = dtype.Float64s(d); err != nil {
			t.Fatal(err)
		}
		name := g.Inputs()[0].Name()
		fmt.Fprintf(&imports, "\t\"example.com/m/%s\"\n", pkg)
		fmt.Fprintf(&calls, `	{
		w, err := %[1]s.Read("%[1]s/weights.safetensors")
		check(%[1]q, err)
		damage(%[1]q)
		if _, err := %[1]s.Read("%[1]s/damaged.safetensors"); err == nil || !strings.Contains(err.Error(), " is damaged: ") {
			log.Fatal("damaged weights are read: ", err)
		}
		in, err := %[1]s.Read("%[1]s/in.safetensors")
		check(%[1]q, err)
		m, err := %[1]s.New(input(%[1]q, %[2]q, in), w)
		check(%[1]q, err)
		print(%[1]q, m.Outputs[0], m.Params, m.Fresh)
	}
`, pkg, name)
	}
	m.put("main.go", fmt.Appendf(nil, stock, imports.String(), calls.String()))
	m.tool("vet", "./...")
	if said := m.tool("run", "."); said != "" {
		t.Errorf("the program says %s", said)
	}
	for pkg, w := range want {
		b, err := os.ReadFile(filepath.Join(m.dir, pkg, "out.txt"))
		if err != nil {
			t.Error(err)
			continue
		}
		got := strings.Fields(string(b))
		if len(got) != len(w) {
			t.Errorf("%s: %d numbers, want %d", pkg, len(got), len(w))
			continue
		}
		for i := range w {
			if x, err := strconv.ParseFloat(got[i], 64); err != nil || math.Abs(x-w[i]) > 1e-5*(1+math.Abs(w[i])) {
				t.Errorf("%s: element %d is %s, want %g", pkg, i, got[i], w[i])
				break
			}
		}
	}
}

// pooled is a grouped convolution and a pooling with ceil_mode.
func pooled(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("pooled")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4,9,9]")
		e.Output("y", e.Apply(nn.Sequential{layers.Conv{Out: 4, Kernel: []int{3}, Group: 2, Name: "conv"}, layers.MaxPool{Kernel: []int{2}, Ceil: true, Name: "pool"}}, x))
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGorgoniaRefuses checks that operators without a Gorgonia equivalent are listed, and that nothing is written.
func TestGorgoniaRefuses(t *testing.T) {
	for _, c := range []struct {
		g    *nn.Graph
		want string
	}{
		{transformer(t), "no form in Gorgonia for Attention (encoder.layer.0.attention.output), Embedding (embedding), GELU (gelu1), LayerNorm (encoder.layer.0.norm1), Linear (encoder.layer.0.up, which would need an input of rank 2)"},
		{pooled(t), "no form in Gorgonia for Conv (conv, which would need Group 1), MaxPool (pool, which would need Ceil false)"},
	} {
		_, err := generate.Generate(context.Background(), c.g, generate.Options{Style: generate.Gorgonia})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	_, err := generate.Generate(context.Background(), residual(t), generate.Options{Style: "keras"})
	if want := `generate: there is no style "keras": want layers or gorgonia`; err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

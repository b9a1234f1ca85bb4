package generate_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/safetensors"
	"gorgonia.org/tensor"
)

// program runs each package on inputs, writes its outputs and exports it.
const program = `package main

import (
	"bufio"
	"context"
	"log"
	"os"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/safetensors"
	"gorgonia.org/tensor"
%s)

func main() {
%s}

func run(dir string, load func(string) (*nn.Graph, []string, error)) {
	g, fresh, err := load(dir + "/weights.safetensors")
	check(dir, err)
	for _, name := range fresh {
		log.Println(dir, "fresh", name)
	}
	check(dir, onnxio.Save(dir+"/again.onnx", g))
	f, err := os.Open(dir + "/in.safetensors")
	if err != nil {
		return
	}
	in, err := safetensors.Read(f)
	check(dir, err)
	feed := nn.Feed{}
	for name, d := range in {
		feed[name] = d
	}
	got, err := g.Eval(context.Background(), feed)
	check(dir, err)
	out := map[string]*tensor.Dense{}
	for name, v := range got {
		if d, ok := v.(*tensor.Dense); ok {
			out[name] = d
		}
	}
	o, err := os.Create(dir + "/out.safetensors")
	check(dir, err)
	w := bufio.NewWriter(o)
	check(dir, safetensors.Write(w, out))
	check(dir, w.Flush())
}

func check(dir string, err error) {
	if err != nil {
		log.Fatal(dir, ": ", err)
	}
}
`

// training trains a package on numbers that never change, until its loss is small.
const training = `package main

import (
	"context"
	"log"

	"example.com/m/residual"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

func main() {
	g, err := residual.New()
	check(err)
	v := make([]float32, 4*3*8*8)
	for i := range v {
		v[i] = float32(i*7919%101)/50 - 1
	}
	x, err := dtype.FromSlice(v, 4, 3, 8, 8)
	check(err)
	y, err := dtype.FromSlice([]int64{0, 1, 2, 3}, 4)
	check(err)
	t, err := train.New(g, train.Config{Rule: optim.AdamW{LR: 1e-2}, Seed: 1})
	check(err)
	for i := range 60 {
		s, err := t.Step(context.Background(), data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}})
		check(err)
		if i == 59 && s.Loss > 0.2 {
			log.Fatal("the loss is ", s.Loss)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
`

// The model that the source builds is trained from its initial weights.
func TestTrains(t *testing.T) {
	m := newModule(t)
	m.add("residual", write(t, residual(t), "residual"), nil)
	m.put("main.go", []byte(training))
	m.tool("run", ".")
}

// module writes packages into an empty module that requires graft, and what they are to be run on.
type module struct {
	t    *testing.T
	dir  string
	pkgs []string
}

func newModule(t *testing.T) *module {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles programs")
	}
	m := &module{t: t, dir: t.TempDir()}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, requires, _ := strings.Cut(string(mod), "\ngo ")
	requires, _, _ = strings.Cut(requires, "\ntool")
	m.put("go.mod", []byte("module example.com/m\n\ngo "+requires+"\nrequire github.com/graft-ml/graft v0.0.0\n\nreplace github.com/graft-ml/graft => "+root+"\n"))
	m.put("go.sum", sums)
	return m
}

func (m *module) put(name string, b []byte) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), b, 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// add writes a package and inputs for it.
func (m *module) add(pkg string, s *generate.Source, feed map[string]*tensor.Dense) {
	m.t.Helper()
	if err := s.WriteTo(filepath.Join(m.dir, pkg)); err != nil {
		m.t.Fatal(err)
	}
	m.pkgs = append(m.pkgs, pkg)
	if feed == nil {
		return
	}
	f, err := os.Create(filepath.Join(m.dir, pkg, "in.safetensors"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	if err := safetensors.Write(f, feed); err != nil {
		m.t.Fatal(err)
	}
}

// run vets and runs all packages and returns what the program says.
func (m *module) run() string {
	m.t.Helper()
	var imports, calls strings.Builder
	for _, pkg := range m.pkgs {
		fmt.Fprintf(&imports, "\t\"example.com/m/%s\"\n", pkg)
		fmt.Fprintf(&calls, "\trun(%q, %s.Load)\n", pkg, pkg)
	}
	m.put("main.go", fmt.Appendf(nil, program, imports.String(), calls.String()))
	m.tool("vet", "./...")
	return m.tool("run", ".")
}

func (m *module) tool(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false -trimpath", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("go %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// outputs are what a package computed.
func (m *module) outputs(pkg string) map[string]*tensor.Dense {
	m.t.Helper()
	f, err := os.Open(filepath.Join(m.dir, pkg, "out.safetensors"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	out, err := safetensors.Read(f)
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// inputs are random numbers for a model; nil where it takes others.
func inputs(t *testing.T, g *nn.Graph) map[string]*tensor.Dense {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	feed := map[string]*tensor.Dense{}
	for _, v := range g.Inputs() {
		typ := v.Type()
		if typ.Kind != op.Tensor || typ.Unranked {
			return nil
		}
		dims := make([]int, len(typ.Shape))
		n := 1
		for i, d := range typ.Shape {
			if dims[i] = d.Size; d.Symbolic() || !d.Known() {
				dims[i] = 2
				if d.Sym == "sequence" { // of sound, which must be long enough
					dims[i] = 576
				}
			}
			n *= dims[i]
		}
		x := make([]float64, n)
		for i := range x {
			if x[i] = r.NormFloat64(); !typ.DType.IsFloat() {
				x[i] = float64(r.IntN(2))
			}
		}
		d, err := dtype.FromFloats(typ.DType, x, dims...)
		if err != nil {
			return nil
		}
		feed[v.Name()] = d
	}
	return feed
}

func eval(g *nn.Graph, in map[string]*tensor.Dense) (nn.Feed, error) {
	feed := nn.Feed{}
	for name, d := range in {
		feed[name] = d
	}
	return g.Eval(context.Background(), feed)
}

// The source compiles in an empty module, vets, computes what the model computes and exports it again.
func TestPrograms(t *testing.T) {
	m := newModule(t)
	all := models(t)
	compareAll(t, m, all)
}

func compareAll(t *testing.T, m *module, all map[string]*nn.Graph) {
	t.Helper()
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		s := write(t, all[pkg], pkg)
		t.Logf("%s: %d lines, %d layers, %d operators, %d functions", pkg, s.Lines, s.Layers, s.Operators, s.Functions)
		in := inputs(t, all[pkg])
		if in != nil {
			if _, err := eval(all[pkg], in); err != nil {
				in = nil
			}
		}
		m.add(pkg, s, in)
	}
	if said := m.run(); said != "" {
		t.Errorf("the program says %s", said)
	}
	for pkg, g := range all {
		in := inputs(t, g)
		want, err := eval(g, in)
		if err != nil {
			t.Logf("%s is not compared: %v", pkg, err)
			continue
		}
		trained := func(g *nn.Graph) int64 { return int64(g.Summary().Total.Trainable) }
		if a, b := trained(g)+twice(g)-rotations(g), trained(load(t, filepath.Join(m.dir, pkg, "again.onnx"))); a != b {
			t.Errorf("%s: %d numbers are trained, %d in the model", pkg, b, a)
		}
		again := load(t, filepath.Join(m.dir, pkg, "again.onnx"))
		exported, err := eval(again, in)
		if err != nil {
			t.Errorf("%s, exported again: %v", pkg, err)
			continue
		}
		got := m.outputs(pkg)
		for name, w := range want {
			for what, x := range map[string]any{"source": got[name], "export": exported[name]} {
				d, _ := x.(*tensor.Dense)
				if d == nil {
					t.Errorf("%s, %s: output %s is missing", pkg, what, name)
					continue
				}
				if _, err := (dtype.Tolerance{Rtol: 1e-4, Atol: 1e-6 * largest(w)}).Compare(d, w.(dtype.Value)); err != nil {
					t.Errorf("%s, %s: output %s: %v", pkg, what, name, err)
				}
			}
		}
	}
}

// rotations counts the numbers of tables that attention.py names so: the layer computes what they say.
func rotations(g *nn.Graph) (n int64) {
	for p := range g.Params() {
		if strings.Contains(p.Name(), "rotary_") {
			n += int64(p.Data().Shape().TotalSize())
		}
	}
	return n
}

// twice counts the numbers of weights that two subgraphs of a node read, which are separate in source. Of a branch that is known, none are.
func twice(g *nn.Graph) (count int64) {
	g, _ = g.Fork()
	if err := g.Edit(func(e *nn.Edit) { e.InlineBranches() }); err != nil {
		panic(err)
	}
	for n := range g.Nodes() {
		seen := map[*nn.Value]bool{}
		for _, v := range n.Captured() {
			if p := v.Param(); p != nil && p.Trainable() && seen[v] {
				count += int64(p.Size())
			}
			seen[v] = true
		}
	}
	return count
}

// largest returns the largest number of a value, at least 1.
func largest(v any) float64 {
	d, ok := v.(*tensor.Dense)
	if !ok {
		return 1
	}
	x, err := dtype.Float64s(d)
	if err != nil {
		return 1
	}
	m := 1.0
	for _, f := range x {
		m = max(m, f, -f)
	}
	return m
}

// A number that is changed changes the model; the weights that no longer fit start afresh, and that is said.
func TestChangedNumber(t *testing.T) {
	m := newModule(t)
	s := write(t, residual(t), "residual")
	text := string(s.Files["residual.go"])
	changed := strings.Replace(text, `{"layers.3", 8, 1, false}`, `{"layers.3", 12, 2, true}`, 1)
	if changed == text {
		t.Fatalf("there is no row to change in\n%s", text)
	}
	s.Files["residual.go"] = []byte(changed)
	m.add("residual", s, inputs(t, residual(t)))
	said := m.run()
	for _, name := range []string{"layers.3.conv1.weight", "layers.3.bn1.running_var", "layers.3.downsample.0.weight", "fc.weight"} {
		if !strings.Contains(said, "residual fresh "+name+"\n") {
			t.Errorf("nothing says that %s starts afresh:\n%s", name, said)
		}
	}
	if strings.Contains(said, "layers.2") || strings.Contains(said, "fc.bias") {
		t.Errorf("weights that fit are not loaded:\n%s", said)
	}
}

// TestSharedModels generates source for all models of the shared folder.
func TestSharedModels(t *testing.T) {
	shared := os.Getenv("GRAFT_SHARED")
	if shared == "" {
		t.Skip("GRAFT_SHARED is not set")
	}
	files, err := filepath.Glob(filepath.Join(shared, "models", "*", "model.onnx"))
	if err != nil || len(files) == 0 {
		t.Skip("no models")
	}
	all := map[string]*nn.Graph{}
	for _, f := range files {
		name := filepath.Base(filepath.Dir(f))
		g, err := onnxio.Load(f)
		if err != nil {
			t.Error(err)
			continue
		}
		all["m"+strings.NewReplacer("-", "", ".", "").Replace(name)] = g
	}
	compareAll(t, newModule(t), all)
}

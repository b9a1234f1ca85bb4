package generate_test

import (
	"bytes"
	"context"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/gorgonia"
)

// residual returns a network of blocks as ResNet has them, of which one in three changes the size.
func residual(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("residual")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Apply(layers.Conv{Out: 4, Kernel: []int{3}, Pad: []int{1}, Name: "stem"}, e.Input("x", "float32[N,3,8,8]"))
		block := func(x *nn.Value, name string, out, stride int) *nn.Value {
			y := e.Apply(nn.Sequential{
				layers.Conv{Out: out, Kernel: []int{3}, Stride: []int{stride}, Pad: []int{1}, NoBias: true, Name: name + ".conv1"},
				layers.BatchNorm{Name: name + ".bn1"}, layers.ReLU{},
				layers.Conv{Out: out, Kernel: []int{3}, Pad: []int{1}, NoBias: true, Name: name + ".conv2"},
				layers.BatchNorm{Name: name + ".bn2"},
			}, x)
			if stride != 1 {
				x = e.Apply(nn.Sequential{layers.Conv{Out: out, Kernel: []int{1}, Stride: []int{stride}, Name: name + ".downsample.0"}, layers.BatchNorm{Name: name + ".downsample.1"}}, x)
			}
			return e.Apply(layers.ReLU{}, e.Node(op.Plain("Add"), y, x).Out(0))
		}
		x = block(x, "layers.0", 4, 1)
		x = block(x, "layers.1", 8, 2)
		x = block(x, "layers.2", 8, 1)
		x = block(x, "layers.3", 8, 1)
		e.Output("scores", e.Apply(nn.Sequential{layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 5, Name: "fc"}}, x))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func load(t *testing.T, path string) *nn.Graph {
	t.Helper()
	g, err := onnxio.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func write(t *testing.T, g *nn.Graph, pkg string) *generate.Source {
	t.Helper()
	s, err := generate.Generate(context.Background(), g, generate.Options{Package: pkg})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// transformer returns an encoder of three layers.
func transformer(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("transformer")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Apply(layers.Embedding{Num: 11, Dim: 8, Name: "embedding"}, e.Input("tokens", "int64[N,6]"))
		for _, name := range []string{"encoder.layer.0", "encoder.layer.1", "encoder.layer.2"} {
			y := e.Apply(layers.Attention{Heads: 2, Name: name + ".attention"}, x)
			x = e.Apply(layers.LayerNorm{Name: name + ".norm1"}, e.Node(op.Plain("Add"), x, y).Out(0))
			y = e.Apply(nn.Sequential{layers.Linear{Out: 16, Name: name + ".up"}, layers.GELU{}, layers.Linear{Out: 8, Name: name + ".down"}}, x)
			x = e.Apply(layers.LayerNorm{Name: name + ".norm2"}, e.Node(op.Plain("Add"), x, y).Out(0))
		}
		e.Output("y", x)
		e.SetOpset(13) // so that norms and activations are spelled out
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// branching takes one of two branches and then sums its input up in a loop.
func branching(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("branching")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,3]")
		w := e.Param("w", initial.Ones{}, 3, 3)
		positive := e.Node(op.Plain("Greater"), e.Node(std.ReduceSumConfig{KeepDims: new(false)}, x).Out(0), e.Scalar("zero", x, 0)).Out(0)
		y := e.Node(std.IfConfig{
			Then: e.Body("then", nil, []*nn.Value{x, w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
				return e.Node(op.Plain("MatMul"), in...).Outputs()
			}),
			Else: e.Body("else", nil, []*nn.Value{x}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
				return e.Node(op.Plain("Neg"), in...).Outputs()
			}),
		}, positive).Out(0)
		three, err := dtype.FromSlice([]int64{3}, 1)
		e.Fail(err)
		loop := e.NodeN(std.LoopConfig{Body: e.Body("body", []string{"int64[]", "bool[]", "float32[N,3]"}, []*nn.Value{x}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			return []*nn.Value{e.Node(op.Plain("Identity"), in[1]).Out(0), e.Node(op.Plain("Add"), in[2], in[3]).Out(0)}
		})}, 1, e.Const("count", three), nil, y)
		e.Output("y", loop.Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestSubgraphs checks that subgraphs become functions.
func TestSubgraphs(t *testing.T) {
	text := string(write(t, branching(t), "branching").Files["branching.go"])
	for _, want := range []string{
		"func thenBody(e *nn.Edit, in ...*nn.Value) []*nn.Value {",
		`Else: e.Body("elseBody", nil, []*nn.Value{x}, elseBody)`,
		`Body: e.Body("body", []string{"int64[]", "bool[]", "float32[N,3]"}, []*nn.Value{x}, body)`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// TestUnrankedSubgraph writes operators where a subgraph's inputs have no known rank, which layers want.
func TestUnrankedSubgraph(t *testing.T) {
	g := nn.New("unranked")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[2,N,3,4]")
		y := e.Node(std.ScanConfig{NumScanInputs: 1, Body: e.Body("body", []string{"float32"}, nil, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			h := e.Node(op.Plain("Dropout"), e.Node(op.Plain("Relu"), in[0]).Out(0)).Out(0)
			return e.Node(op.Plain("GlobalAveragePool"), h).Outputs()
		})}, x)
		e.Output("y", y.Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(write(t, g, "unranked").Files["unranked.go"]); !strings.Contains(text, `op.Plain("GlobalAveragePool")`) {
		t.Errorf("the operator is not written as one:\n%s", text)
	}
}

// models are small ones that are available everywhere, by package name.
func models(t *testing.T) map[string]*nn.Graph {
	t.Helper()
	return map[string]*nn.Graph{
		"residual":  residual(t),
		"branching": branching(t),
		"encoder":   transformer(t),
		"digits":    load(t, "../cmd/graft/demo/digits.onnx"),
		"mlp":       load(t, "../testdata/torch/mlp.onnx"),
		"convbn":    load(t, "../testdata/torch/convbn.onnx"),
		"lstm":      load(t, "../testdata/torch/lstm.onnx"),
	}
}

// TestGenerate checks that the source of small models is formatted and computes the same as the models.
func TestGenerate(t *testing.T) {
	for pkg, g := range models(t) {
		s := write(t, g, pkg)
		text := s.Files[pkg+".go"]
		if out, err := format.Source(text); err != nil || !bytes.Equal(out, text) {
			t.Errorf("%s: not as gofmt writes it: %v", pkg, err)
		}
		if s.Difference < 0 || s.Difference > 1e-5 {
			t.Errorf("%s differs by %g: %v", pkg, s.Difference, s.Notes)
		}
	}
}

// TestBlocks checks that repeated blocks become one function and a loop over a table.
func TestBlocks(t *testing.T) {
	text := string(write(t, residual(t), "residual").Files["residual.go"])
	for _, want := range []string{
		`func layer(e *nn.Edit, x *nn.Value, name string, out, stride int, downsample bool) *nn.Value {`,
		`{"layers.0", 4, 1, false}, // [N,4,8,8]`,
		`{"layers.1", 8, 2, true},  // [N,8,4,4]`,
		`x = layer(e, x, row.name, row.out, row.stride, row.downsample)`,
		`Name: name + ".conv1"`,
		"if downsample {\n",
		`return e.Apply(layers.ReLU{}, e.Node(op.Plain("Add"), y, x).Out(0))`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// TestLayers checks that attention, layer normalization and GELU spelled out as operators become layers.
func TestLayers(t *testing.T) {
	text := string(write(t, transformer(t), "encoder").Files["encoder.go"])
	for _, want := range []string{
		"for i := range 3 {\n\t\t\tx = layer(e, x, fmt.Sprintf(\"encoder.layer.%d\", i)) // [N,6,8]\n",
		`layers.Attention{Heads: 2, Name: name + ".attention"}`,
		`layers.LayerNorm{Name: name + ".norm1"}`,
		`layers.GELU{}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// TestRefuses checks that the error of a model that cannot be written names the operator and the node.
func TestRefuses(t *testing.T) {
	a := nn.Assemble(nn.NewGraph("twisted", std.Operators(), map[string]int{"": 17, "my": 1}))
	a.Input("x", op.T(dtype.Float32, op.D(2)), nil)
	a.Node(nn.NodeSpec{Name: "twist", Domain: "my", Type: "Twist", In: []string{"x"}, Out: []string{"y"}})
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	a.Output("y", op.T(dtype.Float32, op.D(2)), nil)
	g, err := a.Graph()
	if err != nil {
		t.Fatal(err)
	}
	_, err = generate.Generate(context.Background(), g, generate.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "generate: ") || !strings.Contains(err.Error(), "Twist twist") {
		t.Errorf("a model with an unknown operator: %v", err)
	}
	for _, pkg := range []string{"Model", "my-model", "func", "main", "string"} {
		_, err := generate.Generate(context.Background(), residual(t), generate.Options{Package: pkg})
		if want := "cannot be the name of a package that others import"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("package %s: %v", pkg, err)
		}
	}
}

// TestHostileNames checks that names from a file cannot break out of strings and comments.
func TestHostileNames(t *testing.T) {
	g := nn.New("a\"\n*/ func init() { panic(0) } /*`")
	g.Meta()["k\n\"}"] = "v\n`"
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("in\n}\"put", "float32[N,3]")
		e.Output("out\n\"", e.Apply(nn.Sequential{layers.Linear{Out: 4, Name: "la\nyer.0\"\r"}, layers.ReLU{}, layers.Linear{Out: 4, Name: "la\nyer.1\"\r"}, layers.ReLU{}, layers.Linear{Out: 4, Name: "la\nyer.2\"\r"}, layers.ReLU{}}, x))
	}); err != nil {
		t.Fatal(err)
	}
	for _, style := range []string{generate.Layers, generate.Gorgonia} {
		s, err := generate.Generate(context.Background(), g, generate.Options{Package: "model", From: "x\nfunc init() {}", Style: style})
		if err != nil {
			t.Errorf("%s: %v", style, err)
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), "model.go", s.Files["model.go"], 0)
		if err != nil {
			t.Errorf("%s: %v", style, err)
			continue
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" {
				t.Errorf("%s: a name became a function:\n%s", style, s.Files["model.go"])
			}
		}
	}
}

// TestWriteTo checks that nothing remains if the folder cannot be written.
func TestWriteTo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := write(t, residual(t), "model")
	if err := s.WriteTo(file); err == nil || !strings.Contains(err.Error(), "is a file, want a folder") {
		t.Error(err)
	}
	if err := s.WriteTo(filepath.Join(dir, "none", "deep")); err == nil {
		t.Error("written into a folder that is not there")
	}
	if err := s.WriteTo(filepath.Join(dir, "model")); err != nil {
		t.Fatal(err)
	}
	var names []string
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	if want := []string{"file", "model"}; !slices.Equal(names, want) {
		t.Errorf("there are %v, want %v", names, want)
	}
	if !token.IsIdentifier("model") {
		t.Error("model is no name")
	}
}

// TestOtherDomains checks that operators of other domains are not mistaken for standard operators of the same name.
func TestOtherDomains(t *testing.T) {
	negative := func(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
		y, err := c.Apply1(op.Plain("Neg"), in[0])
		return gorgonia.Nodes{y}, err
	}
	mine := func(name string, in op.Slots) *op.Op {
		return &op.Op{Domain: "my", Name: name, Since: []int{1}, Doc: "The negative.", In: in, Out: "Y T", Where: op.Where{"T": op.Floats()}, Pinned: "a test",
			Infer: func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[0]}, nil }, Lower: negative}
	}
	set, err := std.Operators().With(mine("Conv", "X T, W T weight"), mine("Identity", "X T"), mine("Gemm", "X T, W T weight"))
	if err != nil {
		t.Fatal(err)
	}
	g := nn.NewGraph("g", set, map[string]int{"": 21, "my": 1})
	if err := g.Edit(func(e *nn.Edit) {
		w, b := dtype.New(dtype.Float32, 3, 3, 1, 1), dtype.New(dtype.Float32, 3, 1, 1)
		x := e.Node(op.Name{Domain: "my", Name: "Identity"}, e.Input("x", "float32[N,3,4,4]")).Out(0)
		y := e.Node(op.Name{Domain: "my", Name: "Conv"}, x, e.Const("w", w)).Out(0)
		e.Output("y", e.Node(op.Plain("Add"), y, e.Const("b", b)).Out(0))

		z := e.Apply(layers.Attention{Heads: 2, NoBias: true, Name: "attention"}, e.Input("z", "float32[N,3,4]"))
		e.Output("attended", z)
		query := e.Value("attention.query.weight").Users()[0]
		e.Rewire(query.Out(0), e.Node(op.Name{Domain: "my", Name: "Gemm"}, query.Inputs()...).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	text := string(write(t, g, "mine").Files["mine.go"])
	for _, want := range []string{`op.Name{Domain: "my", Name: "Conv"}`, `op.Name{Domain: "my", Name: "Identity"}`, `op.Name{Domain: "my", Name: "Gemm"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}

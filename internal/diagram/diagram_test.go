package diagram

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
)

// drawn returns the drawing of a graph, and the texts in it.
func drawn(t *testing.T, o Options, g *nn.Graph) (svg, text string) {
	t.Helper()
	var b, again strings.Builder
	if err := errors.Join(o.SVG(&b, g), o.SVG(&again, g)); err != nil {
		t.Fatal(err)
	}
	if b.String() != again.String() {
		t.Fatal("the same graph is drawn otherwise a second time")
	}
	var texts []string
	name := ""
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String(), strings.Join(texts, "\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			name = x.Name.Local
		case xml.EndElement:
			name = ""
		case xml.CharData:
			if name == "text" {
				texts = append(texts, string(x))
			}
		}
	}
}

// stack returns a row of equal residual blocks between two other layers, with a name that XML has to escape.
func stack(t *testing.T, blocks int) *nn.Graph {
	t.Helper()
	g := nn.New(`a<b> & "c"`)
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Apply(layers.Linear{Out: 8, Name: "stem"}, e.Input("x<1>", "float32[N,5]"))
		for i := range blocks {
			y := e.Node(op.Plain("Relu"), e.Apply(layers.Linear{Out: 8, Name: fmt.Sprintf("a%d", i)}, x)).Out(0)
			x = e.Node(op.Plain("Add"), e.Apply(layers.Linear{Out: 8, Name: fmt.Sprintf("b%d", i)}, y), x).Out(0)
		}
		e.Output("scores", e.Apply(layers.Linear{Out: 3, Name: "head"}, x))
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestRepeated(t *testing.T) {
	g := stack(t, 6)
	svg, text := drawn(t, Options{}, g)
	if n := strings.Count(text, "Gemm"); n != 4 || !strings.Contains(text, "× 6") {
		t.Errorf("%d Gemm of stem, head and one block:\n%s", n, text)
	}
	for _, want := range []string{"x<1>", "N×5", "B 8×5", "N×8", "scores"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if !strings.Contains(svg, "a&lt;b&gt; &amp; ") {
		t.Error("the name is not escaped")
	}
	if _, text := drawn(t, Options{All: true}, g); strings.Count(text, "Gemm") != 14 || strings.Contains(text, "× ") {
		t.Errorf("not all is drawn:\n%s", text)
	}
}

// A block whose inside is read elsewhere is drawn as it stands.
func TestReadInside(t *testing.T) {
	g := stack(t, 4)
	if err := g.Edit(func(e *nn.Edit) {
		for i := range 4 {
			e.Output(fmt.Sprintf("inner%d", i), e.Find(nn.Glob(fmt.Sprintf("a%d", i))).Out(0))
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, text := drawn(t, Options{}, g); strings.Contains(text, "× ") {
		t.Errorf("folded:\n%s", text)
	}
}

// TestShapes checks that shape arithmetic is omitted and its result drawn where it is read; with All it is drawn.
func TestShapes(t *testing.T) {
	g := nn.New("shapes")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[2,6]")
		shape := e.Node(op.Plain("Shape"), e.Input("like", "float32[3,4]")).Out(0)
		e.Output("y", e.Node(op.Plain("Reshape"), x, shape).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	if _, text := drawn(t, Options{}, g); strings.Contains(text, "Shape\n") || !strings.Contains(text, "shape = [3 4]") {
		t.Errorf("folded:\n%s", text)
	}
	if _, text := drawn(t, Options{All: true}, g); !strings.Contains(text, "Shape\n") || strings.Contains(text, "shape = [3 4]") {
		t.Errorf("all:\n%s", text)
	}
}

// TestBodies checks that bodies of loops are drawn inside their nodes, and outer values that they read by name.
func TestBodies(t *testing.T) {
	g := nn.New("loop")
	if err := g.Edit(func(e *nn.Edit) {
		x, step := e.Input("x", "float32[N,4]"), e.Input("step", "float32[4]")
		body := e.Body("body", []string{"int64[]", "bool[]", "float32[N,4]"}, []*nn.Value{step}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			return []*nn.Value{e.Node(op.Plain("Identity"), in[1]).Out(0), e.Node(op.Plain("Tanh"), e.Node(op.Plain("Add"), in[2], in[3]).Out(0)).Out(0)}
		})
		n, err := dtype.FromSlice([]int64{2}, 1)
		e.Fail(err)
		e.Output("y", e.Node(std.LoopConfig{Body: body}, e.Const("n", n), nil, x).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	_, text := drawn(t, Options{}, g)
	for _, want := range []string{"Loop", "body", "Tanh", "outer value"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestModels draws every file of a folder of models; all operators that inspect lists are drawn, except for repetitions.
func TestModels(t *testing.T) {
	shared := os.Getenv("GRAFT_SHARED")
	if shared == "" {
		t.Skip("GRAFT_SHARED names no folder with models")
	}
	files, err := filepath.Glob(filepath.Join(shared, "models", "*", "*.onnx"))
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		g, err := onnxio.Load(f)
		if err != nil {
			t.Fatal(err)
		}
		svg, text := drawn(t, Options{All: true}, g)
		for n := range g.Nodes() {
			if !strings.Contains(text, operator(n)) {
				t.Errorf("%s: no %s", f, operator(n))
			}
		}
		if regexp.MustCompile(`="-|="[^"]*(NaN|Inf)`).MatchString(svg) {
			t.Errorf("%s: a place is no number", f)
		}
		drawn(t, Options{}, g)
	}
}

// TestLongDiagram checks that a diagram of many nodes is scaled to a size that programs draw.
func TestLongDiagram(t *testing.T) {
	g := nn.New("long")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,5]")
		for range 700 {
			x = e.Apply(layers.ReLU{}, x)
		}
		e.Output("y", x)
	}); err != nil {
		t.Fatal(err)
	}
	svg, _ := drawn(t, Options{All: true}, g)
	var w, h, wide, high float64
	if _, err := fmt.Sscanf(svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g">`, &w, &h, &wide, &high); err != nil {
		t.Fatal(err)
	}
	if h > 32767 || high < 32767 || math.Abs(w/h-wide/high) > 0.01*wide/high {
		t.Errorf("%g×%g pixels for %g×%g", w, h, wide, high)
	}
}

package onnxio

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

const (
	heldW = `dims: 3 dims: 3 data_type: 11 double_data: [0.2, -0.5, 0.3, 0.7, 0.1, -0.4, -0.3, 0.6, 0.25]`
	heldB = `dims: 3 data_type: 11 double_data: [0.1, -0.2, 0.05]`
)

// held returns nodes and tensors of y = tanh(x·w + b) with names that end in id; the tensors are initializers or Constant nodes.
func held(x, y, id string, nodes bool) string {
	tensor := func(name, t string) string {
		if nodes {
			return fmt.Sprintf(`node { op_type: "Constant" output: %q attribute { name: "value" type: TENSOR t { %s } } } `, name, t)
		}
		return fmt.Sprintf(`initializer { name: %q %s } `, name, t)
	}
	return tensor("w"+id, heldW) + tensor("b"+id, heldB) + fmt.Sprintf(`node { op_type: "MatMul" input: %q input: "w%s" output: "m%s" }
		node { op_type: "Add" input: "m%s" input: "b%s" output: "a%s" } node { op_type: "Tanh" input: "a%s" output: %q } `, x, id, id, id, id, id, id, y)
}

func double(name, dims string) string {
	return strings.Replace(float(name, dims), "elem_type: 1 ", "elem_type: 11 ", 1)
}

// heldModels are models with weights in subgraphs that compute the output "loss" from x, double[2,3], with the names of the
// weights and, for each, that of the value in the file.
func heldModels(nodes bool) map[string]struct {
	file    string
	weights map[string]string
} {
	graph := func(name, body string) string {
		return fmt.Sprintf(`attribute { name: %q type: GRAPH g { name: %q %s } } `, name, name, body)
	}
	square := `node { op_type: "Mul" input: "y" input: "y" output: "s" } node { op_type: "ReduceSum" input: "s" output: "loss" attribute { name: "keepdims" i: 0 type: INT } } `
	decide := `node { op_type: "ReduceSum" input: "x" output: "total" attribute { name: "keepdims" i: 0 type: INT } } node { op_type: "Cast" input: "total" output: "cond" attribute { name: "to" i: 9 type: INT } } `
	ints := `node { op_type: "Constant" output: "three" attribute { name: "value_int" i: 3 type: INT } } `
	loop := func(body, out string) string {
		return `node { op_type: "Loop" name: "loop" input: "three" input: "" input: "x" output: "y" ` + graph("body", `input { name: "i" type { tensor_type { elem_type: 7 shape { } } } }
			input { name: "on" type { tensor_type { elem_type: 9 shape { } } } } input `+double("v", "2 3")+body+`node { op_type: "Identity" input: "on" output: "still" }
			output { name: "still" type { tensor_type { elem_type: 9 shape { } } } } output `+double(out, "2 3")) + "} "
	}
	branches := func(x, y, then, other string) string {
		return `node { op_type: "If" input: "cond" output: "` + y + `" ` + graph("then_branch", then) + graph("else_branch", other) + "} "
	}
	type model = struct {
		file    string
		weights map[string]string
	}
	one := map[string]string{"w": "w", "b": "b"}
	return map[string]model{
		"Loop": {ints + loop(held("v", "q", "", nodes), "q") + square, one},
		"If": {decide + branches("x", "y", held("x", "q", "", nodes)+"output "+double("q", "2 3"), held("x", "q", "", nodes)+
			`node { op_type: "Neg" input: "q" output: "r" } output `+double("r", "2 3")) + square, map[string]string{"w": "w", "b": "b", "w_1": "w", "b_1": "b"}},
		"Scan": {`node { op_type: "Scan" name: "scan" input: "x" output: "y" attribute { name: "num_scan_inputs" i: 1 type: INT } ` +
			graph("body", `input `+double("v", "3")+held("v", "q", "", nodes)+`output `+double("q", "3")) + `} ` + square, one},
		"If in Loop": {ints + decide + loop(branches("v", "q", held("v", "p", "1", nodes)+"output "+double("p", "2 3"),
			held("v", "p", "2", nodes)+"output "+double("p", "2 3")), "q") + square, map[string]string{"w1": "w1", "b1": "b1", "w2": "w2", "b2": "b2"}},
		"read by an If in the Loop": {ints + decide + loop(held("v", "h", "", nodes)+branches("h", "q", `node { op_type: "MatMul" input: "h" input: "w" output: "p" } output `+double("p", "2 3"),
			`node { op_type: "Neg" input: "h" output: "p" } output `+double("p", "2 3")), "q") + square, one},
		// the graph has values of these names: parameters need others
		"names taken": {ints + `node { op_type: "Identity" input: "x" output: "z" } ` + strings.NewReplacer(`"m"`, `"b_1"`).Replace(loop(held("v", "q", "", nodes), "q")) +
			`node { op_type: "Neg" input: "y" output: "w" } node { op_type: "Neg" input: "w" output: "b" } ` + strings.ReplaceAll(square, `"y"`, `"b"`), map[string]string{"w_1": "w", "b_2": "b"}},
	}
}

func heldModel(t *testing.T, text string) ([]byte, *nn.Graph) {
	t.Helper()
	b := textModel(t, "input "+double("x", "2 3")+"output "+double("loss", "")+text)
	g, err := Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return b, g
}

func heldX() nn.Feed {
	x, err := dtype.FromSlice([]float64{0.5, -0.3, 0.8, -0.6, 0.9, 0.1}, 2, 3)
	if err != nil {
		panic(err)
	}
	return nn.Feed{"x": x}
}

func saved(t *testing.T, g *nn.Graph) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Weights of subgraphs are parameters with gradients, and are saved where they were: untouched files do not change, changed
// weights change alone.
func TestBodyWeights(t *testing.T) {
	for _, nodes := range []bool{false, true} {
		for name, c := range heldModels(nodes) {
			t.Run(fmt.Sprint(name, " nodes=", nodes), func(t *testing.T) {
				file, g := heldModel(t, c.file)
				var names []string
				for p := range g.Params() {
					if p.Trainable() {
						names = append(names, p.Name())
					} else if p.Data() != nil && dtype.Of(p.Data().Dtype()).IsFloat() {
						t.Errorf("%s is a %s", p.Name(), p.Role())
					}
				}
				if len(names) != len(c.weights) {
					t.Fatalf("the weights are %q, want %v", names, c.weights)
				}
				if err := sameModel(file, saved(t, g)); err != nil {
					t.Error(err)
				}
				if err := sameModel(file, saved(t, nntest.Clone(t, g))); err != nil {
					t.Errorf("a clone: %v", err)
				}
				grads, err := g.Grad(t.Context(), heldX(), "loss", names...)
				if err != nil {
					t.Fatal(err)
				}
				loss := func() float64 {
					out, err := g.Eval(t.Context(), heldX())
					if err != nil {
						t.Fatal(err)
					}
					return out["loss"].(*tensor.Dense).Data().(float64)
				}
				moved := 0.0
				for _, name := range names {
					v, err := g.Value(name)
					if err != nil || c.weights[name] == "" {
						t.Fatalf("%s is a parameter: %v", name, err)
					}
					p := v.Param()
					w, slope := dtype.Slice[float64](p.Data()), dtype.Slice[float64](grads[name].(*tensor.Dense))
					for i := range w {
						at := func(x float64) float64 {
							w[i] += x
							p.Changed()
							defer func() { w[i] -= x }()
							return loss()
						}
						const h = 1e-5
						if want := (at(h) - at(-h)) / (2 * h); math.Abs(slope[i]-want) > 1e-8 {
							t.Errorf("%s[%d]: gradient %v, differences give %v", name, i, slope[i], want)
						}
						moved += math.Abs(slope[i])
					}
					p.Changed()
				}
				if moved == 0 {
					t.Error("all gradients are 0")
				}
				// What is changed is saved at its place, and nothing else changes.
				v, _ := g.Value(names[0])
				dtype.Slice[float64](v.Param().Data())[0] = 42
				v.Param().Changed()
				want := loss()
				now := saved(t, g)
				if n := strings.Count(string(now), string(dtype.Bytes(dtype.Scalar(42.0)))); n != 1 {
					t.Errorf("the changed weight is in the file %d times", n)
				}
				m := &onnxpb.ModelProto{}
				if err := proto.Unmarshal(now, m); err != nil || len(m.Graph.Initializer) > 0 {
					t.Errorf("initializers of the graph: %v, %v", m.Graph.Initializer, err)
				}
				if len(now) != len(file) {
					t.Errorf("the file has %d bytes, had %d", len(now), len(file))
				}
				g, err = Read(bytes.NewReader(now))
				if err != nil {
					t.Fatal(err)
				}
				if got := loss(); got != want {
					t.Errorf("read again it gives %v, want %v", got, want)
				}
			})
		}
	}
}

// The gradients of a linear layer in a Loop of three iterations are those that PyTorch 1.13 computes in float64.
func TestBodyWeightsTorch(t *testing.T) {
	_, g := heldModel(t, heldModels(false)["Loop"].file)
	got, err := g.Grad(t.Context(), heldX(), "loss", "w", "b")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float64{
		"w": {-0.2539157452475656, -0.6565023216730859, 0.5220666446751153, 0.6309014220726661, 0.477268702338812, -0.7586788215884377,
			-0.1784240680465165, 0.47775338498824127, -0.04342476317063607},
		"b":    {0.4621884663350858, -0.5558646527720894, -0.016306083703547025},
		"loss": {0.46944289803673644},
	} {
		d, err := dtype.Float64s(got[name].(*tensor.Dense))
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			if math.Abs(d[i]-w) > 1e-12 {
				t.Errorf("%s[%d] is %v, want %v", name, i, d[i], w)
			}
		}
	}
}

// Edits: names, frozen parameters, other uses, removal; failed edits leave everything as it was.
func TestBodyWeightsEdited(t *testing.T) {
	text := heldModels(false)["If"].file
	inside := func(b []byte) (top, then []string) {
		m := &onnxpb.ModelProto{}
		if err := proto.Unmarshal(b, m); err != nil {
			t.Fatal(err)
		}
		for _, i := range m.Graph.Initializer {
			top = append(top, i.GetName())
		}
		for _, n := range m.Graph.Node {
			for _, a := range n.Attribute {
				if a.GetName() == "then_branch" {
					for _, i := range a.G.Initializer {
						then = append(then, i.GetName())
					}
				}
			}
		}
		return top, then
	}
	for name, c := range map[string]struct {
		edit      func(e *nn.Edit)
		top, then []string
	}{
		"renamed":    {func(e *nn.Edit) { e.RenameValue(e.Value("w"), "weight") }, nil, []string{"weight", "b"}},
		"read twice": {func(e *nn.Edit) { e.Output("copy", e.Value("w")) }, []string{"w"}, []string{"b"}},
		"frozen":     {func(e *nn.Edit) { e.Freeze(nn.Glob("*")) }, nil, []string{"w", "b"}},
		"removed":    {func(e *nn.Edit) { e.Output("sum", e.Value("total")); e.RemoveOutput("loss") }, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			file, g := heldModel(t, text)
			err := g.Edit(func(e *nn.Edit) {
				c.edit(e)
				e.Failf("not now")
			})
			if err == nil {
				t.Fatal("the edit did not fail")
			}
			if err := sameModel(file, saved(t, g)); err != nil {
				t.Fatalf("after a failed edit: %v", err)
			}
			if err := g.Edit(c.edit); err != nil {
				t.Fatal(err)
			}
			again := reload(t, g)
			for range 2 {
				if top, then := inside(saved(t, g)); !slices.Equal(top, c.top) || !slices.Equal(then, c.then) {
					t.Errorf("initializers %q and %q of the branch, want %q and %q", top, then, c.top, c.then)
				}
				g = again
			}
		})
	}
}

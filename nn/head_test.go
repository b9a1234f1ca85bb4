package nn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
)

// shared opens a model that is not part of the project; where there are none the test is skipped.
func shared(t *testing.T, model string) *nn.Graph {
	t.Helper()
	g, err := onnxio.Load(oracle.Shared(t, "models", model, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestHeadOfModels(t *testing.T) {
	cases := []struct{ model, note, typ, refusal string }{
		{"squeezenet1.1", "head: Conv conv10_1, 3 classes instead of 1000", "float32[1,3,1,1]", ""},
		{"torch-resnet-mini", "head: Gemm /fc/Gemm, 3 classes instead of 10", "float32[4,3]", ""},
		{"mnist-cnn", "head: MatMul Times212, 3 classes instead of 10", "float32[1,3]", ""},
		{"mnist-bn-cnn", "head: Gemm /fc2/Gemm, 3 classes instead of 10", "float32[1,3]", ""},
		{"mnist-mlp-leaky", "head: Gemm Gemm_14, 3 classes instead of 10", "float32[batch_size,3]", ""},
		{"iris-mlp", "head: Gemm Gemm_4, 3 classes instead of 3", "float32[batch_size,3]", ""},
		{"traffic-sign", "head: MatMul StatefulPartitionedCall/sequential_11/dense_23/MatMul, 3 classes instead of 43", "float32[unk__16,3]", ""},
		{"torch-lstm", "head: Gemm /fc/Gemm, 3 classes instead of 10", "float32[4,3]", ""},
		{"torch-bert-mini", "head: Gemm /fc/Gemm, 3 classes instead of 10", "float32[4,3]", ""},
		{"super-resolution", "", "", `edit: DepthToSpace DepthToSpace_7: is between output "output" and its head: replace it by hand`},
		{"resnet-stem", "", "", `edit: Sum gpu_0/res2_0_branch2c_bn_2: is between output "gpu_0/res2_0_branch2c_bn_2" and its head: replace it by hand`},
	}
	for _, c := range cases {
		t.Run(c.model, func(t *testing.T) {
			g := shared(t, c.model)
			out := g.Outputs()[0]
			name, before, params := out.Name(), nntest.Dump(g), nntest.Trained(g)
			p, err := g.Plan(func(e *nn.Edit) { e.Head(nn.Head{Labels: []string{"a", "b", "c"}}) })
			if after := nntest.Dump(g); after != before {
				t.Errorf("planning changed the graph:\n%s", diff(before, after))
			}
			if c.refusal != "" {
				if err == nil || err.Error() != c.refusal {
					t.Errorf("error %v\nwant  %s", err, c.refusal)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.Notes(), []string{c.note}) {
				t.Errorf("notes %q, want %q", p.Notes(), c.note)
			}
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			if got := g.Outputs()[0]; got.Name() != name || got.Type().String() != c.typ {
				t.Errorf("output is %s %v, want %s %s", got.Name(), got.Type(), name, c.typ)
			}
			if got := nntest.Trained(g); got != params {
				t.Errorf("parameters were\n%s and are\n%s", params, got)
			}
			if !slices.Equal(g.Labels(), []string{"a", "b", "c"}) || g.Meta()[nn.MetaLabels] == "" {
				t.Error("labels are not in the metadata")
			}
			if err := p.Undo(); err != nil {
				t.Fatal(err)
			}
			if after := nntest.Dump(g); after != before {
				t.Errorf("undoing does not restore the graph:\n%s", diff(before, after))
			}
		})
	}
}

// TestHeadRuns runs SqueezeNet with a new head: probabilities of three classes come out.
func TestHeadRuns(t *testing.T) {
	g := shared(t, "squeezenet1.1")
	nntest.Edit(t, g, func(e *nn.Edit) { e.Freeze(nn.Before(e.Head(nn.Head{Classes: 3}))) })
	got := nntest.Run(t, g, nntest.Ramp(g.Inputs()[0].Type().Sizes()...))
	if s := got[0] + got[1] + got[2]; len(got) != 3 || s < 0.999 || s > 1.001 {
		t.Errorf("probabilities %v", got)
	}
	for p := range g.Params() {
		if want := strings.HasPrefix(p.Name(), "conv10_"); p.Trainable() != want {
			t.Errorf("%s is trained: %v", p.Name(), p.Trainable())
		}
	}
}

// classifier is x -> MatMul -> + bias -> Reshape [-1, 1, 5] -> LogSoftmax, and another output.
func classifier(t *testing.T, extra func(e *nn.Edit, y *nn.Value) *nn.Value) *nn.Graph {
	g := nn.New("classifier")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[N,T,4]")
		y := e.Apply(layers.Linear{Out: 5, Name: "fc"}, x)
		if extra != nil {
			y = extra(e, y)
		}
		e.Output("y", e.Apply(layers.LogSoftmax{}, y))
	})
	return g
}

func TestHeadKeeps(t *testing.T) {
	g := classifier(t, func(e *nn.Edit, y *nn.Value) *nn.Value { return e.Apply(layers.Reshape{Dims: []int{-1, 1, 5}}, y) })
	old := map[string][]float32{}
	for _, n := range []string{"fc.weight", "fc.bias"} {
		v, _ := g.Value(n)
		old[n], _ = dtype.ToSlice[float32](v.Param().Data())
	}
	nntest.Edit(t, g, func(e *nn.Edit) {
		e.Head(nn.Head{Classes: 3, Keep: []int{4, -1, 0}, Init: initial.Full{Value: 9}, BiasInit: initial.Zeros{}})
	})
	w, _ := g.Value("fc.weight")
	got, _ := dtype.ToSlice[float32](w.Param().Data())
	for i := range 4 {
		want := []float32{old["fc.weight"][i*5+4], 9, old["fc.weight"][i*5]}
		if !slices.Equal(got[i*3:i*3+3], want) {
			t.Errorf("row %d of the weight is %v, want %v", i, got[i*3:i*3+3], want)
		}
	}
	b, _ := g.Value("fc.bias")
	got, _ = dtype.ToSlice[float32](b.Param().Data())
	if want := []float32{old["fc.bias"][4], 0, old["fc.bias"][0]}; !slices.Equal(got, want) {
		t.Errorf("bias %v, want %v", got, want)
	}
	if y := g.Outputs()[0]; y.Type().String() != "float32[N*T,1,3]" {
		t.Errorf("output is %v", y.Type())
	}
}

func TestHeadRefusals(t *testing.T) {
	scale := func(e *nn.Edit, y *nn.Value) *nn.Value {
		return e.Node(op.Plain("Mul"), y, e.Param("scale", initial.Ones{}, 5)).Out(0)
	}
	flat := func(e *nn.Edit, y *nn.Value) *nn.Value {
		return e.Apply(layers.Reshape{Dims: []int{10, 7}, Name: "r"}, y)
	}
	cases := []struct {
		name  string
		extra func(e *nn.Edit, y *nn.Value) *nn.Value
		head  nn.Head
		want  string
	}{
		{"no classes", nil, nn.Head{}, "edit: a head needs Labels or a number of Classes"},
		{"labels", nil, nn.Head{Classes: 2, Labels: []string{"a"}}, "edit: a head for 2 classes has 1 labels"},
		{"keep", nil, nn.Head{Classes: 2, Keep: []int{1}}, "edit: a head for 2 classes has a Keep list of 1"},
		{"keep too large", nil, nn.Head{Classes: 2, Keep: []int{1, 5}}, "edit: there is no old class 5 to keep: there are 5"},
		{"output", nil, nn.Head{Classes: 2, Output: "x"}, `edit: "x" is not an output`},
		{"per class", scale, nn.Head{Classes: 2}, "edit: Mul mul: input scale: has an element for each of the 5 classes: replace the node by hand"},
		{"reshape", flat, nn.Head{Classes: 2}, "edit: Reshape r: input r.shape: [10 7] fixes the number of classes: replace the node by hand"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := classifier(t, c.extra)
			before := nntest.Dump(g)
			err := g.Edit(func(e *nn.Edit) { e.Head(c.head) })
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
			if after := nntest.Dump(g); after != before {
				t.Errorf("the refused edit changed the graph:\n%s", diff(before, after))
			}
		})
	}
}

// diff lists the lines that only one text has.
func diff(a, b string) string {
	var s strings.Builder
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for _, l := range x {
		if !slices.Contains(y, l) {
			s.WriteString("- " + l + "\n")
		}
	}
	for _, l := range y {
		if !slices.Contains(x, l) {
			s.WriteString("+ " + l + "\n")
		}
	}
	return s.String()
}

// TestHeadOpaque meets operators of a foreign domain that have the names of layers and activations: nothing is known of them.
func TestHeadOpaque(t *testing.T) {
	for _, name := range []string{"Gemm", "Conv", "MatMul", "Relu", "BatchNormalization", "Reshape"} {
		a := nn.Assemble(nn.New("odd"))
		a.Input("x", op.T(dtype.Float32, op.Sym("N"), op.D(4)), nil)
		a.Param("w", nntest.Ramp(4, 5), nil)
		a.Node(nn.NodeSpec{Name: "fc", Type: "MatMul", In: []string{"x", "w"}, Out: []string{"h"}})
		a.Node(nn.NodeSpec{Name: "odd", Domain: "my", Type: name, In: []string{"h"}, Out: []string{"y"}})
		if err := a.Finish(); err != nil {
			t.Fatal(err)
		}
		a.Output("y", op.T(dtype.Float32, op.Sym("N"), op.D(5)), nil)
		g, err := a.Graph()
		if err != nil {
			t.Fatal(err)
		}
		err = g.Edit(func(e *nn.Edit) { e.Head(nn.Head{Classes: 3}) })
		if want := "edit: " + name + ` odd: is between output "y" and its head: replace it by hand`; err == nil || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	}
}

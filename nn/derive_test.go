package nn_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// TestDeriveEach: every gradient operator that can be written out is in a case of TestDerive.
func TestDeriveEach(t *testing.T) {
	met := map[string]bool{}
	for _, c := range derivedCases() {
		g, loss, params := derivedGraph(t, c.x, c.y)
		names, err := nn.DerivedOps(g, nn.DeriveOptions{Loss: loss, Params: params})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			met[name] = true
		}
	}
	for _, o := range std.Operators().List() {
		if strings.HasPrefix(o.Name, "FakeQuantize") || o.Name == "DynamicLSTM" { // in a graph inside of other operators only: TestDynamicQuantization… of train/step
			continue
		}
		if (o.Domain == op.Internal && o.Decompose != nil || o.Expose != nil) && !met[o.Name] {
			t.Errorf("%v is written out, and no case of TestDerive does so", o)
		}
	}
}

// TestDerive: gradients written out are those that the engine computes, in graft and in ONNX Runtime. The graphs are
// compared with testdata/derived.txt; -update writes it anew.
func TestDerive(t *testing.T) {
	cases := derivedCases()
	run := func(t *testing.T, opset int, eval func(g *nn.Graph, in nn.Feed) (nn.Feed, error)) string {
		var b strings.Builder
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				fmt.Fprintf(&b, "%s of %s\n%s", c.name, c.x, nntest.Indent(nntest.Spelled(checkDerived(t, opset, c.x, c.y, eval))))
			})
		}
		return b.String()
	}
	t.Run("graft", func(t *testing.T) {
		eval := func(g *nn.Graph, in nn.Feed) (nn.Feed, error) { return g.Eval(context.Background(), in) }
		text := run(t, 18, eval)
		for i, c := range cases { // where no size is open, a step is lowered once
			if i%4 == 0 && strings.ContainsAny(c.x, "NT") {
				t.Run(c.name+" of fixed sizes", func(t *testing.T) { checkDerived(t, 18, fixedSizes.Replace(c.x), c.y, eval) })
			}
		}
		nntest.CompareFile(t, filepath.Join("testdata", "derived.txt"), text)
	})
	t.Run("onnxruntime", func(t *testing.T) {
		r := oracle.ORT(t)
		for _, opset := range []int{18, 22} {
			run(t, opset, func(g *nn.Graph, in nn.Feed) (nn.Feed, error) { return derivedInRuntime(r, g, in) })
		}
	})
}

func derivedInRuntime(r *oracle.Runtime, g *nn.Graph, in nn.Feed) (nn.Feed, error) {
	var file bytes.Buffer
	if err := onnxio.Write(&file, g); err != nil {
		return nil, err
	}
	feed := map[string]oracle.Tensor{}
	for name, v := range in {
		d := v.(*tensor.Dense)
		feed[name] = oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}
	}
	out, err := r.Run(file.Bytes(), feed)
	list := nn.Feed{}
	for name, x := range out {
		t, err := dtype.Parse(x.DType)
		if err != nil {
			return nil, err
		}
		d := dtype.New(t, x.Shape...)
		copy(dtype.Bytes(d), x.Data)
		list[name] = d
	}
	return list, err
}

// derivedGraph returns a model with a loss over y.
func derivedGraph(t *testing.T, in string, y func(d deriving, x *nn.Value) *nn.Value) (*nn.Graph, *nn.Value, []*nn.Param) {
	t.Helper()
	g := nn.NewGraph("derived", std.Operators(), map[string]int{"": 24})
	err := g.Edit(func(e *nn.Edit) {
		e.Seed(3)
		d := deriving{e}
		x := e.Input("x", in)
		var shape []int
		for _, dim := range x.Type().Shape {
			shape = append(shape, max(dim.Size, 1))
		}
		x = d.do(op.Plain("Mul"), x, d.above(shape...))
		v := d.do(op.Plain("Mul"), y(d, x), d.number(0.5))
		e.Output("loss", d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, d.do(op.Plain("Mul"), v, d.do(op.Plain("Add"), v, d.number(1)))))
	})
	if err != nil {
		t.Fatal(err)
	}
	loss, err := g.Value("loss")
	if err != nil {
		t.Fatal(err)
	}
	var params []*nn.Param
	for p := range g.Params() {
		if p.Trainable() {
			params = append(params, p)
		}
	}
	return g, loss, params
}

func checkDerived(t *testing.T, opset int, in string, y func(d deriving, x *nn.Value) *nn.Value, eval func(g *nn.Graph, in nn.Feed) (nn.Feed, error)) *nn.Graph {
	g, loss, params := derivedGraph(t, in, y)
	names, next := map[*nn.Param]string{}, map[*nn.Param]string{}
	var key string
	written, err := g.Derive(nn.DeriveOptions{Loss: loss, Params: params, Opset: opset}, func(e *nn.Edit, d *nn.Derivation) {
		e.Output("loss", d.Loss)
		for i, p := range params {
			if d.Grads[p] != nil {
				names[p] = fmt.Sprintf("gradient_%d", i)
				e.Output(names[p], d.Grads[p])
			}
		}
		for p := range g.Params() {
			if v := d.Next[p]; v != nil {
				next[p] = p.Name() + ".next"
				e.Output(next[p], v)
			}
		}
		if d.Key != nil {
			key = d.Key.Name()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range written.Nodes() {
		if n.Domain() != "" {
			t.Errorf("%s.%s is not a standard operator", n.Domain(), n.Type())
		}
	}
	feed := nn.Feed{}
	random := rand.New(rand.NewPCG(5, 6))
	for _, v := range g.Inputs() {
		var shape []int
		for k, d := range v.Type().Shape {
			if d.Size < 0 {
				d.Size = 5 + 3*k
			}
			shape = append(shape, d.Size)
		}
		x := dtype.New(dtype.Float32, shape...)
		for i := range dtype.Slice[float32](x) {
			dtype.Slice[float32](x)[i] = float32(random.NormFloat64())
		}
		feed[v.Name()] = x
	}
	want, err := g.Step(context.Background(), feed, nn.StepOptions{Loss: loss, Params: params, Train: true, Seed: 11, Count: 12})
	if err != nil {
		t.Fatal(err)
	}
	defer want.Release()
	for _, v := range written.Inputs() {
		if p := paramNamed(g, v.Name()); p != nil {
			feed[v.Name()] = p.Data()
		}
	}
	if key != "" {
		feed[key], _ = dtype.FromSlice([]uint64{11, 12}, 2)
	}
	got, err := eval(written, feed)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	compare := func(what string, a any, b *tensor.Dense) {
		d, _ := a.(*tensor.Dense)
		x, err := dtype.Float64s(d)
		z, _ := dtype.Float64s(b)
		if err != nil || len(x) != len(z) {
			t.Errorf("%s has %d elements, want %d", what, len(x), len(z))
			return
		}
		for i := range x {
			if diff := math.Abs(x[i] - z[i]); !(diff <= 2e-4*(1+math.Abs(z[i]))) {
				t.Errorf("%s: element %d is %v, want %v", what, i, x[i], z[i])
				return
			}
		}
		compared++
	}
	if l, err := dtype.Float64s(got["loss"].(*tensor.Dense)); err != nil || !(math.Abs(l[0]-want.Loss) <= 1e-4*(1+math.Abs(want.Loss))) {
		t.Errorf("the loss is %v, want %v", l, want.Loss)
	}
	for p, grad := range want.Grads {
		compare("the gradient of "+p.Name(), got[names[p]], grad)
	}
	for p, x := range want.States {
		compare("the next "+p.Name(), got[next[p]], x)
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
	return written
}

func paramNamed(g *nn.Graph, name string) *nn.Param {
	for p := range g.Params() {
		if p.Name() == name {
			return p
		}
	}
	return nil
}

package onnxio

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

// trainedIn returns a model that normalizes, drops and multiplies inside of wrap, which computes y from x.
func trainedIn(t *testing.T, wrap string, functions string) *nn.Graph {
	t.Helper()
	values := `initializer { name: "scale" data_type: 1 dims: 3 float_data: 1 float_data: 2 float_data: 0.5 }
		initializer { name: "shift" data_type: 1 dims: 3 float_data: 0 float_data: 1 float_data: -1 }
		initializer { name: "mean" data_type: 1 dims: 3 float_data: 0.1 float_data: 0.2 float_data: 0.3 }
		initializer { name: "var" data_type: 1 dims: 3 float_data: 1 float_data: 2 float_data: 3 }
		initializer { name: "w" data_type: 1 dims: 3 dims: 3 float_data: 1 float_data: 2 float_data: 3 float_data: 4 float_data: 5 float_data: 6 float_data: 7 float_data: 8 float_data: 10 }
		initializer { name: "one" data_type: 7 int64_data: 1 }
		initializer { name: "yes" data_type: 9 int32_data: 1 }
		initializer { name: "ratio" data_type: 1 float_data: 0.5 } `
	text := `ir_version: 8 opset_import { version: 17 } opset_import { domain: "own" version: 1 } ` + functions + ` graph { name: "g" input ` +
		float("x", "4 3") + values + wrap + `node { op_type: "Mul" input: "y" input: "y" output: "s" }
		node { op_type: "ReduceMean" input: "s" output: "loss" attribute { name: "keepdims" i: 0 } } output ` + float("loss", "") + `}`
	g, err := Read(bytes.NewReader(fullModel(t, text)))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestTrainingInSubgraphs: batch statistics, dropout and next statistics are those of the same net
// without a subgraph around it, forward and backward.
func TestTrainingInSubgraphs(t *testing.T) {
	net := func(x, y string) string {
		return `node { op_type: "BatchNormalization" input: "` + x + `" input: "scale" input: "shift" input: "mean" input: "var" output: "n" attribute { name: "momentum" f: 0.75 } }
		node { op_type: "Dropout" input: "n" input: "ratio" output: "d" }
		node { op_type: "MatMul" input: "d" input: "w" output: "` + y + `" } `
	}
	bools := `name: "c" type { tensor_type { elem_type: 9 shape { } } }`
	loop := `node { op_type: "Loop" name: "l" input: "one" input: "" input: "x" output: "y" attribute { name: "body" g { name: "b"
		input { name: "i" type { tensor_type { elem_type: 7 shape { } } } } input { ` + bools + ` } input ` + float("v", "4 3") +
		net("v", "q") + `node { op_type: "Identity" input: "c" output: "c2" } output { name: "c2" type { tensor_type { elem_type: 9 shape { } } } } output ` + float("q", "4 3") + `} } } `
	branch := func(name, x string) string {
		return `attribute { name: "` + name + `" g { name: "` + name + `" ` + x + ` } } `
	}
	ifs := `node { op_type: "If" name: "i" input: "cond" output: "y" ` + branch("then_branch", net("x", "q")+"output "+float("q", "4 3")) +
		branch("else_branch", `node { op_type: "Neg" input: "x" output: "q2" } output `+float("q2", "4 3")) + `} node { op_type: "Greater" input: "total" input: "low" output: "cond" }
		node { op_type: "ReduceSum" input: "x" output: "total" attribute { name: "keepdims" i: 0 } } initializer { name: "low" data_type: 1 float_data: -100 } `
	scan := `node { op_type: "Unsqueeze" input: "x" input: "zero" output: "x3" } initializer { name: "zero" data_type: 7 dims: 1 int64_data: 0 }
		node { op_type: "Scan" name: "s" input: "x3" output: "y3" attribute { name: "num_scan_inputs" i: 1 } attribute { name: "body" g { name: "b" input ` + float("v", "4 3") +
		net("v", "q") + `output ` + float("q", "4 3") + `} } } node { op_type: "Squeeze" input: "y3" input: "zero" output: "y" } `
	inner := `node { op_type: "If" name: "j" input: "c" output: "q" ` + branch("then_branch", net("v", "r")+"output "+float("r", "4 3")) +
		branch("else_branch", `node { op_type: "Neg" input: "v" output: "r2" } output `+float("r2", "4 3")) + `} `
	nested := strings.Replace(loop, net("v", "q"), inner, 1)
	function := `functions { name: "F" domain: "own" input: "a" input: "scale" input: "shift" input: "mean" input: "var" input: "ratio" input: "w" output: "q" opset_import { version: 17 } ` + net("a", "q") + `}`
	call := `node { op_type: "F" domain: "own" input: "x" input: "scale" input: "shift" input: "mean" input: "var" input: "ratio" input: "w" output: "y" } `
	x := dtype.New(dtype.Float32, 4, 3)
	for i := range dtype.Slice[float32](x) {
		dtype.Slice[float32](x)[i] = float32(math.Sin(float64(7 * i)))
	}
	step := func(g *nn.Graph) map[string][]float64 {
		t.Helper()
		loss, err := g.Value("loss")
		if err != nil {
			t.Fatal(err)
		}
		var params []*nn.Param
		for p := range g.Params() {
			if p.Name() == "scale" || p.Name() == "shift" || p.Name() == "w" {
				params = append(params, p)
			}
		}
		s, err := g.Step(context.Background(), nn.Feed{"x": x}, nn.StepOptions{Loss: loss, Params: params, Train: true, Seed: 5, Count: 3})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Release()
		found := map[string][]float64{"loss": {s.Loss}}
		for p, d := range s.Grads {
			found["gradient of "+p.Name()], _ = dtype.Float64s(d)
		}
		for p, d := range s.States {
			found["next "+p.Name()], _ = dtype.Float64s(d)
		}
		return found
	}
	want := step(trainedIn(t, net("x", "y"), ""))
	if len(want) != 6 {
		t.Fatalf("the net alone gives %v", want)
	}
	grows := strings.NewReplacer(`input: "x" output: "y"`, `input: "few" output: "y"`, float("v", "4 3"), `{ name: "v" type { tensor_type { elem_type: 1 } } } `,
		net("v", "q"), net("x", "q"), "output "+float("q", "4 3"), `output { name: "q" type { tensor_type { elem_type: 1 } } } `).Replace(loop) +
		`initializer { name: "few" data_type: 1 dims: 1 dims: 3 float_data: 0 float_data: 0 float_data: 0 } `
	collects := strings.NewReplacer(`input: "x" output: "y"`, `output: "y3"`, "input "+float("v", "4 3"), "", net("v", "q"), net("x", "q"),
		`op_type: "Identity" input: "c"`, `op_type: "Less" input: "i" input: "one"`).Replace(loop) +
		`node { op_type: "ReduceSum" input: "y3" input: "zero" output: "y" attribute { name: "keepdims" i: 0 } } initializer { name: "zero" data_type: 7 dims: 1 int64_data: 0 } `
	for name, g := range map[string]*nn.Graph{
		"Loop whose state grows": trainedIn(t, grows, ""), "Loop that collects and stops by itself": trainedIn(t, collects, ""),
		"Loop": trainedIn(t, loop, ""), "If": trainedIn(t, ifs, ""), "Scan": trainedIn(t, scan, ""), "If in Loop": trainedIn(t, nested, ""),
		"If in Scan": trainedIn(t, strings.Replace(scan, net("v", "q"), `node { op_type: "Identity" input: "yes" output: "c" } `+inner, 1), ""),
		"function":   trainedIn(t, call, function),
	} {
		got := step(g)
		for k, w := range want {
			for i := range w {
				if len(got[k]) != len(w) || math.Abs(got[k][i]-w[i]) > 1e-5*(1+math.Abs(w[i])) {
					t.Errorf("%s: %s is %v, want %v", name, k, got[k], w)
					break
				}
			}
		}
	}
	// Twice through the loop moves the statistics twice.
	for _, text := range []string{loop, nested} {
		g := trainedIn(t, text, "")
		if err := g.Edit(func(e *nn.Edit) { e.SetData(e.Value("one"), dtype.Scalar(int64(2))) }); err != nil {
			t.Fatal(err)
		}
		if once, twice := want["next mean"][1], step(g)["next mean"]; len(twice) == 0 || math.Abs(once-twice[1]) < 1e-3 {
			t.Errorf("the mean moves to %v by one iteration and to %v by two", once, twice)
		}
		// Frozen statistics are used, and stay.
		if err := g.Edit(func(e *nn.Edit) {
			for _, p := range e.Params() {
				if p.Name() == "mean" || p.Name() == "var" {
					e.SetFrozen(p, true)
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		if got := step(g); got["next mean"] != nil && math.Abs(got["next mean"][1]-0.2) > 1e-6 {
			t.Errorf("a frozen mean moves to %v", got["next mean"])
		}
	}
}

// TestEndlessLoop: a loop of constants takes no time to load, and ends with its context.
func TestEndlessLoop(t *testing.T) {
	model := textModel(t, `initializer { name: "m" data_type: 7 int64_data: 9223372036854775807 } initializer { name: "v" data_type: 1 float_data: 1 }
		node { op_type: "Loop" name: "l" input: "m" input: "" input: "v" output: "y" attribute { name: "body" g { name: "b"
		input { name: "i" type { tensor_type { elem_type: 7 shape { } } } } input { name: "c" type { tensor_type { elem_type: 9 shape { } } } } input `+float("a", "")+
		`node { op_type: "Neg" input: "a" output: "b" } node { op_type: "Identity" input: "c" output: "c2" }
		output { name: "c2" type { tensor_type { elem_type: 9 shape { } } } } output `+float("b", "")+`} } } output `+float("y", ""))
	g, err := Read(bytes.NewReader(model))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	if _, err := g.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

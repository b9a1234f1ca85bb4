package onnxio

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"gorgonia.org/tensor"
)

// use loads a model and runs it on zeros, with symbols at size 1.
func use(model []byte) error {
	g, err := Read(bytes.NewReader(model))
	if err != nil {
		return err
	}
	var in []*tensor.Dense
	for _, v := range g.Inputs() {
		shape := v.Type().Sizes()
		for i, n := range shape {
			shape[i] = max(n, 1)
		}
		in = append(in, dtype.New(v.Type().DType, shape...))
	}
	_, err = g.Run(context.Background(), in...)
	return err
}

// TestHostileFiles: what small files claim ends in an error that says which node claims it.
func TestHostileFiles(t *testing.T) {
	x, y := "input "+float("x", "1 1 4 4"), "output "+float("y", "")
	ints := func(name, list string) string {
		dims := "dims: 1"
		if n := len(strings.Fields(list)); n > 1 {
			dims = "dims: 8"
		}
		return `initializer { name: "` + name + `" data_type: 7 ` + dims + " " + strings.ReplaceAll(" "+list, " ", " int64_data: ") + "} "
	}
	scalar := func(name, v string) string {
		return `initializer { name: "` + name + `" data_type: 7 int64_data: ` + v + "} "
	}
	for name, c := range map[string]struct{ graph, want string }{
		"sparse attribute without content": {`node { name: "n" op_type: "Constant" output: "y" attribute { name: "sparse_value" type: SPARSE_TENSOR } }`,
			"load: Constant n: attribute sparse_value: the sparse tensor has no values"},
		"tensor attribute without content": {`node { name: "n" op_type: "Constant" output: "y" attribute { name: "value" type: TENSOR } }`, "Constant n"},
		"SequenceConstruct of nothing":     {`node { name: "n" op_type: "SequenceConstruct" input: "" output: "s" } node { op_type: "ConcatFromSequence" input: "s" output: "y" attribute { name: "axis" i: 0 } }`, "SequenceConstruct n"},
		"Max":                              {x + `node { name: "n" op_type: "Max" input: "x" input: "" output: "y" }`, "Max n: input data"},
		"Min":                              {x + `node { name: "n" op_type: "Min" input: "x" input: "" output: "y" }`, "Min n: input data"},
		"Sum":                              {x + `node { name: "n" op_type: "Sum" input: "x" input: "" output: "y" }`, "Sum n: input data"},
		"Mean":                             {x + `node { name: "n" op_type: "Mean" input: "x" input: "" output: "y" }`, "Mean n: input data"},
		"pads": {x + ints("p", "0 0 0 9223372036854775807 0 0 0 9223372036854775807") + `node { name: "n" op_type: "Pad" input: "x" input: "p" output: "y" }`,
			"Pad n: adds 9223372036854775807 elements to axis 3"},
		"Range": {scalar("a", "-9223372036854775807") + scalar("b", "9223372036854775807") + scalar("d", "1") + `node { name: "n" op_type: "Range" input: "a" input: "b" input: "d" output: "y" }`,
			"Range n: cannot go from -9223372036854775807"},
		"Range down": {scalar("a", "9223372036854775807") + scalar("b", "-9223372036854775807") + scalar("d", "-1") + `node { name: "n" op_type: "Range" input: "a" input: "b" input: "d" output: "y" }`,
			"Range n: cannot go from 9223372036854775807"},
		"attribute of two types": {x + `node { name: "n" op_type: "MaxPool" input: "x" output: "y" attribute { name: "kernel_shape" type: INTS floats: 2 } }`,
			"MaxPool n: attribute kernel_shape: is declared as INTS, but has a value of type FLOATS"},
		"attribute without name":   {x + `node { name: "n" op_type: "Neg" input: "x" output: "y" attribute { i: 1 type: INT } }`, "Neg n: attribute #0 has no name"},
		"attribute of no function": {x + `node { name: "n" op_type: "Softmax" input: "x" output: "y" attribute { name: "axis" type: INT ref_attr_name: "a" } }`, "Softmax n: attribute axis refers to attribute a of a function"},
		"tensor with data twice":   {`initializer { name: "w" data_type: 6 dims: 1 raw_data: "abcd" int32_data: 5 } node { name: "n" op_type: "Neg" input: "w" output: "y" }`, `input w: tensor "w": data are in two fields, raw_data and int32_data`},
		"int8 of 300":              {`initializer { name: "w" data_type: 3 dims: 1 int32_data: 300 } node { name: "n" op_type: "Neg" input: "w" output: "y" }`, `input w: tensor "w": 300 is not a int8`},
		"uint8 of -1":              {`initializer { name: "w" data_type: 2 dims: 1 int32_data: -1 } node { name: "n" op_type: "Identity" input: "w" output: "y" }`, `input w: tensor "w": -1 is not a uint8`},
		"float16 of 17 bits":       {`initializer { name: "w" data_type: 10 dims: 1 int32_data: 70000 } node { name: "n" op_type: "Neg" input: "w" output: "y" }`, `input w: tensor "w": 70000 is not a float16`},
		"uint32 of 33 bits":        {`initializer { name: "w" data_type: 12 dims: 1 uint64_data: 4294967296 } node { name: "n" op_type: "Identity" input: "w" output: "y" }`, `input w: tensor "w": 4294967296 is not a uint32`},
		"hidden size": {"input " + float("s", "1 1 1") + "input " + float("W", "1 4 1") + "input " + float("R", "1 4 1") +
			`node { name: "n" op_type: "LSTM" input: "s" input: "W" input: "R" output: "y" attribute { name: "hidden_size" i: -3 } }`, "LSTM n: hidden_size is -3"},
		"kernel": {x + `node { name: "n" op_type: "MaxPool" input: "x" output: "y" attribute { name: "kernel_shape" ints: 1000000 ints: 1000000 } attribute { name: "pads" ints: 500000 ints: 500000 ints: 500000 ints: 500000 } }`, "MaxPool n: "},
		"kernel of many points": {x + `node { name: "n" op_type: "MaxPool" input: "x" output: "y" attribute { name: "kernel_shape" ints: 70000 ints: 70000 } attribute { name: "pads" ints: 35000 ints: 35000 ints: 35000 ints: 35000 } }`,
			"MaxPool n: a kernel of [70000 70000] has 4900000000 points, more than the input's 16"},
		"padding": {x + `node { name: "n" op_type: "AveragePool" input: "x" output: "y" attribute { name: "kernel_shape" ints: 1 ints: 1 } attribute { name: "strides" ints: 2000000000 ints: 1 } attribute { name: "pads" ints: 2000000000 ints: 0 ints: 0 ints: 0 } }`,
			"AveragePool n: padding [2000000000 0]"},
	} {
		if err := use(textModel(t, c.graph+y)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// A stride that passes over everything but the first window costs nothing.
	pool := x + `node { name: "n" op_type: "MaxPool" input: "x" output: "y" attribute { name: "kernel_shape" ints: 2 ints: 2 } attribute { name: "strides" ints: 2147483647 ints: 2147483647 } }`
	if err := use(textModel(t, pool+y)); err != nil {
		t.Error(err)
	}
}

// TestLoadMemory: what the tensors of a model take together is limited, external and sparse ones included.
func TestLoadMemory(t *testing.T) {
	sparse := ""
	for _, name := range []string{"a", "b", "c"} {
		sparse += `sparse_initializer { values { name: "` + name + `" data_type: 1 dims: 0 } dims: 1000 dims: 1000 } `
	}
	model := textModel(t, sparse+`node { name: "n" op_type: "Sum" input: "a" input: "b" input: "c" output: "y" } output `+float("y", ""))
	const nodes = nodeMemory + 4*valueMemory + 4*edgeMemory
	if _, err := (Loader{Memory: 12_000_000 + nodes}).Read(bytes.NewReader(model)); err != nil {
		t.Error(err)
	}
	if _, err := (Loader{Memory: 11_000_000 + nodes}).Read(bytes.NewReader(model)); err == nil || !strings.Contains(err.Error(), "input c: float32 of shape [1000 1000]: takes 4000000 bytes of memory, with 8003584 in use more than the limit of 11003584, which Loader.Memory sets") {
		t.Error(err)
	}
}

// TestNodeMemory: nodes that take a hundred times the bytes that they have in the file are limited, when they are loaded and when they run.
func TestNodeMemory(t *testing.T) {
	const count = 20_000
	var nodes strings.Builder
	for i := range count {
		fmt.Fprintf(&nodes, "node { op_type: \"Neg\" input: \"v%d\" output: \"v%d\" } ", i, i+1)
	}
	model := textModel(t, "input "+float("v0", "1")+nodes.String()+fmt.Sprintf("output { name: \"v%d\" }", count))
	if _, err := (Loader{Memory: 10 << 20}).Read(bytes.NewReader(model)); err == nil || !strings.Contains(err.Error(), "20000 nodes with 40000 inputs, outputs and attributes") {
		t.Error(err)
	}
	nn.LimitMemory(64 << 20)
	defer nn.LimitMemory(0)
	if err := use(model); err == nil || !strings.Contains(err.Error(), "lower: an expression graph of 20000 nodes: takes 81920000 bytes of memory") {
		t.Error(err)
	}
}

// TestGraphCharged: nodes, values and metadata of a graph are charged for as long as it is reachable.
func TestGraphCharged(t *testing.T) {
	const count = 20_000
	var nodes, meta strings.Builder
	for i := range count {
		fmt.Fprintf(&nodes, "node { op_type: \"Neg\" input: \"v%d\" output: \"v%d\" } ", i, i+1)
		fmt.Fprintf(&meta, "metadata_props { key: \"k%d\" value: \"v\" } ", i)
	}
	model := fullModel(t, "ir_version: 8 opset_import { version: 17 } "+meta.String()+"graph { name: \"g\" input "+float("v0", "1")+nodes.String()+fmt.Sprintf("output { name: \"v%d\" } }", count))
	used := func() int64 {
		for range 3 {
			runtime.GC()
		}
		return budget.Default() - budget.LeftCollected()
	}
	before := used()
	g, err := Read(bytes.NewReader(model))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := used()-before, int64(count*(nodeMemory+2*edgeMemory+entryMemory)); got < want {
		t.Errorf("%d bytes are charged, want %d", got, want)
	}
	runtime.KeepAlive(g)
	if g = nil; used()-before > 1<<20 {
		t.Errorf("%d bytes are charged for nothing", used()-before)
	}
	defer nn.LimitMemory(0)
	nn.LimitMemory(used() + 1<<20)
	if _, err := Read(bytes.NewReader(model)); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Error(err)
	}
}

// TestLoadedIsCharged: what remains of a model, the graph and what is kept for saving, is charged whole, whatever it is made of.
func TestLoadedIsCharged(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector allocates more")
	}
	const head = `ir_version: 8 opset_import { version: 17 } opset_import { domain: "own" version: 1 } `
	const node = `node { op_type: "Neg" input: "x" output: "%[2]s%[1]d" } `
	graph := func(nodes, output string) string {
		return ` graph { name: "g" input ` + float("x", "1") + nodes + `output ` + float(output, "1") + `}`
	}
	many := func(n int, item string) (s string) {
		for i := range n {
			s += fmt.Sprintf(item, i)
		}
		return s
	}
	functions := `functions { name: "F0" domain: "own" input: "x" output: "y" opset_import { version: 17 } node { op_type: "Neg" input: "x" output: "y" } } `
	for i := range 10 {
		functions += fmt.Sprintf(`functions { name: "F%d" domain: "own" input: "x" output: "y" opset_import { version: 17 } opset_import { domain: "own" version: 1 } node { op_type: "F%d" domain: "own" input: "x" output: "t" } node { op_type: "F%d" domain: "own" input: "t" output: "y" } } `, i+1, i, i)
	}
	for name, model := range map[string]string{
		"metadata":  many(5000, `metadata_props { key: "key%d" value: "a value" } `) + graph(fmt.Sprintf(node, 0, "y"), "y0"),
		"nodes":     graph(many(2000, `node { op_type: "Neg" input: "x" output: "y%d" } `), "y0"),
		"values":    graph(many(2000, `initializer { name: "w%[1]d" data_type: 1 dims: 1 float_data: 1 } node { op_type: "Add" input: "x" input: "w%[1]d" output: "y%[1]d" } `), "y0"),
		"functions": functions + graph(`node { op_type: "F10" domain: "own" input: "x" output: "y" } `, "y"),
	} {
		b := fullModel(t, head+model)
		allocated := func() int64 {
			var m runtime.MemStats
			for range 3 {
				runtime.GC()
			}
			budget.LeftCollected()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before, charged := allocated(), budget.Left()
		g, err := Read(bytes.NewReader(b))
		if err != nil {
			t.Fatal(name, err)
		}
		took, counted := allocated()-before, charged-budget.Left()
		runtime.KeepAlive(g)
		if counted < took {
			t.Errorf("%s: %d bytes are charged, and the model takes %d", name, counted, took)
		}
	}
}

// TestExpandingFunctions: functions that call functions end before they fill the memory.
func TestExpandingFunctions(t *testing.T) {
	functions := ""
	for i := range 9 {
		calls := ""
		for k := range 10 {
			calls += fmt.Sprintf(`node { op_type: "F%d" domain: "own" input: "a" output: "b%d" } `, i+1, k)
		}
		functions += fmt.Sprintf(`functions { name: "F%d" domain: "own" input: "a" output: "b0" opset_import { version: 17 } opset_import { domain: "own" version: 1 } %s } `, i, calls)
	}
	functions += `functions { name: "F9" domain: "own" input: "a" output: "b" opset_import { version: 17 } node { op_type: "Neg" input: "a" output: "b" } } `
	model := fullModel(t, `ir_version: 8 opset_import { version: 17 } opset_import { domain: "own" version: 1 } `+functions+
		` graph { name: "g" input `+float("x", "1")+` node { op_type: "F0" domain: "own" input: "x" output: "y" } output `+float("y", "1")+`}`)
	if _, err := Read(bytes.NewReader(model)); err == nil || !strings.Contains(err.Error(), "functions expand to more than") {
		t.Error(err)
	}
}

// TestCallsInCalls: lowering functions that call each other takes time in proportion to the nodes, however deep the calls are.
func TestCallsInCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector allocates more")
	}
	allocations := func(depth int) float64 {
		functions := ""
		for i := range depth {
			call := fmt.Sprintf(`node { op_type: "F%d" domain: "own" `, i+1)
			functions += fmt.Sprintf(`functions { name: "F%d" domain: "own" input: "a" output: "c" opset_import { version: 17 } opset_import { domain: "own" version: 1 } %s input: "a" output: "b" } %s input: "b" output: "c" } } `, i, call, call)
		}
		functions += fmt.Sprintf(`functions { name: "F%d" domain: "own" input: "a" output: "b" opset_import { version: 17 } node { op_type: "Neg" input: "a" output: "b" } } `, depth)
		g, err := Read(bytes.NewReader(fullModel(t, `ir_version: 8 opset_import { version: 17 } opset_import { domain: "own" version: 1 } `+functions+
			` graph { name: "g" input `+float("x", "1")+` node { op_type: "F0" domain: "own" input: "x" output: "y" } output `+float("y", "1")+`}`)))
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(1, func() {
			if _, err := g.Lower(nn.LowerOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	if small, large := allocations(4), allocations(9); large > 34*small { // 32 times as many nodes
		t.Errorf("%.0f allocations for 32 times as many nodes as %.0f: %.1f times as many", large, small, large/small)
	}
}

// TestExpandingSubgraphs: the nodes in subgraphs of functions count, too, and what a function holds is charged for each call.
func TestExpandingSubgraphs(t *testing.T) {
	long := ""
	for i := range 2000 {
		long += fmt.Sprintf(`node { op_type: "Neg" input: "a" output: "m%d" } `, i)
	}
	branch := func(name string) string {
		return `attribute { name: "` + name + `" type: GRAPH g { name: "t" ` + long + `node { op_type: "Neg" input: "a" output: "n" } output { name: "n" } } } `
	}
	calls := ""
	for i := range 40 {
		calls += fmt.Sprintf(`node { op_type: "F" domain: "own" input: "c" input: "x" output: "y%d" } `, i)
	}
	file := func(node string) []byte {
		return fullModel(t, `ir_version: 8 opset_import { version: 17 } opset_import { domain: "own" version: 1 }
			functions { name: "F" domain: "own" input: "c" input: "a" output: "b" opset_import { version: 17 } `+node+`}
			graph { name: "g" input { name: "c" type { tensor_type { elem_type: 9 shape { } } } } input `+float("x", "1")+calls+` output `+float("y0", "1")+`}`)
	}
	subgraphs := file(`node { op_type: "If" input: "c" output: "b" ` + branch("then_branch") + branch("else_branch") + `} `)
	if _, err := Read(bytes.NewReader(subgraphs)); err == nil || !strings.Contains(err.Error(), "functions expand to more than 131072 nodes") {
		t.Error(err)
	}
	described := file(`node { op_type: "Neg" input: "a" output: "b" doc_string: "` + strings.Repeat("x", 100_000) + `" } `)
	if _, err := (Loader{Memory: 5_000_000}).Read(bytes.NewReader(described)); err != nil {
		t.Error(err)
	}
	if _, err := (Loader{Memory: 3_000_000}).Read(bytes.NewReader(described)); err == nil || !strings.Contains(err.Error(), "function own.F: takes 100040 bytes of memory") {
		t.Error(err)
	}
}

// TestAttributeMemory: tensors in attributes are charged as initializers are.
func TestAttributeMemory(t *testing.T) {
	for name, value := range map[string]string{
		"sparse": `name: "sparse_value" type: SPARSE_TENSOR sparse_tensor { values { data_type: 1 dims: 0 } dims: 100 dims: 100 }`,
		"dense":  `name: "value" type: TENSOR t { data_type: 1 dims: 100 dims: 100 raw_data: "` + strings.Repeat(`\000`, 40_000) + `" }`,
	} {
		graph := ""
		for i := range 3 {
			graph += fmt.Sprintf(`node { name: "n%d" op_type: "Constant" output: "c%d" attribute { %s } } `, i, i, value)
		}
		model := textModel(t, graph+`node { name: "n" op_type: "Sum" input: "c0" input: "c1" input: "c2" output: "y" } output `+float("y", ""))
		const nodes = 4*nodeMemory + valueMemory + 10*edgeMemory
		if _, err := (Loader{Memory: 120_000 + nodes}).Read(bytes.NewReader(model)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := (Loader{Memory: 110_000 + nodes}).Read(bytes.NewReader(model)); err == nil || !strings.Contains(err.Error(), "Constant n2: ") || !strings.Contains(err.Error(), "float32 of shape [100 100]: takes 40000 bytes of memory, with 85888 in use") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNodeWithoutOutputs: edits of a model with a node all of whose outputs are absent.
func TestNodeWithoutOutputs(t *testing.T) {
	model := textModel(t, "input "+float("x", "2")+"output "+float("y", "2")+`node { name: "none" op_type: "Relu" input: "x" output: "" } node { name: "n" op_type: "Relu" input: "x" output: "y" }`)
	for name, c := range map[string]struct {
		edit  func(e *nn.Edit)
		nodes int // after the edit
	}{
		"simplify":     {func(e *nn.Edit) { e.Simplify() }, 1},
		"remove":       {func(e *nn.Edit) { e.Remove(e.Find(nn.Glob("none"))) }, 1},
		"repeat":       {func(e *nn.Edit) { e.Repeat(e.Find(nn.Glob("none")), e.Value("x")) }, 3},
		"replace":      {func(e *nn.Edit) { e.Replace(e.Find(nn.Glob("none")), layers.Tanh{}) }, 2},
		"operator set": {func(e *nn.Edit) { e.SetOpset(13) }, 2},
		"rename":       {func(e *nn.Edit) { e.Rename(func(s string) string { return "a/" + s }) }, 2},
		"activations":  {func(e *nn.Edit) { e.SwapActivations(layers.Tanh{}) }, 2},
		"after":        {func(e *nn.Edit) { e.Freeze(nn.Not(nn.After(e.Find(nn.Glob("none"))))) }, 2},
		"inference":    {func(e *nn.Edit) { e.InferenceMode(); e.TrainingMode(); e.Channels() }, 2},
	} {
		g, err := Read(bytes.NewReader(model))
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Edit(c.edit); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := g.Summary().Total.Nodes; n != c.nodes {
			t.Errorf("%s: %d nodes, want %d", name, n, c.nodes)
		}
		if err := g.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package op

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
)

// TestCallsAreChecked checks what a call refuses before calling its operator.
func TestCallsAreChecked(t *testing.T) {
	f, i64 := Shaped(dtype.Float32, 2), Shaped(dtype.Int64, 1)
	one := probe(func(o *Op) {
		o.Name, o.In, o.Out, o.Where = "One", "A T, B T, C any, D any", "Y T", Where{"T": {dtype.Float32}}
	})
	set := NewSet([]*Op{probe(nil), one, probe(func(o *Op) { o.Name, o.In, o.Where = "Free", "A U, B U, rest* V", nil })})
	for _, c := range []struct {
		want    string
		config  Config
		outputs int
		in      []Type
	}{
		{"", Plain("Probe"), 1, []Type{f}},
		{"", Plain("Probe"), 1, []Type{f, f, i64}},
		{"", Plain("Probe"), 1, []Type{f, {}, i64}},
		{"", Plain("Probe"), 5, []Type{f}},
		{"takes 3 inputs, got 4", Plain("Probe"), 1, []Type{f, f, i64, f}},
		{"input X: want a value, got nothing", Plain("Probe"), 1, nil},
		{"input X: want a value, got nothing", Plain("Probe"), 1, []Type{{}, f}},
		{"input X: want one of [float32 float64 int32 string], got int64[1]", Plain("Probe"), 1, []Type{i64}},
		{"input W: want float32, got float64[2]", Plain("Probe"), 1, []Type{f, f.Of(dtype.Float64)}},
		{"input I: want one of [int64], got float32[2]", Plain("Probe"), 1, []Type{f, f, f}},
		{"", one, 1, []Type{f, f, i64, f}},
		{"input D: want a value, got nothing", one, 1, []Type{f, f, i64}},
		{"gives 1 outputs, the node names 2", one, 2, []Type{f, f, i64, f}},
		{"", Plain("Free"), 1, []Type{i64, i64}},
		{"", Plain("Free"), 1, []Type{i64, i64, f, f}},
		{"input B: want int64, got float32[2]", Plain("Free"), 1, []Type{i64, f}},
		{"input rest: want float32, got int64[1]", Plain("Free"), 1, []Type{i64, i64, f, i64}},
		{"input rest: want a value, got nothing", Plain("Free"), 1, []Type{i64, i64, {}}},
	} {
		call, err := set.NewCall(c.config, c.in...)
		if err != nil {
			t.Fatal(err)
		}
		call.Outputs = c.outputs
		wants(t, fmt.Sprint(c.config, c.in), call.Resolve(), c.want)
		if c.want == "" && len(call.Out) != c.outputs {
			t.Errorf("%v: %d outputs, want %d", c.config, len(call.Out), c.outputs)
		}
	}
}

// TestTypesKnownInPart checks that where a value is missing, the types that could be inferred without
// it remain, one for each output of the node.
func TestTypesKnownInPart(t *testing.T) {
	o := probe(func(o *Op) {
		o.Name, o.In, o.Out, o.Where = "Part", "X T", "Y T, Z T, W T", nil
		o.Infer = func(c *Call) ([]Type, error) {
			n, err := c.Ints(0)
			if err != nil {
				return []Type{c.In[0]}, err
			}
			return []Type{c.In[0], Shaped(dtype.Int64, n...)}, nil
		}
	})
	call, err := NewSet([]*Op{o}).NewCall(Plain("Part"), Shaped(dtype.Int64, 2))
	if err != nil {
		t.Fatal(err)
	}
	call.Outputs = 3
	if i, need := Needs(call.Resolve()); !need || i != 0 || fmt.Sprint(call.Out) != "[int64[2] undefined[] undefined[]]" {
		t.Errorf("asks for input %d, %v: %v", i, need, call.Out)
	}
	if call.Known[0].Value, err = dtype.FromInts(dtype.Int64, []int{4, 5}, 2); err != nil {
		t.Fatal(err)
	}
	if err := call.Resolve(); err != nil || fmt.Sprint(call.Out) != "[int64[2] int64[4,5] undefined[]]" {
		t.Errorf("%v, %v", call.Out, err)
	}
}

// TestApplyKnows checks which values are known to an operator that is applied to nodes: constant integers.
func TestApplyKnows(t *testing.T) {
	var known []bool
	o := probe(func(o *Op) {
		o.In, o.Where = "X T, A? any, B? any, C? any", nil
		o.Infer = func(c *Call) ([]Type, error) {
			known = nil
			for _, k := range c.Known {
				known = append(known, k.Value != nil)
			}
			return []Type{c.In[0]}, nil
		}
	})
	g, set := gorgonia.NewGraph(), NewSet([]*Op{o})
	node := func(n *gorgonia.Node, err error) *gorgonia.Node {
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	integers, floats := dtype.New(dtype.Int64, 2), dtype.New(dtype.Float32, 2)
	x := node(Const(g, floats))
	variable := node(Input(g, "v", TypeOf(integers), integers))
	if _, err := set.ApplyN(1, o, x, nil, node(Const(g, integers)), variable); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(known); got != "[false false true false]" {
		t.Errorf("known values %s", got)
	}
	for _, in := range []gorgonia.Nodes{{x, gorgonia.NewConstant(integers)}, {gorgonia.NewConstant(floats), x}} { // Gorgonia's constants are in no graph
		out, err := set.ApplyN(1, o, in...)
		if err != nil {
			t.Fatal(err)
		}
		if out[0].Graph() != g {
			t.Error("the result is not in the graph of the input that has one")
		}
	}
	_, err := set.ApplyN(1, o, nil, nil)
	wants(t, "no node", err, "has no input from which to take the expression graph")
}

type bodyConfig struct {
	Then, Else Subgraph
	Size       int
	inner      Subgraph
}

func (bodyConfig) Operator() Name { return Name{Name: "Probe"} }

// aBody is told apart from none, and nothing more.
type aBody struct{ Subgraph }

func (aBody) Random() bool { return true }

// TestCallHas checks which outputs and subgraphs a call has.
func TestCallHas(t *testing.T) {
	c := Call{Op: probe(nil), Config: bodyConfig{}, Outputs: 3, Want: []bool{true, false}, In: []Type{{}, Shaped(dtype.Int8, 2)}}
	got := ""
	for i := range 5 {
		got += fmt.Sprint(i, c.Wants(i), c.Has(i), " ")
	}
	if want := "0truefalse 1falsetrue 2falsefalse 3falsefalse 4falsefalse "; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got %q, want %q", got, want)
	}
	if c.Want = nil; !c.Wants(2) || c.Wants(3) {
		t.Error("without a list all outputs are wanted, and no more")
	}
	if len(Bodies(c.Config)) != 0 || len(Bodies(bodyConfig{Else: aBody{}, inner: aBody{}})) != 1 || len(Bodies(Plain("Probe"))) != 0 {
		t.Error("subgraphs")
	}
	if c.Random() {
		t.Error("draws random numbers")
	}
	if c.Config = (bodyConfig{Then: aBody{}}); !c.Random() {
		t.Error("its subgraph draws random numbers")
	}
}

package op

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// firstInput infers every output as input 0.
func firstInput(c *Call) ([]Type, error) { return slices.Repeat([]Type{c.In[0]}, c.Outputs), nil }

// probe returns an operator with everything that a set demands, for tests to change.
func probe(change func(*Op)) *Op {
	o := &Op{
		Name: "Probe", Doc: "A test.", Since: []int{1, 7}, In: "X T, W? T weight, I? int64 shape", Out: "Y T, Z T, rest* T",
		Where: Where{"T": {dtype.Float32, dtype.Float64, dtype.Int32, dtype.String}}, Infer: firstInput, Kernel: CopyKernel, NoGrad: "a test", Pinned: "a test",
	}
	if change != nil {
		change(o)
	}
	return o
}

func wants(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: got %v, want %q in it", what, err, want)
	}
}

// TestValidate checks what a set requires of an operator.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*Op)
	}{
		{"", nil},
		{"", func(o *Op) { o.Name, o.Doc = "*", "" }},
		{"name or doc is empty", func(o *Op) { o.Doc = "" }},
		{"Since [] is not", func(o *Op) { o.Since = nil }},
		{"Since [7 1] is not", func(o *Op) { o.Since = []int{7, 1} }},
		{"Since [0 1] is not", func(o *Op) { o.Since = []int{0, 1} }},
		{"a step at version 3", func(o *Op) { o.Versions = []Version{{At: 3}} }},
		{"a step at version 7", func(o *Op) { o.Versions = []Version{{At: 7}, {At: 7}} }},
		{"", func(o *Op) { o.Versions = []Version{{At: 1}, {At: 7}} }},
		{"Infer is missing", func(o *Op) { o.Infer = nil }},
		{"want one of Kernel, Func and Lower, got 0", func(o *Op) { o.Kernel = nil }},
		{"want one of Kernel, Func and Lower, got 2", func(o *Op) { o.Lower = func(*Call, gorgonia.Nodes) (gorgonia.Nodes, error) { return nil, nil } }},
		{"Strings stands in for a Kernel", func(o *Op) {
			o.Func = func(_ *Call, in []dtype.Value) ([]dtype.Value, error) { return in, nil }
			o.Kernel, o.Strings = nil, o.Func
		}},
		{"got 0 of them", func(o *Op) { o.NoGrad = "" }},
		{"got 2 of them", func(o *Op) { o.GradMissing = "a test" }},
		{"reason why axes are pinned", func(o *Op) { o.Pinned = "" }},
		{"reason why axes are pinned", func(o *Op) { o.Couple = func(*Call) []coupling.Coupling { return nil } }},
		{`slot "X"`, func(o *Op) { o.In = "X" }},
		{`no role "weights"`, func(o *Op) { o.In = "X T weights" }},
		{"want a name, a type and perhaps a role", func(o *Op) { o.In = "X T weight more" }},
	} {
		o := probe(c.change)
		wants(t, c.want, Validate(o), c.want)
		if _, err := NewSet(nil).With(o); (err == nil) != (c.want == "") {
			t.Errorf("%q: a set takes it with %v", c.want, err)
		}
	}
}

func TestSlots(t *testing.T) {
	list := Slots("X T, W? T weight, S T state, I int64 shape, G T given, F T fixed, D T data, rest* any").List()
	var got []string
	for i := range 10 {
		s, ok := At(list, i)
		got = append(got, fmt.Sprint(s.Name, s.Role, s.Optional, s.Variadic, s.fixed, ok))
	}
	u := dtype.Undefined
	want := []string{
		fmt.Sprint("X", Data, false, false, u, true), fmt.Sprint("W", Weight, true, false, u, true), fmt.Sprint("S", State, false, false, u, true),
		fmt.Sprint("I", Shape, false, false, dtype.Int64, true), fmt.Sprint("G", given, false, false, u, true), fmt.Sprint("F", fixed, false, false, u, true),
		fmt.Sprint("D", Data, false, false, u, true), fmt.Sprint("rest", Data, false, true, u, true), fmt.Sprint("rest", Data, false, true, u, true),
		fmt.Sprint("rest", Data, false, true, u, true),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if s, ok := At(list[:2], 2); ok || s.Name != "" {
		t.Errorf("there is no third of two inputs, got %v", s)
	}
	if _, ok := At(nil, 0); ok || Slots("").List() != nil {
		t.Error("an empty line has inputs")
	}
	for v, want := range map[int]int{0: 0, 1: 1, 6: 1, 7: 7, 20: 7} {
		if got := probe(nil).Version(v); got != want {
			t.Errorf("version %d in operator set %d, want %d", got, v, want)
		}
	}
}

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

// emitted returns the first output of a call of o on inputs of the given types, which are variables.
func emitted(o *Op, outputs int, want []bool, types ...Type) (*gorgonia.Node, error) {
	g := gorgonia.NewGraph()
	set, err := NewSet(nil).With(o)
	if err != nil {
		return nil, err
	}
	call, err := set.NewCall(o, types...)
	if err != nil {
		return nil, err
	}
	call.Node, call.Outputs, call.Want = "n", outputs, want
	if err := call.Resolve(); err != nil {
		return nil, err
	}
	in := make(gorgonia.Nodes, len(types))
	for i, t := range types {
		if t.Present() {
			var v dtype.Value = &dtype.Strings{Dims: t.Sizes(), Elems: make([]string, t.Elements())}
			if t.DType != dtype.String {
				v = dtype.New(t.DType, t.Sizes()...)
			}
			if in[i], err = Input(g, fmt.Sprint("in", i), t, v); err != nil {
				return nil, err
			}
		}
	}
	out, err := Emit(g, call, in)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// TestGradients checks which inputs have gradients, by role and type, and when the gradient of one
// output is only a partial one.
func TestGradients(t *testing.T) {
	f, i64 := Shaped(dtype.Float32, 2), Shaped(dtype.Int64, 2)
	var outs, douts []bool
	present := func(list gorgonia.Nodes) (b []bool) {
		for _, n := range list {
			b = append(b, n != nil)
		}
		return b
	}
	grads := func(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
		outs, douts = present(out), present(dout)
		return gorgonia.Nodes{dout[slices.IndexFunc(dout, func(n *gorgonia.Node) bool { return n != nil })]}, nil
	}
	roles := func(o *Op) {
		o.NoGrad, o.Grad, o.Where = "", grads, nil
		o.In, o.Out = "X T, W T weight, S T state, H T shape, G T given, F T fixed, I int64", "Y T, Z U"
	}
	state := func(o *Op) { roles(o); o.State = func(*Call) []Update { return []Update{{Out: 1, In: 2}} } }
	stateless := func(o *Op) { roles(o); o.State = func(*Call) []Update { return nil } }
	none := func(o *Op) {
		o.In, o.Where = "X T, W T weight, S T state, H T shape, G T given, F T fixed, I int64", nil
	}
	integer := func(o *Op) { roles(o); o.Infer = func(*Call) ([]Type, error) { return []Type{i64}, nil } }
	for i, c := range []struct {
		change func(*Op)
		want   string
	}{{roles, "[true true true false false false false]"}, {state, "[true true false false false false false]"},
		{stateless, "[true true true false false false false]"},
		{none, "[false false false false false false false]"}, {integer, "[false false false false false false false]"}} {
		n, err := emitted(probe(c.change), 1, nil, f, f, f, f, f, f, i64)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(n.Op().(*expr).DiffWRT(7)); got != c.want {
			t.Errorf("%d: got %s, want %s", i, got, c.want)
		}
	}
	second := func(u Type) func(*Op) {
		return func(o *Op) {
			o.NoGrad, o.Grad, o.In, o.Out, o.Where = "", grads, "X T, W? T", "Y T, Z U", nil
			o.Infer = func(c *Call) ([]Type, error) { return []Type{c.In[0], u}[:c.Outputs], nil }
			o.Hidden = func(*Call) []Type { return []Type{f} }
		}
	}
	for i, c := range []struct {
		second  Type
		outputs int
		want    []bool
		part    bool
		outs    string
	}{
		{f, 2, nil, true, "[true true true]"}, {f, 2, []bool{true, false}, false, "[true false true]"},
		{i64, 2, nil, false, "[true true true]"}, {f, 1, nil, false, "[true false true]"},
	} {
		n, err := emitted(probe(second(c.second)), c.outputs, c.want, f, f)
		if err != nil {
			t.Fatal(err)
		}
		d, err := n.Op().(*expr).SymDiff(nil, nil, n)
		if err != nil {
			t.Fatal(err)
		}
		if len(d) != 2 || d[0] == nil || d[1] == nil { // Gorgonia wants a node for each, zeros where there is no gradient
			t.Fatalf("%d: gradients %v", i, d)
		}
		if _, part := partOf(d[0]); part != c.part {
			t.Errorf("%d: a part of a gradient: %v, want %v", i, part, c.part)
		}
		if got := fmt.Sprint(outs); got != c.outs || !douts[0] || len(douts) != c.outputs {
			t.Errorf("%d: the gradient was given outputs %s and gradients %v, want outputs %s", i, got, douts, c.outs)
		}
	}
	for outputs := 1; outputs <= 2; outputs++ {
		hidden, err := emitted(probe(second(f)), outputs, nil, f, f)
		if err != nil {
			t.Fatal(err)
		}
		if hidden, err = Sibling(hidden, 2); err != nil || slices.Contains(hidden.Op().(*expr).DiffWRT(2), true) {
			t.Errorf("a hidden output has no gradient: %v, %v", hidden, err)
		}
	}
	n, err := emitted(probe(func(o *Op) {
		second(f)(o)
		o.Grad = func(c *Call, in, _, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			return gorgonia.Nodes{nil, in[1], dout[0]}, nil
		}
	}), 1, nil, f, Shaped(dtype.Float32, 3))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := n.Op().(*expr).SymDiff(nil, nil, n); err != nil || !slices.Equal(d[1].Shape(), tensor.Shape{3}) {
		t.Errorf("got %v, %v", d, err)
	}
	n, err = emitted(probe(func(o *Op) {
		second(f)(o)
		o.Grad = func(c *Call, in, _, dout gorgonia.Nodes) (gorgonia.Nodes, error) { return gorgonia.Nodes{in[1]}, nil }
	}), 1, nil, f, Shaped(dtype.Float32, 3))
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Op().(*expr).SymDiff(nil, nil, n)
	wants(t, "shape", err, "gradient: Probe n: input X: want (2), got (3)")
}

// TestEmission checks what a call passes to the engine, and what an emission refuses.
func TestEmission(t *testing.T) {
	f := Shaped(dtype.Float32, 2)
	key := func(o *Op) string {
		n, err := emitted(o, 1, nil, f)
		if err != nil {
			t.Fatal(err)
		}
		c := n.Op().(*expr).core
		if (c.Kernel == nil) == (c.Func == nil) {
			t.Errorf("%v has a kernel %v, a function %v", o, c.Kernel != nil, c.Func != nil)
		}
		return c.Key
	}
	if k := key(probe(nil)); k == "" || k != key(probe(nil)) || k == key(probe(func(o *Op) { o.Name = "Other" })) {
		t.Errorf("equal calls are told by their keys, got %q", k)
	}
	if k := key(probe(func(o *Op) { o.Random = true })); k != "" {
		t.Errorf("two calls that draw numbers are one by key %q", k)
	}
	whole := func(_ *Call, in []dtype.Value) ([]dtype.Value, error) { return in[:1], nil }
	key(probe(func(o *Op) { o.Kernel, o.Func = nil, whole }))
	if k := key(probe(func(o *Op) { o.Attrs = nil })); !strings.HasPrefix(k, "Probe@7,false,1") {
		t.Errorf("the key is %q", k)
	}
	composite := probe(func(o *Op) {
		o.Kernel, o.NoGrad, o.Out = nil, "", "Y any" // kept whole where it is traced, since no gradient passes
		o.Infer = func(*Call) ([]Type, error) { return []Type{Shaped(dtype.Int64, 2)}, nil }
		o.Lower = func(c *Call, in gorgonia.Nodes) (gorgonia.Nodes, error) { return gorgonia.Nodes{in[0]}, nil }
	})
	if n, err := emitted(composite, 1, nil, f); err != nil || n.Op() != nil {
		t.Errorf("a composite operator emits its parts: got %v, %v", n, err)
	}
	text := Shaped(dtype.String, 2)
	for keep, want := range []bool{false, true} { // to be traced; where a gradient passes it is its parts then, too
		for _, out := range []Type{Shaped(dtype.Int64, 2), f} {
			c := composite
			c.Infer = func(*Call) ([]Type, error) { return []Type{out}, nil }
			c.Grad, c.GradMissing = nil, ""
			call, err := NewSet([]*Op{c}).NewCall(c, f)
			if err != nil {
				t.Fatal(err)
			}
			call.Keep = keep == 1
			if err := call.Resolve(); err != nil {
				t.Fatal(err)
			}
			x, err := Input(gorgonia.NewGraph(), "x", f, nil)
			if err != nil {
				t.Fatal(err)
			}
			n, err := Emit(x.Graph(), call, gorgonia.Nodes{x})
			if err != nil {
				t.Fatal(err)
			}
			if whole := n[0].Op() != nil; whole != (want && !Differentiable(out)) {
				t.Errorf("kept %v, of type %v: emitted whole %v", call.Keep, out, whole)
			}
		}
	}
	call := func(change func(*Op), in ...Type) error { _, err := emitted(probe(change), 1, nil, in...); return err }
	wants(t, "strings", call(nil, text), "Probe n: does not take strings or containers")
	wants(t, "strings", call(func(o *Op) { o.Strings = whole }, text), "")
	n, err := emitted(probe(func(o *Op) { o.Strings = whole }), 1, nil, text)
	if err != nil {
		t.Fatal(err)
	}
	if c := n.Op().(*expr).core; c.Func == nil || c.Kernel != nil {
		t.Error("strings meet a kernel of numbers")
	}
	bare := probe(nil)
	set := NewSet([]*Op{bare})
	bare.Kernel = nil
	_, err = set.Compute(1, bare, 0, dtype.New(dtype.Float32, 2))
	wants(t, "no kernel", err, "Probe: has no kernel")
	wants(t, "memory", call(func(o *Op) {
		o.Infer = func(*Call) ([]Type, error) { return []Type{Shaped(dtype.Float32, 1<<30, 1<<30)}, nil }
	}, f), "Probe n: would give float32[1073741824,1073741824], more than fits in memory")

	wants(t, "count", call(func(o *Op) {
		o.Infer = func(*Call) ([]Type, error) { return []Type{Shaped(dtype.Int8, 1<<62, 4)}, nil }
	}, f), "more than fits in memory")

	engine.LimitMemory(1000)
	defer engine.LimitMemory(0)
	wants(t, "all of it", call(nil, Shaped(dtype.Float32, 250)), "")
	wants(t, "more than it", call(nil, Shaped(dtype.Float32, 251)), "Probe n: would give float32[251], more than fits in memory")

	for view, want := range []int{0, 1} { // one that changes the shape alone passes on what follows it
		n, err := emitted(probe(func(o *Op) { o.Scheduling.View, o.Out = view == 1, "Y T" }), 1, nil, f)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(n.Op().(*expr).core.Patterns); got != want {
			t.Errorf("view %v: %d patterns, want %d", view == 1, got, want)
		}
	}

	n, err = emitted(probe(nil), 2, nil, f)
	if err != nil {
		t.Fatal(err)
	}
	if z, err := Sibling(n, 1); err != nil || !slices.Equal(z.Shape(), tensor.Shape{2}) || n.Name() != "n:0" || z.Name() != "n:1" {
		t.Errorf("output 1 is %v, %v", z, err)
	}
	_, err = Sibling(n, 2)
	wants(t, "output 2", err, "Probe n: has no output 2")
	_, err = Sibling(Children(n)[0], 0)
	wants(t, "input", err, "is not the output of an ONNX operator")
}

type probeConfig struct {
	Axis  int     `onnx:"axis,default=1"`
	Alpha float32 `onnx:"alpha,since=7"`
	Size  []int   `onnx:"size,required"`
}

func (probeConfig) Operator() Name { return Name{Name: "Probe"} }

type typeConfig struct {
	To DType `onnx:"to"`
}

func (typeConfig) Operator() Name { return Name{Name: "Probe"} }

// TestAttributes checks defaults, versions, and unknown or missing attributes.
func TestAttributes(t *testing.T) {
	o := probe(func(o *Op) { o.Attrs = probeConfig{} })
	size := []int64{2}
	for _, c := range []struct {
		version    int
		attrs      map[string]any
		want, text string
	}{
		{7, map[string]any{"size": size}, "{1 0 [2]}", ""},
		{7, map[string]any{"size": size, "axis": int64(0), "alpha": float32(2)}, "{0 2 [2]}", ""},
		{1, map[string]any{"size": size, "consumed_inputs": size}, "{1 0 [2]}", ""},
		{5, map[string]any{"size": size, "consumed_inputs": size}, "{1 0 [2]}", ""},
		{6, map[string]any{"size": size, "consumed_inputs": size}, "", "attribute consumed_inputs is unknown in version 6"},
		{6, map[string]any{"size": size, "alpha": float32(2)}, "", "attribute alpha does not exist in version 6"},
		{7, map[string]any{"axis": int64(2)}, "", "attribute size is missing"},
		{7, map[string]any{"size": size, "axes": size}, "", "attribute axes is unknown in version 7"},
		{7, map[string]any{"size": size, "axis": "1"}, "", "attribute axis: "},
	} {
		cfg, err := o.Decode(c.version, c.attrs)
		wants(t, fmt.Sprint(c.attrs), err, c.text)
		if c.text == "" && fmt.Sprint(cfg) != c.want {
			t.Errorf("%v: got %v, want %s", c.attrs, cfg, c.want)
		}
	}
	if got := Fill(probeConfig{Alpha: 3}); fmt.Sprint(got) != "{1 3 []}" {
		t.Errorf("defaults: %v", got)
	}
	if got := Fill(probeConfig{Axis: 2}); fmt.Sprint(got) != "{2 0 []}" {
		t.Errorf("what is given stays: %v", got)
	}
	if got := Fill(Plain("Probe")); got != Plain("Probe") {
		t.Errorf("a name has no defaults: %v", got)
	}
	for n, want := range map[int64]string{0: "", 1<<31 - 1: "", -1: "-1 is out of range", 1 << 31: "2147483648 is out of range"} {
		typed := probe(func(o *Op) { o.Attrs = typeConfig{} })
		cfg, err := typed.Decode(7, map[string]any{"to": n})
		wants(t, fmt.Sprint("type ", n), err, want)
		if want == "" && cfg.(typeConfig).To != DType(n) {
			t.Errorf("type %d is read as %v", n, cfg)
		}
	}
	wants(t, "alpha", Available(6, probeConfig{Alpha: 3}), "attribute alpha needs version 7, the graph has version 6")
	wants(t, "alpha", Available(7, probeConfig{Alpha: 3}), "")
	wants(t, "alpha", Available(6, probeConfig{}), "")
	if got := fmt.Sprint(Encode(6, probeConfig{Axis: 1, Alpha: 3, Size: []int{2}}), Encode(7, probeConfig{Axis: 3, Alpha: 3})); got != "[{size [2]}] [{axis 3} {alpha 3}]" {
		t.Errorf("written as %s", got)
	}
	set := NewSet([]*Op{o})
	_, err := set.Complete(Plain("Probe"))
	wants(t, "bare", err, "Probe has required attributes: give its configuration")
	_, err = set.Complete(Plain("Absent"))
	wants(t, "absent", err, `there is no operator "Absent"`)
	if got, err := set.Complete(probeConfig{}); err != nil || fmt.Sprint(got) != "{1 0 []}" {
		t.Errorf("completed to %v, %v", got, err)
	}
	if o.declares("beta") || !o.declares("axis") || probe(nil).declares("axis") {
		t.Error("declared attributes")
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

// TestTypeSizes checks the methods of types.
func TestTypeSizes(t *testing.T) {
	for _, c := range []struct {
		t      Type
		static bool
	}{
		{Shaped(dtype.Float32, 2, 3, 4), true}, {Shaped(dtype.Int8), true}, {T(dtype.Int8, D(2), Unknown()), false}, {Type{}, false},
		{Type{DType: dtype.Int8, Unranked: true}, false}, {Type{Kind: Sequence, DType: dtype.Int8}, false}, {T(dtype.Undefined, D(1)), false},
		{T(dtype.Int8, Sym("N")), false}, {T(dtype.Int8, Dim{2, "N"}), true},
	} {
		if c.t.Static() != c.static {
			t.Errorf("%v is static: %v", c.t, !c.static)
		}
	}
	if n := Shaped(dtype.Float32, 2, 3, 4).Elements(); n != 24 {
		t.Errorf("%d elements, want 24", n)
	}
	if n := Shaped(dtype.Float32).Elements(); n != 1 {
		t.Errorf("%d elements, want 1", n)
	}
	if n := (&Op{}).Latest(); n != 1 {
		t.Errorf("the latest version of an operator without any is %d", n)
	}
	if n := probe(nil).Latest(); n != 7 {
		t.Errorf("the latest version is %d, want 7", n)
	}
	_, err := NewSet(nil).With(nil)
	wants(t, "nil", err, "an operator has no name")
	_, err = NewSet(nil).With(&Op{})
	wants(t, "no name", err, "an operator has no name")
}

// TestZeroRules checks when a result is zero because inputs are, see ZeroInputs.
func TestZeroRules(t *testing.T) {
	const all = "---|-z-|--z|-zz|z--|zz-|z-z|zzz" // which of three inputs are zero, all tied
	rules := map[string]struct {
		rule func(*Call, ZeroInputs) bool
		want string
	}{
		"first":  {ZeroFirst, "00001111"},
		"any":    {ZeroAny, "01111111"},
		"all":    {ZeroAll, "00000001"},
		"parts":  {ZeroParts, "00000001"},
		"affine": {ZeroAffine, "00010001"},
		"layer":  {ZeroLayer, "00010011"},
	}
	for name, r := range rules {
		got := ""
		for _, zeros := range strings.Split(all, "|") {
			got += fmt.Sprint(map[bool]int{true: 1}[r.rule(&Call{In: make([]Type, 3)}, func(i int) (bool, bool) { return zeros[i] == 'z', true })])
		}
		if got != r.want {
			t.Errorf("%s: got %s, want %s", name, got, r.want)
		}
	}
	for i, c := range []struct {
		zero, tied [3]bool
		parts      bool
		layer      bool
	}{
		{[3]bool{false, true, true}, [3]bool{false, true, true}, true, true},
		{[3]bool{false, true, true}, [3]bool{true, false, true}, false, false},
		{[3]bool{true, false, true}, [3]bool{false, true, true}, false, false},
		{[3]bool{true, false, true}, [3]bool{true, false, true}, true, true},
	} {
		in := func(i int) (bool, bool) { return c.zero[i], c.tied[i] }
		if p, l := ZeroParts(&Call{In: make([]Type, 3)}, in), ZeroLayer(nil, in); p != c.parts || l != c.layer {
			t.Errorf("%d: parts %v, layer %v", i, p, l)
		}
	}
}

package op

import (
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

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
	wants(t, "more than it", call(nil, Shaped(dtype.Float32, 251)), "Probe n: would give float32[251]: takes 1004 bytes of memory")

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

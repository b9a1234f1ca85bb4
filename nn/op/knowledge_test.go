package op

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// said formats a result or the error in its place.
func said(v any, err error) string {
	if i, ok := Needs(err); ok {
		return fmt.Sprint("needs ", i)
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(v)
}

// TestKnown: what a call says of an input, by what is known of it.
func TestKnown(t *testing.T) {
	vector := Shaped(dtype.Int64, 2)
	ints := func(v ...int) *tensor.Dense {
		d, err := dtype.FromInts(dtype.Int64, v, len(v))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	floats, err := dtype.FromFloats(dtype.Float32, []float64{2, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	var none *tensor.Dense
	text := &dtype.Strings{Dims: []int{2}, Elems: []string{"a", "b"}}
	for name, c := range map[string]struct {
		known                             Known
		typ                               Type
		dims, ints, value, numbers, equal string
		exact                             bool
	}{
		"nothing":              {Known{}, vector, "needs 1", "needs 1", "needs 1", "?", "?", true},
		"a value":              {Known{Value: ints(3, -1)}, vector, "[3 ?]", "[3 -1]", "[3 -1]", "[3 -1]", "?", true},
		"equal elements":       {Known{Value: ints(4, 4)}, vector, "[4 4]", "[4 4]", "[4 4]", "[4 4]", "4", true},
		"no elements":          {Known{Value: ints()}, Shaped(dtype.Int64, 0), "[]", "[]", "[]", "[]", "?", true},
		"a nil tensor":         {Known{Value: none}, vector, "input W: want integers, got int64[2]", "input W: want integers, got int64[2]", "", "?", "?", true},
		"strings":              {Known{Value: text}, Shaped(dtype.String, 2), "input W: want integers, got string[2]", "input W: want integers, got string[2]", "strings", "?", "?", true},
		"numbers, not ints":    {Known{Value: floats}, floats2(), "input W: want integers, got float32[2]", "input W: want integers, got float32[2]", "[2 2]", "[2 2]", "2", true},
		"lengths":              {Known{Dims: Dims(3, 0)}, vector, "[3 0]", "[3 0]", "[3 0]", "?", "?", true},
		"a symbol":             {Known{Dims: []Dim{Sym("N"), D(2)}}, vector, "[N 2]", "needs 1", "needs 1", "?", "?", true},
		"a symbol, size known": {Known{Dims: []Dim{{5, "N"}, D(2)}}, vector, "[N 2]", "[5 2]", "[5 2]", "?", "?", true},
		"an unknown length":    {Known{Dims: []Dim{Unknown(), D(2)}}, vector, "[? 2]", "needs 1", "[-1 2]", "?", "?", false},
		"−1, a number":         {Known{Dims: []Dim{D(-1), D(2)}, Exact: true}, vector, "[? 2]", "needs 1", "[-1 2]", "?", "?", true},
		"−1 of a value":        {Known{Dims: []Dim{D(-1), D(2)}, Value: ints(-1, 2)}, vector, "[? 2]", "[-1 2]", "[-1 2]", "[-1 2]", "?", true},
		"a length":             {Known{Dims: Dims(7)}, Shaped(dtype.Int32), "[7]", "[7]", "[7]", "?", "?", true},
	} {
		call := &Call{Op: probe(nil), In: []Type{vector, c.typ}, Known: []Known{{}, c.known}}
		d, err := call.Dims(1)
		if got := said(d, err); !strings.HasSuffix(got, c.dims) {
			t.Errorf("%s: dims %s, want %s", name, got, c.dims)
		}
		if got := call.Exact(1, d); err == nil && got != c.exact {
			t.Errorf("%s: exact %v", name, got)
		}
		n, err := call.Ints(1)
		if got := said(n, err); !strings.HasSuffix(got, c.ints) {
			t.Errorf("%s: ints %s, want %s", name, got, c.ints)
		}
		v, err := call.Value(1)
		if v == dtype.Value(text) {
			err = errors.New("strings")
		}
		if d, ok := v.(*tensor.Dense); ok && d != nil {
			if got := said(dtype.Float64s(d)); got != c.value {
				t.Errorf("%s: value %s, want %s", name, got, c.value)
			}
		} else if got := said("", err); got != c.value {
			t.Errorf("%s: value %s, want %s", name, got, c.value)
		}
		numbers, equal := "?", "?"
		if x, ok := call.Numbers(1); ok {
			numbers = fmt.Sprint(x)
		}
		if x, ok := call.Uniform(1); ok {
			equal = fmt.Sprint(x)
		}
		if numbers != c.numbers || equal != c.equal {
			t.Errorf("%s: numbers %s, all of them %s, want %s, %s", name, numbers, equal, c.numbers, c.equal)
		}
	}
	// Inputs that the call does not have.
	call := &Call{Op: probe(nil), In: []Type{vector}, Known: []Known{{Dims: []Dim{Unknown()}}}}
	for _, i := range []int{-1, 1} {
		if call.Exact(i, []Dim{D(1)}) {
			t.Errorf("what is known of input %d is exact", i)
		}
	}
	if call.Exact(0, []Dim{Unknown()}) || !call.Exact(0, Dims(1)) {
		t.Error("an unknown length is exact, or a known one is not")
	}
	for name, err := range map[string]error{"dims": second(call.Dims(1)), "ints": second(call.Ints(1)), "value": second(call.Value(1))} {
		if i, ok := Needs(err); !ok || i != 1 || err.Error() != "the value of input W is not known yet" {
			t.Errorf("%s of an input that is absent: %v", name, err)
		}
	}
	if _, ok := call.Numbers(1); ok {
		t.Error("numbers of an input that is absent")
	}
	if i, ok := Needs(fmt.Errorf("around: %w", &NeedError{Input: 3})); !ok || i != 3 {
		t.Errorf("a wrapped error asks for %d, %v", i, ok)
	}
	if i, ok := Needs(errors.New("other")); ok || i != 0 {
		t.Errorf("another error asks for %d, %v", i, ok)
	}
}

func floats2() Type { return Shaped(dtype.Float32, 2) }

func second[T any](_ T, err error) error { return err }

// TestAxes: axes counted from either end, in order, each once.
func TestAxes(t *testing.T) {
	c := &Call{Op: probe(nil)}
	for axis, want := range map[int]string{
		-4: "Probe: axis -4 is outside of [-3, 2]", -3: "0", -1: "2", 0: "0", 2: "2", 3: "Probe: axis 3 is outside of [-3, 2]",
	} {
		a, err := c.Axis(axis, 3)
		if got := said(a, err); got != want {
			t.Errorf("axis %d: %s, want %s", axis, got, want)
		}
	}
	for want, axes := range map[string][]int{
		"[0 1 2]": {2, -3, 1}, "[]": {}, "Probe: axis 2 is given twice": {0, 2, -1}, "Probe: axis 3 is outside of [-3, 2]": {0, 3}, "[1]": {-2},
	} {
		a, err := c.Axes(axes, 3)
		if got := said(a, err); got != want {
			t.Errorf("axes %v: %s, want %s", axes, got, want)
		}
	}
	for want, shapes := range map[string][][]Dim{
		"[]": {}, "[2 3]": {Dims(3), Dims(2, 1)}, "[N 2 3]": {{Sym("N"), D(1), D(3)}, Dims(2, 1)}, "[0]": {Dims(1), Dims(0)},
		"Probe: shapes [[2,3] [2]] do not broadcast: dimension 1 is 3 and 2": {Dims(2, 3), Dims(2)},
	} {
		s, err := c.Broadcast(shapes...)
		if got := said(s, err); got != want {
			t.Errorf("%v broadcast to %s, want %s", shapes, got, want)
		}
	}
	for want, in := range map[string][]Type{
		"2": {Shaped(dtype.Int8, 2, 3)}, "0": {Shaped(dtype.Int8)}, "Probe: input X: want a value, got nothing": {{}},
		"Probe: input X: want a known rank, got int8": {{DType: dtype.Int8, Unranked: true}},
	} {
		n, err := (&Call{Op: probe(nil), In: in}).Rank(0)
		if got := said(n, err); got != want {
			t.Errorf("rank of %v: %s, want %s", in, got, want)
		}
	}
	if v, ok := DimsValue(Dims(4), Shaped(dtype.Int32)); !ok || v.Dims() != 0 {
		t.Errorf("a scalar length is %v, %v", v, ok)
	}
	if v, ok := DimsValue(Dims(4, 5), Shaped(dtype.Int64, 2)); !ok || !v.Shape().Eq(tensor.Shape{2}) {
		t.Errorf("lengths are %v, %v", v, ok)
	}
	if _, ok := DimsValue([]Dim{Sym("N")}, Shaped(dtype.Int64, 1)); ok {
		t.Error("a symbol has a value")
	}
}

// TestResizing: the axis that changes, what is kept on it, and what is put in.
func TestResizing(t *testing.T) {
	for _, c := range []struct {
		in   []Resized
		want int
	}{
		{nil, -1}, {[]Resized{{}}, -1}, {[]Resized{{Old: []int{2, 3, 4}, New: []int{2, 5, 6}}}, 1}, {[]Resized{{Old: []int{2}, New: []int{2, 3}}}, -1},
		{[]Resized{{Old: []int{3}, New: []int{2}}}, 0}, {[]Resized{{Old: []int{2, 3}}, {Old: []int{1}, New: []int{2}}}, -1},
	} {
		if got := (&Resizing{In: c.in}).Changed(); got != c.want {
			t.Errorf("%v: axis %d, want %d", c.in, got, c.want)
		}
	}
	r := Resized{Kept: [][]int{nil, {0, 2}}}
	for axis, want := range map[int]string{-1: "[]", 0: "[]", 1: "[0 2]", 2: "[]"} {
		if got := fmt.Sprint(r.KeptOn(axis)); got != want {
			t.Errorf("kept on axis %d: %s, want %s", axis, got, want)
		}
	}
	var z Resizing
	z.Put(1, []int{4})
	z.Put(2, []int{5})
	z.KeepFirst(0, 3)
	z.KeepFirst(1, 2)
	if fmt.Sprint(z.Set, z.First) != "map[1:[4] 2:[5]] map[0:3 1:2]" {
		t.Errorf("got %v and %v", z.Set, z.First)
	}
}

// TestWindow: the window's size comes from a weight that is known.
func TestWindow(t *testing.T) {
	with := func(w *Window) *Op {
		return probe(func(o *Op) { o.Traits.Window = func(*Call) *Window { return w } })
	}
	weight := Shaped(dtype.Float32, 4, 3, 5, 2)
	for _, c := range []struct {
		o    *Op
		in   []Type
		want string
	}{
		{probe(nil), nil, "none"}, {with(nil), nil, "none"},
		{with(&Window{Kernel: []int{3}}), nil, "[3]"}, {with(&Window{Weight: 1, Kernel: []int{3}}), []Type{{}}, "[]"},
		{with(&Window{Weight: 1}), []Type{{}, weight}, "[5 2]"}, {with(&Window{Weight: 1}), []Type{{}, weight.With(D(4), Sym("N"), D(3))}, "[]"},
		{with(&Window{Weight: 1}), []Type{{}, Shaped(dtype.Float32, 4, 3)}, "[]"}, {with(&Window{Weight: 1}), []Type{{}, Shaped(dtype.Float32, 4, 3, 7)}, "[7]"},
	} {
		got := "none"
		if w := (&Call{Op: c.o, In: c.in}).Window(); w != nil {
			got = fmt.Sprint(w.Kernel)
		}
		if got != c.want {
			t.Errorf("%v of %v: %s, want %s", c.o, c.in, got, c.want)
		}
	}
	if (*Call)(nil).Window() != nil || (&Call{}).Window() != nil || (&Call{}).Draws() {
		t.Error("a call of nothing has a window, or draws")
	}
	random := probe(func(o *Op) { o.Random = true })
	never := probe(func(o *Op) { o.Random, o.Traits.Draws = true, func(*Call) bool { return false } })
	if !(&Call{Op: random}).Draws() || (&Call{Op: never}).Draws() || (&Call{Op: probe(nil)}).Draws() {
		t.Error("which calls draw numbers")
	}
}

// TestCouplings: what an axis of an input is coupled with, aligned as broadcasting does.
func TestCouplings(t *testing.T) {
	f := func(sizes ...int) Type { return Shaped(dtype.Float32, sizes...) }
	text := func(c *Call, i int) string {
		var list []string
		for _, k := range CoupleAll(c, i) {
			list = append(list, fmt.Sprint(k.From.Slot, ".", k.From.Axis, "-", k.To.Axis))
		}
		return strings.Join(list, " ")
	}
	call := &Call{In: []Type{f(2, 3, 4), f(3, 1), {}, f(1, 1, 2, 3, 4)}, Out: []Type{f(2, 3, 4)}}
	for i, want := range map[int]string{-1: "", 0: "0.0-0 0.1-1 0.2-2", 1: "1.0-1", 2: "", 3: "3.2-0 3.3-1 3.4-2", 4: ""} {
		if got := text(call, i); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("input %d: %s, want %s", i, got, want)
		}
	}
	if n := len(Elementwise(call)); n != 7 {
		t.Errorf("%d couplings of all inputs, want 7", n)
	}
	if text(nil, 0) != "" || text(&Call{In: call.In}, 0) != "" || Elementwise(nil) != nil {
		t.Error("a call of nothing couples axes")
	}
}

// TestEvalValues: strings and containers are passed on, a nil tensor is an absent value.
func TestEvalValues(t *testing.T) {
	var got []dtype.Value
	o := probe(func(o *Op) {
		o.In, o.Where, o.Kernel = "X T, W? any", nil, nil
		o.Func = func(_ *Call, in []dtype.Value) ([]dtype.Value, error) { got = in; return in[:1], nil }
	})
	text := &dtype.Strings{Dims: []int{1}, Elems: []string{"a"}}
	var none *tensor.Dense
	call, err := NewSet([]*Op{o}).NewCall(o, TypeOf(text), floats2())
	if err != nil {
		t.Fatal(err)
	}
	if err := call.Resolve(); err != nil {
		t.Fatal(err)
	}
	out, err := Eval(call, []dtype.Value{text, none})
	if err != nil || len(out) != 1 || out[0] != dtype.Value(text) {
		t.Errorf("got %v, %v", out, err)
	}
	if len(got) != 2 || got[0] != dtype.Value(text) || got[1] != nil {
		t.Errorf("the operator was given %v", got)
	}
	for _, c := range []*Call{nil, {}} {
		if _, err := Eval(c, nil); err == nil {
			t.Error("a call of nothing is computed")
		}
		if _, err := Emit(gorgonia.NewGraph(), c, nil); err == nil {
			t.Error("a call of nothing is emitted")
		}
	}
}

// TestScopes: a composite operator emits its subgraphs into the scope around it, if that is the same expression graph.
func TestScopes(t *testing.T) {
	g, other := gorgonia.NewGraph(), gorgonia.NewGraph()
	var seen []Scope
	o := probe(func(o *Op) {
		o.Kernel, o.NoGrad = nil, ""
		o.Lower = func(c *Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
			seen = append(seen, c.Scope(g), c.Scope(other))
			return in[:1], nil
		}
	})
	call, err := NewSet([]*Op{o}).NewCall(o, floats2())
	if err != nil {
		t.Fatal(err)
	}
	call.Train = true
	if err := call.Resolve(); err != nil {
		t.Fatal(err)
	}
	x, err := Input(g, "x", floats2(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := EmitInto(Scope{Graph: g}, call, gorgonia.Nodes{x}); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || seen[0].Graph != g || seen[0].Train || seen[1].Graph != other || !seen[1].Train {
		t.Errorf("scopes %+v", seen)
	}
	if s := call.Scope(g); s.Graph != g || !s.Train {
		t.Errorf("outside of a scope: %+v", s)
	}
}

package op

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
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

package conformance

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func from[T any](t *testing.T, v []T, shape ...int) *tensor.Dense {
	t.Helper()
	d, err := dtype.FromSlice(v, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The cross-entropy of two rows and its gradient by hand.
func TestCrossEntropy(t *testing.T) {
	e := math.E
	logits := from(t, []float64{1000, 1001, 1001, 0, 0, math.Log(2)}, 2, 3)
	loss, grad, err := crossEntropy(logits, []int{0, 2})
	if want := (math.Log(1+2*e) + math.Log(2)) / 2; err != nil || math.Abs(loss-want) > 1e-12 {
		t.Errorf("loss %v, want %v, %v", loss, want, err)
	}
	s := 2 * (1 + 2*e)
	want := []float64{1/s - 0.5, e / s, e / s, 0.125, 0.125, -0.25}
	for i, g := range dtype.Slice[float64](grad) {
		if math.Abs(g-want[i]) > 1e-12 {
			t.Errorf("gradient %d is %v, want %v", i, g, want[i])
		}
	}
	for want, c := range map[string]struct {
		d      *tensor.Dense
		labels []int
	}{
		"output 0 has shape (2, 3), there are 1 labels": {logits, []int{0}}, "output 0 has shape (6), there are 6 labels": {from(t, make([]float32, 6), 6), make([]int, 6)},
		"label 3 is not in [0, 3)": {logits, []int{0, 3}}, "label -1 is not in [0, 3)": {logits, []int{-1, 0}},
	} {
		if _, _, err := crossEntropy(c.d, c.labels); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestFloats checks which values have gradients, and that the default gradient of an output is one.
func TestFloats(t *testing.T) {
	for name, c := range map[string]struct {
		v    dtype.Value
		want bool
	}{
		"nothing": {nil, false}, "no tensor": {(*tensor.Dense)(nil), false}, "integers": {dtype.New(dtype.Int64, 2), false}, "texts": {&dtype.Strings{}, false}, "float32": {dtype.New(dtype.Float32, 2), true}, "float16": {dtype.New(dtype.Float16, 1), true},
	} {
		if _, ok := isFloat(c.v); ok != c.want {
			t.Errorf("%s: %v", name, ok)
		}
	}
	d, err := ones(dtype.New(dtype.Float64, 2, 1))
	if err != nil || !slices.Equal(dtype.Slice[float64](d), []float64{1, 1}) || !slices.Equal(d.Shape(), []int{2, 1}) {
		t.Error(d, err)
	}
}

// A gradient is compared with each figure of its summary, within a ten-thousandth of the norms; one that is to vanish may have ten times as much.
func TestJudge(t *testing.T) {
	x := from(t, []float64{3, -4}, 2)
	good := goldenOne{Shape: []int{2}, L1: 7, L2: 5, Sum: -1, MaxAbs: 4, Head: []float64{3, -4}}
	with := func(f func(w *goldenOne)) goldenOne {
		w := good
		w.Head = slices.Clone(good.Head)
		f(&w)
		return w
	}
	for want, c := range map[string]struct {
		w    goldenOne
		got  any
		zero float64
	}{
		"": {good, x, 1e-6}, " ": {with(func(w *goldenOne) { w.L2 *= 1.00009 }), x, 0}, "  ": {with(func(w *goldenOne) { w.Head = nil }), x, 0}, "   ": {with(func(w *goldenOne) { w.Head[0] += 3.9e-4; w.Sum += 6.9e-4 }), x, 0},
		"is missing": {good, nil, 0}, "want shape [2], got (2, 1)": {good, from(t, []float64{3, -4}, 2, 1), 0}, "has NaN": {good, from(t, []float64{3, math.NaN()}, 2), 0},
		"l2: want 5.00055, got 5": {with(func(w *goldenOne) { w.L2 = 5.00055 }), x, 0}, "l2: want 4.99945, got 5": {with(func(w *goldenOne) { w.L2 = 4.99945 }), x, 0}, "l1: want 7.0008, got 7": {with(func(w *goldenOne) { w.L1 = 7.0008 }), x, 0},
		"sum: want -0.999, got -1": {with(func(w *goldenOne) { w.Sum = -0.999 }), x, 0}, "max_abs: want 4.0005, got 4": {with(func(w *goldenOne) { w.MaxAbs = 4.0005 }), x, 0},
		"element 1: want -4.0005, got [-4]": {with(func(w *goldenOne) { w.Head = []float64{3, -4.0005} }), x, 0}, "element 2: want 0, got []": {with(func(w *goldenOne) { w.Head = []float64{3, -4, 0} }), x, 0},
		"want zero, got a norm of 5": {with(func(w *goldenOne) { w.L2 = 0.4 }), x, 0.4}, "    ": {with(func(w *goldenOne) { w.L2 = 0.5 }), x, 0.5}, "l1: want 9, got 7": {with(func(w *goldenOne) { w.L1 = 9 }), x, 4.9},
	} {
		err := c.w.judge(c.got, c.zero)
		if want := strings.TrimSpace(want); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestPlainValue checks how values of Gorgonia's machine become the values that are compared.
func TestPlainValue(t *testing.T) {
	for name, c := range map[string]struct {
		v    gorgonia.Value
		want string
	}{"tensor": {from(t, []float32{1}, 1), "[1]"}, "scalar": {gorgonia.NewF64(3), "3"}} {
		got, err := plainValue(c.v)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, %v, want %s", name, got, err, c.want)
		}
	}
	if _, err := plainValue(nil); err == nil || err.Error() != "a <nil> cannot be compared" {
		t.Error(err)
	}
}

// TestMatchOutputs checks that outputs of a data set are matched by name if there are fewer than the
// model has, otherwise by position.
func TestMatchOutputs(t *testing.T) {
	v := dtype.New(dtype.Float32, 1)
	named := func(names ...string) (list []onnxio.NamedValue) {
		for _, n := range names {
			list = append(list, onnxio.NamedValue{Name: n, Value: v})
		}
		return list
	}
	for _, c := range []struct {
		given []string
		want  string // which have a value
	}{{[]string{"b"}, "[false true false]"}, {[]string{"c", "a"}, "[true false true]"}, {[]string{"a", "b", "c"}, "[true true true]"}, {[]string{"", "", ""}, "[true true true]"}, {[]string{"b", "b"}, "error"}, {[]string{"d"}, "error"}, {nil, "error"}} {
		got, err := matchOutputs([]string{"a", "b", "c"}, named(c.given...))
		text := "error"
		if err == nil {
			var there []bool
			for _, x := range got {
				there = append(there, x.Value != nil)
			}
			text = fmt.Sprint(there)
		}
		if text != c.want {
			t.Errorf("%q: %s, want %s, %v", c.given, text, c.want, err)
		}
	}
}

// TestIsRandom checks which values depend on random numbers: by the operator and its inputs, through
// nodes and subgraphs.
func TestIsRandom(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		x, training := e.Input("x", "float32[N,2]"), e.Input("training", "bool[]")
		noise := e.Node(std.RandomNormalLikeConfig{}, x).Out(0)
		e.Output("sum", e.Node(op.Plain("Add"), e.Node(op.Plain("Relu"), x).Out(0), noise).Out(0))
		e.Output("plain", e.Node(op.Plain("Clip"), e.Node(op.Plain("Relu"), x).Out(0), nil, e.Const("most", from(t, []float32{3}))).Out(0))
		e.Output("dropped", e.Node(std.DropoutConfig{}, x, nil, training).Out(0))
		e.Output("same", e.Node(op.Plain("Identity"), x).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	yes, no := tensor.New(tensor.FromScalar(true)), tensor.New(tensor.FromScalar(false))
	for name, want := range map[string][2]bool{"sum": {true, true}, "plain": {false, false}, "dropped": {true, false}, "same": {false, false}} {
		for i, v := range g.Outputs() {
			if v.Name() != name {
				continue
			}
			if got := [2]bool{isRandom(g.Outputs()[i], nn.Feed{"training": yes}), isRandom(g.Outputs()[i], nn.Feed{"training": no})}; got != want {
				t.Errorf("%s: random in training and not: %v, want %v", name, got, want)
			}
		}
	}
}

// The time of a suite is that of its cases together.
func TestJUnitTime(t *testing.T) {
	var b strings.Builder
	if err := WriteJUnit(&b, "s", []Result{{Case: "a", OK: true, Seconds: 0.25}, {Case: "b", OK: true, Seconds: 0.5}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`tests="2" failures="0" skipped="0" time="0.750"`, `name="a" classname="s" time="0.250"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s lacks %s", b.String(), want)
		}
	}
}

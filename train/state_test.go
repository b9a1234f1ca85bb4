package train

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

func numbers(t *testing.T, d *tensor.Dense) []float64 {
	t.Helper()
	x, err := dtype.Float64s(d)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestStateFollowsCuts checks that optimizer state is cut along with the weight, on the axes that its slots declare.
func TestStateFollowsCuts(t *testing.T) {
	matrix := func() *tensor.Dense {
		d, err := dtype.FromFloats(dtype.Float32, []float64{0, 1, 2, 10, 11, 12}, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	column, err := dtype.FromFloats(dtype.Float32, []float64{5, 6}, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		axis   int
		keep   []int
		matrix []float64
		column []float64
	}{
		{0, []int{1}, []float64{10, 11, 12}, []float64{6}},
		{1, []int{2, 0}, []float64{2, 0, 12, 10}, []float64{5, 6}},
		{1, []int{1, -1}, []float64{1, 0, 11, 0}, []float64{5, 6}},
		{0, []int{0, 1, -1}, []float64{0, 1, 2, 10, 11, 12, 0, 0, 0}, []float64{5, 6, 0}},
	} {
		p := &nn.Param{}
		s := &state{shape: []int{2, 3}, typ: dtype.Float32, grad: matrix(), has: true, ema: matrix(), slots: []optim.Slot{
			{Name: "whole", Data: matrix(), Axes: []int{0, 1}},
			{Name: "rows", Data: dtype.Clone(column), Axes: []int{0, -1}},
		}}
		all := states{params: map[*nn.Param]*state{p: s}}
		change := func(c nn.Change) {
			t.Helper()
			if err := all.change(c); err != nil {
				t.Fatal(err)
			}
		}
		for _, none := range []int{-1, 2} { // axes that the parameter does not have
			change(nn.Change{Kind: nn.ParamCut, Param: p, Axis: none, Keep: []int{0}})
			if !slices.Equal(s.shape, []int{2, 3}) || !slices.Equal(numbers(t, s.ema), numbers(t, matrix())) || !s.has {
				t.Errorf("axis %d: %+v", none, s)
			}
		}
		change(nn.Change{Kind: nn.ParamCut, Param: p, Axis: c.axis, Keep: c.keep})
		if !slices.Equal(numbers(t, s.ema), numbers(t, matrix())) || !slices.Equal(s.shape, []int{2, 3}) {
			t.Errorf("axis %d: the state before has shape %v", c.axis, s.shape)
		}
		s = all.params[p]
		if got := numbers(t, s.slots[0].Data); !slices.Equal(got, c.matrix) {
			t.Errorf("axis %d, keep %v: %v, want %v", c.axis, c.keep, got, c.matrix)
		}
		if got := numbers(t, s.slots[1].Data); !slices.Equal(got, c.column) {
			t.Errorf("axis %d, keep %v: rows %v, want %v", c.axis, c.keep, got, c.column)
		}
		s.begin(zeros(t, s.shape...)) // new weights are zero, and averages begin there
		if !slices.Equal(numbers(t, s.ema), c.matrix) {
			t.Errorf("axis %d, keep %v: average %v", c.axis, c.keep, s.ema)
		}
		if s.shape[c.axis] != len(c.keep) || s.grad != nil || s.has {
			t.Errorf("axis %d, keep %v: shape %v, gradient %v", c.axis, c.keep, s.shape, s.grad)
		}
		change(nn.Change{Kind: nn.ParamChanged, Param: p})
		if len(all.params) != 0 {
			t.Error("the state of a parameter that was replaced stays")
		}
	}
}

// TestCutCharged: what a state takes after a cut is charged before, and after an error the state from before is whole.
func TestCutCharged(t *testing.T) {
	const n = 1 << 13
	p := &nn.Param{}
	s := &state{shape: []int{n, 8}, typ: dtype.Float32, ema: dtype.New(dtype.Float32, n, 8), slots: []optim.Slot{{Name: "m", Data: dtype.New(dtype.Float32, n, 8), Axes: []int{0, 1}}}}
	all := states{params: map[*nn.Param]*state{p: s}}
	keep := make([]int, n-1)
	for i := range keep {
		keep[i] = i
	}
	if all := budget.Left() + 1; budget.Charge(all) == nil { // what other tests left is released
		budget.Discharge(all)
	}
	for range 3 {
		runtime.GC()
	}
	used := budget.Default() - budget.LeftCollected()
	defer budget.Limit(0)
	for _, c := range []struct {
		fits int64
		want string
	}{{n, "m: 8191 indices of a tensor of shape (8192, 8): takes 262112 bytes of memory"}, {40 * n, "8191 indices of a tensor of shape (8192, 8)"}, {70 * n, ""}} {
		budget.Limit(used + c.fits)
		err := all.change(nn.Change{Kind: nn.ParamCut, Param: p, Axis: 0, Keep: keep})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d bytes: %v, want %s", c.fits, err, c.want)
		}
		if now := all.params[p]; (now == s) != (err != nil) || s.shape[0] != n || s.slots[0].Data.Shape()[0] != n || now.shape[0] != now.ema.Shape()[0] {
			t.Errorf("%d bytes: shape %v", c.fits, now.shape)
		}
	}
}

// TestStateFile checks that state files round-trip, and that damaged ones are refused.
func TestStateFile(t *testing.T) {
	x, err := dtype.FromFloats(dtype.Float64, []float64{1, 2.5, -3}, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	scalar := dtype.Scalar(float32(4))
	var b writer
	if err := writeState(&b, map[string]*tensor.Dense{"x": x, "s": scalar}, map[string]string{"k": "v"}); err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/a.state"
	for n := 0; n <= len(b); n++ {
		b[:n].save(t, path)
		got, text, err := readState(path)
		if n < len(b) {
			if err == nil {
				t.Errorf("%d bytes of %d are no error", n, len(b))
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(numbers(t, got["x"]), numbers(t, x)) || !got["x"].Shape().Eq(x.Shape()) || numbers(t, got["s"])[0] != 4 || len(got["s"].Shape()) != 0 || text["k"] != "v" {
			t.Errorf("read %v, %v", got, text)
		}
	}
	for _, head := range []string{
		`{"x":{"dtype":"F64","shape":[1000000000000],"data_offsets":[0,24]}}`,
		`{"x":{"dtype":"F64","shape":[-3],"data_offsets":[0,24]}}`,
		`{"x":{"dtype":"F64","shape":[3],"data_offsets":[-8,16]}}`,
		`{"x":{"dtype":"F99","shape":[3],"data_offsets":[0,24]}}`,
		`{"x":7}`, `[]`, `{"__metadata__":3}`,
	} {
		var w writer
		w = append(w, byte(len(head)), 0, 0, 0, 0, 0, 0, 0)
		w = append(append(w, head...), make([]byte, 24)...)
		w.save(t, path)
		if _, _, err := readState(path); err == nil {
			t.Errorf("%s is no error", head)
		}
	}
}

// zeros returns a parameter of zeros.
func zeros(t *testing.T, shape ...int) *nn.Param {
	t.Helper()
	g := nn.New("zeros")
	if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Param("w", initial.Zeros{}, shape...)) }); err != nil {
		t.Fatal(err)
	}
	for p := range g.Params() {
		return p
	}
	return nil
}

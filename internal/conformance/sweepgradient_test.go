package conformance_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// TestSweepGradients differentiates the random models of TestSweep, in float64, and compares each
// gradient with differences of what the model computes.
func TestSweepGradients(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of random models")
	}
	for _, family := range sweeps {
		for _, name := range slices.Sorted(maps.Keys(family)) {
			t.Run(name, func(t *testing.T) {
				judged := 0
				for i := range *sweepTrials {
					r := &draw{Rand: rand.New(rand.NewPCG(*sweepSeed, uint64(i)))}
					c := family[name](r)
					s, err := newSlope(t, r, network{c})
					if err != nil {
						continue // not in float64, or not differentiable
					}
					judged += s.judge(t, fmt.Sprintf("%d: %s", i, c), r)
				}
				t.Logf("%d gradients", judged)
			})
		}
	}
}

// TestSweepNetworkGradients does so for the random networks of TestSweepNetworks.
func TestSweepNetworkGradients(t *testing.T) {
	if testing.Short() {
		t.Skip("random networks")
	}
	judged := 0
	for i := *networkFrom; i < *networkFrom+*networks; i++ {
		r := &draw{Rand: rand.New(rand.NewPCG(*sweepSeed, uint64(i))), smooth: true}
		w := r.network(t)
		if s, err := newSlope(t, r, w); err == nil {
			judged += s.judge(t, fmt.Sprintf("%d: %s", i, w), r)
		} else if testing.Verbose() {
			t.Logf("%d: %s: %v", i, w, err)
		}
	}
	t.Logf("%d gradients", judged)
}

// slope is a network in float64 with a loss after it, a weighted sum of its outputs.
type slope struct {
	g     *nn.Graph
	feed  nn.Feed
	at    map[string]*tensor.Dense // what is differentiated: fed inputs and initializers
	grads nn.Feed
}

// plainNumbers are floating-point inputs without a gradient: they choose sizes or places.
var plainNumbers = map[string][]int{"Resize": {1, 2}, "Upsample": {1}, "RoiAlign": {1}}

func newSlope(t *testing.T, r *draw, w network) (*slope, error) {
	s := &slope{feed: nn.Feed{}, at: map[string]*tensor.Dense{}}
	for n, c := range w {
		if o := std.Operators().Find(c.domain, c.op); o == nil || o.NoGrad != "" && len(w) == 1 || o.GradMissing != "" {
			return nil, errors.New("says that it has no gradient")
		}
		for i, a := range c.in {
			if a.value == nil || c.from[i] != "" {
				continue
			}
			smooth := !slices.Contains(plainNumbers[c.op], i)
			v, name := r.generic(a.value, smooth), inputName(n*stride+i)
			c.in[i].value = v
			if !a.constant {
				s.feed[name] = v
			}
			if d, ok := v.(*tensor.Dense); ok && d.Dtype() == tensor.Float64 && smooth {
				s.at[name] = d
			}
		}
	}
	var err error
	if s.g, err = onnxio.Read(bytes.NewReader(w.model(t, r))); err != nil {
		return nil, err
	}
	out, err := s.g.Eval(t.Context(), s.feed)
	if err != nil {
		return nil, err
	}
	for name, v := range out {
		if len(w) > 1 && !(magnitude(v) < 1e4) {
			return nil, fmt.Errorf("%s is too large for differences", name)
		}
	}
	if err := s.g.Edit(func(e *nn.Edit) { addSlope(e, r, w.ends(), out) }); err != nil {
		return nil, err
	}
	s.grads, err = s.g.Grad(t.Context(), s.feed, "loss", slices.Sorted(maps.Keys(s.at))...)
	return s, err
}

// generic is v in float64, moved away from whole numbers, where kinks are, and without ties.
func (r *draw) generic(v dtype.Value, move bool) dtype.Value {
	d, ok := v.(*tensor.Dense)
	if !ok || d.Dtype() != tensor.Float32 && d.Dtype() != tensor.Float64 {
		return v
	}
	wide := must(dtype.ConvertTo(dtype.Float64, d)).(*tensor.Dense)
	if x := dtype.Slice[float64](wide); move {
		for i, k := range r.Perm(len(x)) {
			x[i] += 0.01 + 0.02*float64(k)/float64(len(x))
		}
	}
	return wide
}

// addSlope makes "loss", a weighted sum of those of the outputs that are numbers.
func addSlope(e *nn.Edit, r *draw, ends []string, out nn.Feed) {
	no := false
	var loss *nn.Value
	for _, v := range e.Outputs() {
		y, ok := out[v.Name()].(*tensor.Dense)
		if !ok || y.Dtype() != tensor.Float64 || !slices.Contains(ends, v.Name()) {
			continue
		}
		weights := make([]float64, y.Shape().TotalSize())
		for i := range weights {
			weights[i] = r.Float64() - 0.3
		}
		d, err := dtype.FromSlice(weights, y.Shape()...)
		e.Fail(err)
		x := e.Node(op.Plain("Mul"), v, e.Const("weights", d)).Out(0)
		x = e.Node(std.ReduceSumConfig{KeepDims: &no}, x).Out(0)
		if loss != nil {
			x = e.Node(op.Plain("Add"), loss, x).Out(0)
		}
		loss = x
	}
	if loss == nil {
		e.Fail(errors.New("no output is a number"))
		return
	}
	e.Output("loss", loss)
}

// judge compares directional derivatives and says how many.
func (s *slope) judge(t *testing.T, what string, r *draw) int {
	t.Helper()
	judged := 0
	for _, name := range slices.Sorted(maps.Keys(s.at)) {
		x := s.at[name]
		way := make([]float64, x.Shape().TotalSize())
		for i := range way {
			way[i] = r.NormFloat64()
		}
		got := 0.0
		for i, g := range dtype.Slice[float64](s.grads[name].(*tensor.Dense)) {
			got += g * way[i]
		}
		far, err1 := s.difference(t, name, way, 2e-6)
		near, err2 := s.difference(t, name, way, 1e-6)
		if err1 != nil || err2 != nil || !finite(far) || !finite(near) {
			continue
		}
		scale := math.Max(1, math.Abs(near))
		if math.Abs(far-near) > 1e-6*scale {
			continue // a kink is within the step
		}
		judged++
		if !(math.Abs(got-near) <= 1e-5*scale) {
			t.Errorf("%s: derivative by %s is %.8g, want %.8g", strings.TrimSpace(what), name, got, near)
		}
	}
	return judged
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// difference returns the central difference of the loss along way, with steps of h.
func (s *slope) difference(t *testing.T, name string, way []float64, h float64) (float64, error) {
	x := dtype.Slice[float64](s.at[name])
	old := slices.Clone(x)
	defer copy(x, old)
	var at [2]float64
	for k, sign := range []float64{-1, 1} {
		for i := range x {
			x[i] = old[i] + sign*h*way[i]
		}
		g := s.g
		if _, fed := s.feed[name]; !fed {
			g = nntest.Clone(t, s.g)
			if err := g.Edit(func(e *nn.Edit) { e.SetData(e.Value(name), dtype.Clone(s.at[name])) }); err != nil {
				return 0, err
			}
		}
		out, err := g.Eval(t.Context(), s.feed, "loss")
		if err != nil {
			return 0, err
		}
		if at[k] = dtype.Slice[float64](out["loss"].(*tensor.Dense))[0]; math.Abs(at[k]) > 1e4 {
			return 0, errors.New("the loss is too large for differences")
		}
	}
	return (at[1] - at[0]) / (2 * h), nil
}

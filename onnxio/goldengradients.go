package onnxio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// goldenFile is gradients.json: summaries of gradients that were computed in float64.
type goldenFile struct {
	Loss         string               `json:"loss"`
	LossValue    *float64             `json:"loss_value"`
	Labels       []int                `json:"labels"`
	Initializers map[string]goldenOne `json:"initializers"`
	Inputs       map[string]goldenOne `json:"inputs"`
}

// goldenOne summarizes one gradient; Head are its first elements.
type goldenOne struct {
	Shape  []int     `json:"shape"`
	L1     float64   `json:"l1"`
	L2     float64   `json:"l2"`
	Sum    float64   `json:"sum"`
	MaxAbs float64   `json:"max_abs"`
	Head   []float64 `json:"head"`
}

// What a gradient in float32 may be off, relative to its norms, and below which share of the
// largest norm in the file it counts as zero.
const (
	gradientTolerance = 1e-4
	gradientZero      = 1e-6
	lossName          = "graft_verify_loss"
)

// gradients verifies whatever golden gradients the case has.
func (r *caseRun) gradients(ctx context.Context) (found bool, err error) {
	b, err := fs.ReadFile(r.fsys, "gradients.json")
	if err == nil {
		return true, r.golden(ctx, b)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return true, err
	}
	return r.setGradients(ctx)
}

func (r *caseRun) golden(ctx context.Context, b []byte) error {
	var want goldenFile
	if err := json.Unmarshal(b, &want); err != nil {
		return fmt.Errorf("gradients.json: %w", err)
	}
	if !strings.Contains(want.Loss, "softmax cross-entropy of output 0") {
		return fmt.Errorf("gradients.json: the loss %q is not known", want.Loss)
	}
	if len(r.sets) == 0 {
		return errors.New("gradients: the case has no data set")
	}
	g, set, err := r.withLoss(r.sets[0], func(m *lossBuilder) error { return m.crossEntropy(want.Labels) })
	if err != nil {
		return fmt.Errorf("gradients: %w", err)
	}
	wrt := append(slices.Sorted(maps.Keys(want.Initializers)), slices.Sorted(maps.Keys(want.Inputs))...)
	got, err := r.differentiate(ctx, g, set, wrt)
	if err != nil {
		return fmt.Errorf("gradients: %w", err)
	}
	var errs []error
	if want.LossValue != nil {
		if x, ok := number(got[lossName]); !ok || math.Abs(x-*want.LossValue) > gradientTolerance*max(1, math.Abs(*want.LossValue)) {
			errs = append(errs, fmt.Errorf("loss: want %g, got %g", *want.LossValue, x))
		}
	}
	zero := 0.0
	for _, set := range []map[string]goldenOne{want.Initializers, want.Inputs} {
		for _, w := range set {
			zero = max(zero, gradientZero*w.L2)
		}
	}
	for _, name := range wrt {
		w, ok := want.Initializers[name]
		if !ok {
			w = want.Inputs[name]
		}
		if err := w.judge(got[name], zero); err != nil {
			errs = append(errs, fmt.Errorf("gradient of %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// judge compares a gradient with its summary. One whose norm is below zero is rounding noise.
func (w goldenOne) judge(got any, zero float64) error {
	d, ok := got.(*tensor.Dense)
	if !ok {
		return errors.New("is missing")
	}
	if !slices.Equal([]int(d.Shape()), w.Shape) {
		return fmt.Errorf("want shape %v, got %v", w.Shape, d.Shape())
	}
	x, err := dtype.Float64s(d)
	if err != nil {
		return err
	}
	var l1, l2, sum, top float64
	for _, v := range x {
		l1, l2, sum, top = l1+math.Abs(v), l2+v*v, sum+v, max(top, math.Abs(v))
		if math.IsNaN(v) {
			return errors.New("has NaN")
		}
	}
	l2 = math.Sqrt(l2)
	if w.L2 <= zero {
		if l2 > 10*zero { // float32 rounds more than float64
			return fmt.Errorf("want zero, got a norm of %g", l2)
		}
		return nil
	}
	for _, c := range []struct {
		what             string
		got, want, scale float64
	}{{"l2", l2, w.L2, w.L2}, {"l1", l1, w.L1, w.L1}, {"sum", sum, w.Sum, w.L1}, {"max_abs", top, w.MaxAbs, w.MaxAbs}} {
		if math.Abs(c.got-c.want) > gradientTolerance*c.scale {
			return fmt.Errorf("%s: want %g, got %g", c.what, c.want, c.got)
		}
	}
	for i, h := range w.Head {
		if i >= len(x) || math.Abs(x[i]-h) > gradientTolerance*w.MaxAbs {
			return fmt.Errorf("element %d: want %g, got %v", i, h, x[i:min(i+1, len(x))])
		}
	}
	return nil
}

// setGradients verifies the gradients in data sets: of the outputs, weighted by gradient_input_N
// or by one, for the parameters that gradient_N are named after.
func (r *caseRun) setGradients(ctx context.Context) (found bool, err error) {
	for _, name := range r.sets {
		has, err := fs.Glob(r.fsys, name+"/gradient_[0-9]*.pb")
		if err != nil || len(has) == 0 {
			continue
		}
		if err := r.setGradient(ctx, name); err != nil {
			return true, fmt.Errorf("gradients: %s: %w", name, err)
		}
		found = true
	}
	return found, nil
}

func (r *caseRun) setGradient(ctx context.Context, name string) error {
	g, set, err := r.withLoss(name, func(m *lossBuilder) error { return m.weighted() })
	if err != nil {
		return err
	}
	var wrt []string
	for _, v := range set.Gradients {
		if v.Value != nil {
			wrt = append(wrt, v.Name)
		}
	}
	got, err := r.differentiate(ctx, g, set, wrt)
	if err != nil {
		return err
	}
	for _, w := range set.Gradients {
		if w.Value == nil {
			continue
		}
		tol := Tolerance{Rtol: DefaultTolerance.Rtol}
		if d, ok := w.Value.(*tensor.Dense); ok {
			x, err := dtype.Float64s(d)
			if err != nil {
				return err
			}
			for _, v := range x {
				tol.Atol = max(tol.Atol, gradientTolerance*math.Abs(v))
			}
		}
		if _, err := tol.Compare(got[w.Name], w.Value); err != nil {
			return fmt.Errorf("gradient of %s: %w", w.Name, err)
		}
	}
	return nil
}

// differentiate computes the gradients of the loss and writes them out if they are wanted.
func (r *caseRun) differentiate(ctx context.Context, g *nn.Graph, set *DataSet, wrt []string) (nn.Feed, error) {
	feed, err := feedOf(g, set.Inputs)
	if err != nil {
		return nil, err
	}
	got, err := g.Grad(ctx, feed, lossName, wrt...)
	if err != nil || r.Dump == "" {
		return got, err
	}
	dir := filepath.Join(r.Dump, filepath.FromSlash(r.Name), "gradients")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for i, name := range wrt {
		if err := writeNamed(filepath.Join(dir, fmt.Sprintf("%d.pb", i)), Named{name, got[name]}); err != nil {
			return nil, err
		}
	}
	return got, nil
}

func number(v any) (float64, bool) {
	d, ok := v.(*tensor.Dense)
	if !ok {
		return math.NaN(), false
	}
	x, err := dtype.Float64s(d)
	if err != nil || len(x) != 1 {
		return math.NaN(), false
	}
	return x[0], true
}

package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
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

// goldenOne summarizes one gradient; Head has its first elements.
type goldenOne struct {
	Shape  []int     `json:"shape"`
	L1     float64   `json:"l1"`
	L2     float64   `json:"l2"`
	Sum    float64   `json:"sum"`
	MaxAbs float64   `json:"max_abs"`
	Head   []float64 `json:"head"`
}

// The tolerance of a float32 gradient relative to its norms, and the fraction of the largest norm in the
// file below which a gradient counts as zero.
const (
	gradientTolerance = 1e-4
	gradientZero      = 1e-6
)

// gradients verifies the golden gradients of the case. found reports whether it has any.
func (r *caseRun) gradients(ctx context.Context) (found bool, err error) {
	b, err := budget.ReadFile(r.fsys, "gradients.json")
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
	if err := budget.Unmarshal(b, &want); err != nil {
		return fmt.Errorf("gradients.json: %w", err)
	}
	if !strings.Contains(want.Loss, "softmax cross-entropy of output 0") {
		return fmt.Errorf("gradients.json: the loss %q is not known", want.Loss)
	}
	if len(r.sets) == 0 {
		return errors.New("gradients: the case has no data set")
	}
	wrt := append(slices.Sorted(maps.Keys(want.Initializers)), slices.Sorted(maps.Keys(want.Inputs))...)
	loss, got, err := r.goldenGradients(ctx, want.Labels, wrt)
	if err != nil {
		return fmt.Errorf("gradients: %w", err)
	}
	var errs []error
	if want.LossValue != nil {
		if !(math.Abs(loss-*want.LossValue) <= gradientTolerance*max(1, math.Abs(*want.LossValue))) {
			errs = append(errs, fmt.Errorf("loss: want %g, got %g", *want.LossValue, loss))
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

// judge compares a gradient with its summary. A gradient whose norm is below the threshold zero is rounding noise.
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

// setGradients verifies the gradients in data sets: those of the outputs, weighted by gradient_input_N
// or by one, with respect to the parameters that the values of gradient_N are named after.
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
	set, feed, err := r.read(name)
	if err != nil {
		return err
	}
	weights, err := r.upstream(set)
	if err != nil {
		return err
	}
	var wrt []string
	for _, v := range set.Gradients {
		if v.Value != nil {
			wrt = append(wrt, v.Name)
		}
	}
	got, err := r.differentiate(ctx, feed, weights, wrt)
	if err != nil {
		return err
	}
	for _, w := range set.Gradients {
		if w.Value == nil {
			continue
		}
		tol := dtype.Tolerance{Rtol: dtype.DefaultTolerance.Rtol}
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

// upstream returns the gradients of the outputs, by name: gradient_input_N, or ones if there is none.
func (r *caseRun) upstream(set *onnxio.DataSet) (nn.Feed, error) {
	outputs, err := matchOutputs(namesOf(r.model.Outputs()), set.Outputs)
	if err != nil {
		return nil, fmt.Errorf("outputs: %w", err)
	}
	weights := nn.Feed{}
	for i, v := range r.model.Outputs() {
		want, ok := isFloat(outputs[i].Value)
		if !ok {
			continue
		}
		if i < len(set.GradientInputs) && set.GradientInputs[i].Value != nil {
			given := set.GradientInputs[i].Value
			if dtype.SameType(given, want) != nil {
				return nil, fmt.Errorf("gradient_input_%d: want %s, got %s", i, dtype.Describe(want), dtype.Describe(given))
			}
			weights[v.Name()] = given
			continue
		}
		if weights[v.Name()], err = ones(want); err != nil {
			return nil, err
		}
	}
	return weights, nil
}

// goldenGradients returns the loss and the gradients of the cross-entropy of output 0 with labels, in the first data set.
func (r *caseRun) goldenGradients(ctx context.Context, labels []int, wrt []string) (float64, nn.Feed, error) {
	_, feed, err := r.read(r.sets[0])
	if err != nil {
		return 0, nil, err
	}
	out, err := r.session.Run(ctx, feed)
	if err != nil {
		return 0, nil, err
	}
	if len(r.model.Outputs()) == 0 {
		return 0, nil, errors.New("there is no output 0")
	}
	name := r.model.Outputs()[0].Name()
	logits, ok := isFloat(out[name])
	if !ok {
		return 0, nil, fmt.Errorf("output %s: want floating-point numbers, got %s", name, dtype.Describe(out[name]))
	}
	loss, weight, err := crossEntropy(logits, labels)
	if err != nil {
		return 0, nil, err
	}
	got, err := r.differentiate(ctx, feed, nn.Feed{name: weight}, wrt)
	return loss, got, err
}

// differentiate computes the gradients of the outputs' weighted sum, and writes them to Dump if it is set.
func (r *caseRun) differentiate(ctx context.Context, feed, weights nn.Feed, wrt []string) (nn.Feed, error) {
	got, err := r.session.(Differentiator).Grad(ctx, feed, weights, wrt)
	if err != nil || r.Dump == "" {
		return got, err
	}
	dir := filepath.Join(r.Dump, filepath.FromSlash(r.Name), "gradients")
	if err := disk.MkdirAll(dir); err != nil {
		return nil, err
	}
	for i, name := range wrt {
		if err := writeNamed(filepath.Join(dir, fmt.Sprintf("%d.pb", i)), onnxio.NamedValue{Name: name, Value: got[name]}); err != nil {
			return nil, err
		}
	}
	return got, nil
}

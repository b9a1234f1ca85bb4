package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// trial is one model with the results of its checks.
type trial struct {
	file  string
	g     *nn.Graph
	in    map[string]*tensor.Dense // the inputs of its first data set
	out   nn.Feed                  // the outputs that the engine computes of them
	ort   *oracle.Runtime
	types []string // of the inputs that have open dimensions, as the data set has them
	loss  float64  // of the first training step
}

// cell is a result, a reason why there is none, or a result with a remark.
type cell struct {
	text string
	err  error
}

// columns are the checks, in order; a later one may use results of an earlier one in the trial.
var columns = []struct {
	title string
	try   func(ctx context.Context, t *trial) (string, error)
}{
	{"KiB", size},
	{"nodes", nodes},
	{"load, ms", load},
	{"run, ms", forward},
	{"ONNX Runtime", compared},
	{"loss after 10 steps", trained},
	{"parameters left", pruned},
	{"source, lines", generated},
	{"step, nodes", exported},
}

type row struct {
	name  string
	cells []cell
}

// limit is how long one column of one model may take.
const limit = 3 * time.Minute

func try(ctx context.Context, file string, ort *oracle.Runtime) row {
	t := &trial{file: file, ort: ort}
	r := row{name: name(file)}
	for _, c := range columns {
		r.cells = append(r.cells, attempt(ctx, t, c.try))
	}
	return r
}

// attempt returns a panic as a reason, so that one model does not end the table.
func attempt(ctx context.Context, t *trial, f func(context.Context, *trial) (string, error)) (c cell) {
	defer func() {
		if p := recover(); p != nil {
			c = cell{err: fmt.Errorf("panic: %v", p)}
		}
	}()
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	c.text, c.err = f(ctx, t)
	return c
}

func size(_ context.Context, t *trial) (string, error) {
	info, err := os.Stat(t.file)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.1f", float64(info.Size())/1024), nil
}

// nodes loads the model for this column and those that follow.
func nodes(_ context.Context, t *trial) (string, error) {
	g, err := onnxio.Load(t.file)
	if err != nil {
		return "", err
	}
	t.g = g
	n := 0
	for range g.Nodes() {
		n++
	}
	return fmt.Sprint(n), nil
}

// errLoad is in all cells of a model that does not load.
var errLoad = errors.New("the model was not loaded")

func load(ctx context.Context, t *trial) (string, error) {
	return median(ctx, func() error {
		_, err := onnxio.Load(t.file)
		return err
	})
}

func forward(ctx context.Context, t *trial) (string, error) {
	if t.g == nil {
		return "", errLoad
	}
	dir := filepath.Dir(t.file)
	set, err := onnxio.ReadDataSet(os.DirFS(dir), "test_data_set_0", types(t.g.Inputs()), types(t.g.Outputs()))
	if err != nil {
		return "", err
	}
	in, feed := map[string]*tensor.Dense{}, nn.Feed{}
	for i, v := range t.g.Inputs() {
		if i >= len(set.Inputs) {
			return "", fmt.Errorf("the data set has no input %d", i)
		}
		d, ok := set.Inputs[i].Value.(*tensor.Dense)
		if !ok {
			return "", fmt.Errorf("input %s is not a tensor of numbers", v.Name())
		}
		in[v.Name()], feed[v.Name()] = d, d
		if fixed := fixed(v, d); fixed != "" {
			t.types = append(t.types, fixed)
		}
	}
	if t.out, err = t.g.Eval(ctx, feed); err != nil {
		return "", err
	}
	t.in = in
	return median(ctx, func() error {
		_, err := t.g.Eval(ctx, feed)
		return err
	})
}

// fixed returns an input's name and its type with the dimensions of d, "" if no dimension is open.
func fixed(v *nn.Value, d *tensor.Dense) string {
	typ := v.Type()
	if typ.Static() {
		return ""
	}
	dims := make([]string, d.Dims())
	for i, n := range d.Shape() {
		dims[i] = fmt.Sprint(n)
	}
	return fmt.Sprintf("%s %v[%s]", v.Name(), typ.DType, strings.Join(dims, ","))
}

// median returns the middle of nine times, in milliseconds, after one that is not counted.
func median(ctx context.Context, f func() error) (string, error) {
	var times []float64
	for i := range 10 {
		start := time.Now()
		if err := f(); err != nil {
			return "", err
		}
		if i > 0 {
			times = append(times, float64(time.Since(start).Nanoseconds())/1e6)
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
	}
	slices.Sort(times)
	return fmt.Sprintf("%.3g", times[len(times)/2]), nil
}

func types(values []*nn.Value) []op.Type {
	var list []op.Type
	for _, v := range values {
		list = append(list, v.Type())
	}
	return list
}

func compared(_ context.Context, t *trial) (string, error) {
	if t.out == nil {
		return "", errors.New("the model did not run")
	}
	file, err := os.ReadFile(t.file)
	if err != nil {
		return "", err
	}
	return inRuntime(t.ort, file, t.in, t.out)
}

// inRuntime runs a file in ONNX Runtime and returns the largest difference from want, see difference.
func inRuntime(ort *oracle.Runtime, file []byte, in map[string]*tensor.Dense, want nn.Feed) (string, error) {
	feed := map[string]oracle.Tensor{}
	for name, d := range in {
		feed[name] = pack(d)
	}
	out, err := ort.Run(file, feed)
	if err != nil {
		return "", err
	}
	worst := 0.0
	for name, v := range want {
		d, ok := v.(*tensor.Dense)
		if !ok {
			return "", fmt.Errorf("output %s is not a tensor of numbers", name)
		}
		x, err := dtype.Float64s(d)
		if err != nil {
			return "", err
		}
		o := out[name]
		if !slices.Equal(o.Shape, []int(d.Shape())) {
			return "", fmt.Errorf("output %s is %v, ONNX Runtime's %v", name, d.Shape(), o.Shape)
		}
		y, err := o.Float64s()
		if err != nil {
			return "", err
		}
		worst = max(worst, difference(x, y))
	}
	if !(worst <= tolerance) {
		return "", fmt.Errorf("differs from ONNX Runtime by %.1e", worst)
	}
	return fmt.Sprintf("%.1g", worst), nil
}

func pack(d *tensor.Dense) oracle.Tensor {
	return oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}
}

func generated(ctx context.Context, t *trial) (string, error) {
	if t.g == nil {
		return "", errLoad
	}
	s, err := generate.Generate(ctx, t.g, generate.Options{})
	if err != nil {
		return "", err
	}
	if s.Difference < 0 {
		return fmt.Sprint(s.Lines), errors.New(s.Notes[len(s.Notes)-1])
	}
	return fmt.Sprint(s.Lines), nil // Generate refuses sources that compute something else
}

// written returns a graph as a file.
func written(g *nn.Graph) ([]byte, error) {
	var b bytes.Buffer
	err := onnxio.Write(&b, g)
	return b.Bytes(), err
}

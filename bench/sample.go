package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// sample is what PyTorch computed for one case.
type sample struct {
	x, y    *tensor.Dense // batch and classes
	output  []float32     // of the network in evaluation mode
	losses  []float64     // before each of the steps, and after the last
	exact   []float64     // the same in float64
	outErr  float64       // relative distance of PyTorch's output from float64's
	lr, mom float64
}

// load reads the files beside a case's .onnx.
func load(dir, name string) (*sample, error) {
	file := func(ext string) string { return filepath.Join(dir, name+ext) }
	raw, err := os.ReadFile(file(".json"))
	if err != nil {
		return nil, err
	}
	var meta struct {
		Input struct {
			DType string
			Shape []int
		}
		Output struct {
			Err float64 `json:"err_f32"`
		}
		Loss      []float64
		Loss64    []float64 `json:"loss_f64"`
		Optimizer struct{ LR, Momentum float64 }
	}
	if err := json.Unmarshal(raw, &meta); err != nil {
		return nil, fmt.Errorf("%s: %w", file(".json"), err)
	}
	s := &sample{losses: meta.Loss, exact: meta.Loss64, outErr: meta.Output.Err, lr: meta.Optimizer.LR, mom: meta.Optimizer.Momentum}
	if raw, err = os.ReadFile(file(".input.bin")); err != nil {
		return nil, err
	}
	d := dtype.Float32
	if meta.Input.DType == "int64" {
		d = dtype.Int64
	}
	if s.x, err = bytesTensor(d, raw, meta.Input.Shape); err != nil {
		return nil, err
	}
	if raw, err = os.ReadFile(file(".output.bin")); err != nil {
		return nil, err
	}
	out, err := bytesTensor(dtype.Float32, raw, []int{len(raw) / 4})
	if err != nil {
		return nil, err
	}
	s.output = dtype.Slice[float32](out)
	arrays, err := oracle.NPZ(file(".npz"), "target")
	if err != nil {
		return nil, err
	}
	t, ok := arrays["target"]
	if !ok {
		return nil, fmt.Errorf("%s has no target", file(".npz"))
	}
	s.y, err = bytesTensor(dtype.Int64, t.Data, t.Shape)
	return s, err
}

func bytesTensor(d dtype.DType, raw []byte, shape []int) (*tensor.Dense, error) {
	t := dtype.New(d, shape...)
	if dst := dtype.Bytes(t); copy(dst, raw) != len(dst) || len(raw) != len(dst) {
		return nil, fmt.Errorf("%d bytes for a tensor of shape %v", len(raw), shape)
	}
	return t, nil
}

// rolled makes n batches of the same samples, each beginning somewhere else.
func (s *sample) rolled(n int) (xs, ys []*tensor.Dense) {
	xs, ys = append(xs, s.x), append(ys, s.y)
	for i := 1; i < n; i++ {
		xs, ys = append(xs, roll(s.x, i)), append(ys, roll(s.y, i))
	}
	return xs, ys
}

func roll(t *tensor.Dense, by int) *tensor.Dense {
	c := dtype.Clone(t)
	src, dst := dtype.Bytes(t), dtype.Bytes(c)
	row := len(src) / t.Shape()[0] * (by % t.Shape()[0])
	copy(dst[copy(dst, src[row:]):], src[:row])
	return c
}

package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// sample holds what PyTorch computed for one case.
type sample struct {
	x, y    []*tensor.Dense // batches and their classes; PyTorch's results are those of the first
	output  []float32       // of the network in evaluation mode
	losses  []float64       // before each of the steps, and after the last
	exact   []float64       // the same in float64
	outErr  float64         // relative distance of PyTorch's output from float64's
	lr, mom float64
}

// batches is the number of batches that training cycles through. The peers have one, so these are
// windows of one tensor, which takes little additional memory.
const batches = 4

// description is the contents of a case's .json.
type description struct {
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

func describe(dir, name string) (*description, error) {
	file := filepath.Join(dir, name+".json")
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var d description
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &d, nil
}

// images reports whether a case's input has the four dimensions that PyTorch has two memory layouts for.
func images(dir, name string) bool {
	d, err := describe(dir, name)
	return err == nil && len(d.Input.Shape) == 4
}

// load reads the files beside a case's .onnx.
func load(dir, name string) (*sample, error) {
	file := func(ext string) string { return filepath.Join(dir, name+ext) }
	meta, err := describe(dir, name)
	if err != nil {
		return nil, err
	}
	s := &sample{losses: meta.Loss, exact: meta.Loss64, outErr: meta.Output.Err, lr: meta.Optimizer.LR, mom: meta.Optimizer.Momentum}
	raw, err := os.ReadFile(file(".input.bin"))
	if err != nil {
		return nil, err
	}
	of := windows[float32]
	if meta.Input.DType == "int64" {
		of = windows[int64]
	}
	if s.x, err = of(raw, meta.Input.Shape); err != nil {
		return nil, err
	}
	if raw, err = os.ReadFile(file(".output.bin")); err != nil {
		return nil, err
	}
	s.output = make([]float32, len(raw)/4)
	if _, err := binary.Decode(raw, binary.LittleEndian, s.output); err != nil {
		return nil, err
	}
	arrays, err := oracle.NPZ(file(".npz"), "target")
	if err != nil {
		return nil, err
	}
	t, ok := arrays["target"]
	if !ok {
		return nil, fmt.Errorf("%s has no target", file(".npz"))
	}
	s.y, err = windows[int64](t.Data, t.Shape)
	return s, err
}

// windows is batches tensors of that shape, each of whose samples begin one later than those of the one
// before: raw is all of the first, whose samples come again after the last.
func windows[T float32 | int64](raw []byte, shape []int) ([]*tensor.Dense, error) {
	rows := append([]int{shape[0] + batches - 1}, shape[1:]...)
	all := dtype.New(dtype.TypeOf[T](), rows...)
	bytes, elems := dtype.Bytes(all), dtype.Slice[T](all)
	row := len(elems) / rows[0]
	if want := len(bytes) / rows[0] * shape[0]; len(raw) != want {
		return nil, fmt.Errorf("%d bytes for a tensor of shape %v", len(raw), shape)
	}
	for n := 0; n < len(bytes); {
		n += copy(bytes[n:], raw)
	}
	list := make([]*tensor.Dense, batches)
	for i := range list {
		var err error
		if list[i], err = dtype.FromSlice(elems[i*row:][:shape[0]*row], shape...); err != nil {
			return nil, err
		}
	}
	return list, nil
}

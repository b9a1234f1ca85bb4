package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

func main() {
	for _, m := range os.Args[1:] {
		if err := try(m); err != nil {
			fmt.Println("FAIL", filepath.Base(m), err)
		}
	}
}

func try(dir string) error {
	t0 := time.Now()
	g, err := onnxio.Load(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return err
	}
	t1 := time.Now()
	feed := nn.Feed{}
	for i, v := range g.Inputs() {
		f, err := os.Open(fmt.Sprintf("%s/test_data_set_0/input_%d.pb", dir, i))
		if err != nil {
			return err
		}
		n, err := onnxio.ReadTensor(f)
		if err != nil {
			return err
		}
		feed[v.Name()] = n.Value
	}
	out, err := g.Eval(context.Background(), feed)
	if err != nil {
		return err
	}
	t2 := time.Now()
	out, err = g.Eval(context.Background(), feed)
	if err != nil {
		return err
	}
	t3 := time.Now()
	worst := 0.0
	for i, v := range g.Outputs() {
		f, err := os.Open(fmt.Sprintf("%s/test_data_set_0/output_%d.pb", dir, i))
		if err != nil {
			return err
		}
		n, err := onnxio.ReadTensor(f)
		if err != nil {
			return err
		}
		want, _ := n.Value.(*tensor.Dense)
		got, _ := out[v.Name()].(*tensor.Dense)
		if want == nil || got == nil {
			continue
		}
		a, _ := dtype.Float64s(want)
		b, _ := dtype.Float64s(got)
		if len(a) != len(b) {
			return fmt.Errorf("output %d: want %v got %v", i, want.Shape(), got.Shape())
		}
		for k := range a {
			d := a[k] - b[k]
			if d < 0 {
				d = -d
			}
			if d > worst {
				worst = d
			}
		}
	}
	fmt.Printf("ok %-20s load %v first %v second %v  worst %.2g\n", filepath.Base(dir), t1.Sub(t0).Round(time.Millisecond), t2.Sub(t1).Round(time.Millisecond), t3.Sub(t2).Round(time.Microsecond), worst)
	return nil
}

package engine

import (
	"context"
	"errors"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestBudget: what programs take together is limited, and given back when they are closed.
func TestBudget(t *testing.T) {
	program := func() (*Program, error) {
		g := gorgonia.NewGraph()
		x := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(512, 512), gorgonia.WithValue(tensor.New(tensor.WithShape(512, 512), tensor.Of(tensor.Float32))))
		return Compile(Options{}, gorgonia.Must(gorgonia.Tanh(x)))
	}
	one, err := program()
	if err != nil {
		t.Fatal(err)
	}
	LimitMemory(one.Stats().Arena * 5 / 2)
	defer LimitMemory(0)
	two, err := program()
	if err != nil {
		t.Fatal(err)
	}
	var full *MemoryError
	if _, err := program(); !errors.As(err, &full) {
		t.Fatal(err)
	}
	one.Close()
	two.Close()
	three, err := program()
	if err != nil {
		t.Fatal(err)
	}
	if err := three.Run(context.Background()); err != nil {
		t.Error(err)
	}
	three.Close()
}

// TestEvalCharges: what Eval computes is charged before its memory is allocated, so that the kernel's own is refused beside it.
func TestEvalCharges(t *testing.T) {
	LimitMemory(3 << 20)
	defer LimitMemory(0)
	core := &Core{Name: "big", Out: []Spec{{tensor.Float32, tensor.Shape{1 << 19}}}, Kernel: func(x *Exec, out, in []*tensor.Dense) error {
		release, err := x.Reserve(2 << 20)
		if err == nil {
			release()
		}
		return err
	}}
	var full *MemoryError
	if _, err := Eval(WithContext(context.Background()), core, nil); !errors.As(err, &full) || full.Used < 2<<20 {
		t.Error(err)
	}
	core.Out[0].Shape = tensor.Shape{1 << 20}
	if _, err := Eval(WithContext(context.Background()), core, nil); !errors.As(err, &full) {
		t.Error(err)
	}
}

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

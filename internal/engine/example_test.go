package engine_test

import (
	"context"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/internal/engine"
)

// A graph of Gorgonia's own operations, compiled once and run with two inputs.
func Example() {
	g := gorgonia.NewGraph()
	x := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(3), gorgonia.WithName("x"))
	y := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(x))))
	p, err := engine.Compile(engine.Options{}, y)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range [][]float64{{1, 2, 3}, {0, 3, 4}} {
		if err := p.Bind(x, tensor.New(tensor.WithShape(3), tensor.WithBacking(v))); err != nil {
			fmt.Println(err)
			return
		}
		if err := p.Run(context.Background()); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Value(y))
	}
	// Output:
	// 14
	// 25
}

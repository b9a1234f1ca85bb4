package onnxio_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// A tensor goes to a file and comes back.
func ExampleReadTensor() {
	x, err := dtype.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := onnxio.WriteTensor(&file, onnxio.NamedValue{Name: "x", Value: x}); err != nil {
		log.Fatal(err)
	}
	got, err := onnxio.ReadTensor(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Name, got.Value.Shape(), got.Value.Data())
	// Output: x (2, 3) [1 2 3 4 5 6]
}

// A model goes to a file and comes back, then with another batch size.
func Example() {
	g := nn.New("small")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[1,4]")
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 3}, layers.ReLU{}}, x))
	})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := onnxio.Write(&file, g); err != nil {
		log.Fatal(err)
	}
	g, err = onnxio.Loader{Inputs: []string{"x float32[N,4]"}}.Read(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Inputs()[0].Type(), g.Outputs()[0].Type())
	// Output: float32[N,4] float32[N,3]
}

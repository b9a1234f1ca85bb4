package onnxio_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
)

// A tensor goes to a file and comes back.
func ExampleReadTensor() {
	x, err := dtype.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := onnxio.WriteTensor(&file, onnxio.Named{Name: "x", Value: x}); err != nil {
		log.Fatal(err)
	}
	got, err := onnxio.ReadTensor(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Name, got.Value.Shape(), got.Value.Data())
	// Output: x (2, 3) [1 2 3 4 5 6]
}

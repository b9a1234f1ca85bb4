package data_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

func Example() {
	x := tensor.New(tensor.WithShape(5, 2), tensor.WithBacking([]float32{0, 0, 0, 1, 1, 0, 1, 1, 2, 2}))
	y := tensor.New(tensor.WithShape(5), tensor.WithBacking([]int64{0, 1, 1, 0, 2}))
	all, err := data.Tensors(x, y)
	if err != nil {
		log.Fatal(err)
	}
	fit, val := data.Split(all, 0.2, 1)
	fmt.Println(fit.Len(), "to train on,", val.Len(), "to validate")
	for batch, err := range (data.BatchLoader{Batch: 3}).Batches(context.Background(), all, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.X[0].Shape(), batch.Y[0].Int64s())
	}
	// Output:
	// 4 to train on, 1 to validate
	// (3, 2) [0 1 1]
	// (2, 2) [0 2]
}

func ExamplePreprocess_String() {
	fmt.Println(data.ImageNet)
	fmt.Println(data.Caffe)
	// Output:
	// 224×224 RGB NCHW, crop 0.875, 0…1, mean [0.485 0.456 0.406], std [0.229 0.224 0.225]
	// 224×224 BGR NCHW, crop 0.875, 0…255, mean [123.68 116.779 103.939]
}

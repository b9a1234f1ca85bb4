// Command 04-scratch writes a model in Go, trains it and exports it with a symbolic batch.
//
//	go run ./examples/04-scratch IMAGES.gz LABELS.gz     # IDX files, such as MNIST's
//
// Without arguments it renders its own digits.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/examples/letters"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

func main() {
	set, err := digits(2000)
	if len(os.Args) == 3 {
		set, err = data.IDX(os.Args[1], os.Args[2])
	}
	if err != nil {
		log.Fatal(err)
	}
	out := filepath.Join(os.TempDir(), "scratch.onnx")
	h, err := run(context.Background(), set, out, 3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h)
	fmt.Println("saved as", out)
}

func digits(n int) (data.Dataset[data.Sample], error) {
	images, labels, err := letters.Set("0123456789", n, 1)
	if err != nil {
		return nil, err
	}
	x, err := dtype.FromSlice(images, n, 1, letters.Size, letters.Size)
	if err != nil {
		return nil, err
	}
	y, err := dtype.FromSlice(labels, n)
	if err != nil {
		return nil, err
	}
	return data.Tensors(x, y)
}

func run(ctx context.Context, all data.Dataset[data.Sample], out string, epochs int) (train.History, error) {
	g := nn.New("mnist")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("image", "float32[N,1,28,28]") // N stays N in the file
		e.Output("scores", e.Apply(nn.Sequential{
			layers.Conv{Out: 16, Kernel: []int{3}, Same: true, NoBias: true}, layers.BatchNorm{}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
			layers.Conv{Out: 32, Kernel: []int{3}, Same: true, NoBias: true}, layers.BatchNorm{}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
			layers.Flatten{}, layers.Dropout{P: 0.3}, layers.Linear{Out: 10},
		}, x))
	})
	if err != nil {
		return nil, err // one error for the whole construction, with the layer's place in it
	}
	fit, val := data.Split(all, 0.1, 1)
	h, err := train.Fit(ctx, g, train.Config{Epochs: epochs, Batch: 64, Seed: 1}, fit, val)
	if err != nil {
		return h, err
	}
	return h, onnxio.Save(out, g)
}

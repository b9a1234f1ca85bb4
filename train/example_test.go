package train_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A loop over epochs: its body is the callback, and break stops early.
func Example() {
	ctx := context.Background()
	g := nn.New("blobs")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		e.Output("scores", e.Apply(nn.Sequential{layers.Linear{Out: 16}, layers.ReLU{}, layers.Linear{Out: 3}}, x))
	})
	if err != nil {
		log.Fatal(err)
	}
	t, err := train.New(g, train.Config{Epochs: 20, Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, Log: train.Quiet})
	if err != nil {
		log.Fatal(err)
	}
	for ep, err := range t.Epochs(ctx, blobs(300, 1), blobs(100, 2)) {
		if err != nil {
			log.Fatal(err)
		}
		if ep.Val["accuracy"] > 0.9 {
			fmt.Println("good enough")
			break
		}
	}
	// Output: good enough
}

// A Gorgonia function is a loss: here the mean of the fourth power of the difference.
func ExampleExprLoss() {
	loss := train.ExprLoss{F: func(x ...*gorgonia.Node) (gorgonia.Nodes, error) {
		d, err := gorgonia.Sub(x[0], x[1])
		if err != nil {
			return nil, err
		}
		if d, err = gorgonia.Square(d); err != nil {
			return nil, err
		}
		if d, err = gorgonia.Square(d); err != nil {
			return nil, err
		}
		m, err := gorgonia.Mean(d)
		return gorgonia.Nodes{m}, err
	}}
	g := nn.New("constant")
	err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Linear{Out: 1, Init: initial.Zeros{}, NoBias: true}, e.Input("x", "float32[N,1]")))
	})
	if err != nil {
		log.Fatal(err)
	}
	t, err := train.New(g, train.Config{Loss: loss})
	if err != nil {
		log.Fatal(err)
	}
	x, err := dtype.FromSlice([]float32{1, 2}, 2, 1)
	if err != nil {
		log.Fatal(err)
	}
	info, err := t.Step(context.Background(), data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{x}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Loss)
	// Output: 8.5
}

// Command 06-gorgonia trains an imported model with Gorgonia alone: the model becomes an expression graph, gets a loss made of
// Gorgonia's own operators, runs on TapeMachine, is updated by a Gorgonia solver, and is exported again.
//
//	go run ./examples/06-gorgonia OUT.onnx
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/examples/letters"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func main() {
	model, out := "cmd/graft/demo/digits.onnx", filepath.Join(os.TempDir(), "gorgonia.onnx")
	if len(os.Args) == 2 {
		out = os.Args[1]
	}
	first, last, err := run(model, out, 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("loss %.4f → %.4f, saved as %s\n", first, last, out)
}

func run(model, out string, steps int) (first, last float32, err error) {
	const batch, classes = 32, 4
	g, err := onnxio.Load(model)
	if err != nil {
		return 0, 0, err
	}
	if err := g.Edit(func(e *nn.Edit) { e.Head(nn.Head{Classes: classes}) }); err != nil {
		return 0, 0, err
	}
	l, err := g.Lower(nn.LowerOptions{Sizes: map[string]int{"N": batch}})
	if err != nil {
		return 0, 0, err
	}
	// From here on it is Gorgonia: l.ExprGraph is a *gorgonia.ExprGraph like any other.
	want := G.NewMatrix(l.ExprGraph, G.Float32, G.WithShape(batch, classes), G.WithName("want"))
	p := G.Must(G.Log(G.Must(G.SoftMax(l.Outputs[0]))))
	loss := G.Must(G.Neg(G.Must(G.Mean(G.Must(G.HadamardProd(p, want))))))
	_, weights := l.Trainable()
	if _, err := G.Grad(loss, weights...); err != nil {
		return 0, 0, err
	}
	var value G.Value
	G.Read(loss, &value)
	vm := G.NewTapeMachine(l.ExprGraph, G.BindDualValues(weights...))
	defer vm.Close()
	x, y, err := samples(batch, classes)
	if err != nil {
		return 0, 0, err
	}
	G.WithValue(x)(l.Inputs[0])
	G.WithValue(y)(want)
	solver := G.NewVanillaSolver(G.WithLearnRate(0.03))
	for step := range steps {
		if err := vm.RunAll(); err != nil {
			return 0, 0, err
		}
		last = value.Data().(float32)
		if step == 0 {
			first = last
		}
		if err := solver.Step(G.NodesToValueGrads(weights)); err != nil { // the model's own parameters
			return 0, 0, err
		}
		vm.Reset()
	}
	return first, last, onnxio.Save(out, g)
}

// samples are rendered images [n,1,28,28] and their classes, one-hot [n,classes].
func samples(n, classes int) (x, y *tensor.Dense, err error) {
	images, labels, err := letters.Set("ABEG"[:classes], n, 1)
	if err != nil {
		return nil, nil, err
	}
	onehot := make([]float32, n*classes)
	for i, c := range labels {
		onehot[i*classes+int(c)] = 1
	}
	x = tensor.New(tensor.WithShape(n, 1, letters.Size, letters.Size), tensor.WithBacking(images))
	y = tensor.New(tensor.WithShape(n, classes), tensor.WithBacking(onehot))
	return x, y, nil
}

// Command 05-trace exports a function written with Gorgonia's own operators.
//
//	go run ./examples/05-trace OUT.onnx
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	G "gorgonia.org/gorgonia"
)

func mlp(x ...*G.Node) (G.Nodes, error) {
	w := G.NewMatrix(x[0].Graph(), G.Float32, G.WithName("w"), G.WithShape(784, 128), G.WithInit(G.GlorotN(1)))
	h, err := G.Mul(x[0], w)
	if err != nil {
		return nil, err
	}
	if h, err = G.Rectify(h); err != nil {
		return nil, err
	}
	for range 3 { // Go's own control flow is unrolled
		if h, err = G.Tanh(h); err != nil {
			return nil, err
		}
	}
	return G.Nodes{h}, nil
}

func main() {
	out := filepath.Join(os.TempDir(), "mlp.onnx")
	if len(os.Args) == 2 {
		out = os.Args[1]
	}
	if err := export(out); err != nil {
		log.Fatal(err)
	}
	fmt.Println("saved as", out)
}

func export(out string) error {
	g, err := nn.Trace(mlp, "x float32[N,784]") // a Graph like any other: edit it, train it, save it
	if err != nil {
		return err // operators without an ONNX form, by name
	}
	fmt.Println(g.Summary())
	return onnxio.Save(out, g)
}

// Command 03-insert changes a model: it plans the insertion of a layer, prints the plan, applies it, undoes it,
// applies it again and saves the result. The outputs of the model do not change.
//
//	go run ./examples/03-insert MODEL.onnx OUT.onnx
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

func main() {
	model, out := "cmd/graft/demo/digits.onnx", filepath.Join(os.TempDir(), "inserted.onnx")
	if len(os.Args) == 3 {
		model, out = os.Args[1], os.Args[2]
	}
	if err := run(model, out); err != nil {
		log.Fatal(err)
	}
}

func run(model, out string) error {
	g, err := onnxio.Load(model)
	if err != nil {
		return err
	}
	plan, err := g.Plan(func(e *nn.Edit) {
		relus := e.Nodes(nn.Ops("Relu"))
		for _, n := range relus {
			e.Insert(n.Out(0), layers.BatchNorm{}) // starts as the identity
		}
	})
	if err != nil {
		return err // nothing has changed
	}
	fmt.Println(plan)
	if err := plan.Apply(); err != nil {
		return err
	}
	if err := plan.Undo(); err != nil {
		return err
	}
	if err := plan.Apply(); err != nil {
		return err
	}
	fmt.Println(g.Summary())
	return onnxio.Save(out, g)
}

package conformance_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

// A test case is written: a model, an input and what it computes; any runtime's tests read it, see Run.
func Example() {
	g := nn.New("small")
	if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(layers.ReLU{}, e.Input("x", "float32[N,3]"))) }); err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "case")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	x, err := conformance.RandomInputs(g, map[string]int{"N": 2}, 1)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := (conformance.CaseWriter{}).Export(context.Background(), g, filepath.Join(dir, "relu"), x); err != nil {
		log.Fatal(err)
	}
	cases, err := conformance.Cases(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(cases), "case")
	// Output: 1 case
}

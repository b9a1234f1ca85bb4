package generate_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

// A model becomes the source of a Go package and a file with its weights.
func Example() {
	g := nn.New("small")
	err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 3}, layers.ReLU{}, layers.Linear{Out: 2}}, e.Input("x", "float32[N,4]")))
	})
	if err != nil {
		log.Fatal(err)
	}
	source, err := generate.Generate(context.Background(), g, generate.Options{Package: "small"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(source.Layers, "layers, difference", source.Difference)
	// Output: 3 layers, difference 0
}

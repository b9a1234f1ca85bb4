package conformance

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// Graft runs models on graft's engine. The zero value supports all standard operators.
type Graft struct {
	Loader onnxio.Loader // its FS is replaced by the case's folder
}

// Load loads the model as a graph.
func (b Graft) Load(_ context.Context, fsys fs.FS, name string) (Session, error) {
	b.Loader.FS = fsys
	g, err := b.Loader.Load(name)
	if err != nil {
		return nil, err
	}
	return graftSession{g}, nil
}

type graftSession struct{ g *nn.Graph }

func (s graftSession) graph() *nn.Graph { return s.g }

func (s graftSession) Run(ctx context.Context, in nn.Feed) (nn.Feed, error) { return s.g.Eval(ctx, in) }

func (s graftSession) Grad(ctx context.Context, in, weights nn.Feed, wrt []string) (nn.Feed, error) {
	g, loss, err := weighted(s.g, weights)
	if err != nil {
		return nil, err
	}
	return g.Grad(ctx, in, loss, wrt...)
}

// weighted returns a fork of g with one more value, of rank 0: the sum of outputs times weights. It returns the name of it.
func weighted(g *nn.Graph, weights nn.Feed) (fork *nn.Graph, loss string, err error) {
	fork, _ = g.Fork()
	err = fork.Edit(func(e *nn.Edit) {
		var total *nn.Value
		for _, name := range slices.Sorted(maps.Keys(weights)) {
			w, ok := weights[name].(*tensor.Dense)
			if !ok {
				e.Failf("the gradient of output %s: want a tensor, got %T", name, weights[name])
				return
			}
			sum := sumOf(e, e.Value(name), w)
			if total != nil {
				sum = e.Node(add, total, sum).Out(0)
			}
			total = sum
		}
		if total == nil {
			e.Fail(fmt.Errorf("no output can be differentiated"))
			return
		}
		loss = total.Name()
		e.Output(loss, total)
	})
	return fork, loss, err
}

package nntest

import (
	"context"
	"testing"

	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
)

// Weights returns copies of the graph's parameters.
func Weights(t testing.TB, g *nn.Graph) snapshot.Weights {
	t.Helper()
	w, err := snapshot.Of(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

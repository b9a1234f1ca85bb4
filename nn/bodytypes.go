package nn

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// maxNested limits how many nodes of subgraphs one lowering visits, in addition to 16 times their
// number: a Loop visits its body several times to find its types, and a nested Loop does so each time.
var maxNested = 1 << 16

// bodyTypes is what the lowering of a graph and those of its subgraphs share: how many nodes of subgraphs they have visited, and the types that
// were found in them. It ends with the lowering, so that an edit makes nothing of it wrong.
type bodyTypes struct {
	root  *Graph
	count int
	limit int // 0: maxNested
	found map[*Body][]foundTypes
	whole <-chan struct{} // ends the whole inference of types; nil: nothing does
}

// foundTypes are the types that inference found in a subgraph for some inputs.
type foundTypes struct {
	in    []op.Type
	known []op.Known
	train bool
	out   []op.Type
}

// nestedKey is the context key of a bodyTypes.
type nestedKey struct{}

// shareNested returns what the lowerings in a context share, and a context that has it; if there is none, a new one
// for a lowering of g.
func (g *Graph) shareNested(ctx context.Context) (context.Context, *bodyTypes) {
	if ctx == nil {
		ctx = context.Background()
	}
	if n, ok := ctx.Value(nestedKey{}).(*bodyTypes); ok {
		return ctx, n
	}
	n := &bodyTypes{root: g, found: map[*Body][]foundTypes{}}
	return context.WithValue(ctx, nestedKey{}, n), n
}

// visit counts a node, and returns an error if that exceeds the limit.
func (n *bodyTypes) visit() error {
	if n.count++; n.count <= max(n.limit, maxNested) {
		return nil
	}
	if n.limit == 0 {
		n.limit = maxNested
		if n.root.body != nil { // what a Loop runs is lowered by itself
			n.limit += 16 * len(n.root.nodes())
		}
		for _, b := range n.root.allBodies() {
			n.limit += 16 * len(b.Graph.nodes())
		}
		if n.count <= n.limit {
			return nil
		}
	}
	return fmt.Errorf("subgraphs are nested too deeply: finding the types takes more than %d nodes", n.limit)
}

// types returns the types of the outputs of b, found before or now.
func (n *bodyTypes) types(b *Body, ask foundTypes, find func() ([]op.Type, error)) ([]op.Type, error) {
	for _, f := range n.found[b] {
		if f.train == ask.train && slices.EqualFunc(f.in, ask.in, equalTypes) && slices.EqualFunc(f.known, ask.known, likeKnown) {
			return f.out, nil
		}
	}
	out, err := find()
	if err == nil {
		ask.in, ask.known, ask.out = slices.Clone(ask.in), slices.Clone(ask.known), out
		n.found[b] = append(n.found[b], ask)
	}
	return out, err
}

func equalTypes(a, b op.Type) bool {
	elem := a.Elem == b.Elem || a.Elem != nil && b.Elem != nil && equalTypes(*a.Elem, *b.Elem)
	return elem && a.Kind == b.Kind && a.DType == b.DType && a.Unranked == b.Unranked && slices.Equal(a.Shape, b.Shape)
}

// likeKnown reports whether the same types follow from a and b. Large values are compared by identity.
func likeKnown(a, b op.Known) bool {
	return a.Exact == b.Exact && a.Frozen == b.Frozen && slices.Equal(a.Dims, b.Dims) && (a.Value == b.Value || !large(a) && equalTensors(a.Value, b.Value))
}

func equalTensors(a, b dtype.Value) bool {
	x, _ := a.(*tensor.Dense)
	y, _ := b.(*tensor.Dense)
	return x != nil && y != nil && x.Dtype() == y.Dtype() && slices.Equal(x.Shape(), y.Shape()) && bytes.Equal(x.Raw, y.Raw)
}

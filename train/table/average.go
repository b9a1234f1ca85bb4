package table

import (
	"context"
	"fmt"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// members is the number of networks that are averaged for a table of few rows, from different initial weights.
const members = 4

// average trains several networks on the rows of a set, and makes the network one whose output is the mean of theirs: the hidden
// layers hold theirs side by side. A network with embeddings remains a single one.
func (b Blend) average(ctx context.Context, t *Trunk, s data.Dataset[data.Sample], way int) error {
	depth, ok := plainLayers(t.Rest)
	if !ok {
		return b.Anew(ctx, s, way, 0)
	}
	var list []map[string]*tensor.Dense
	for member := range members {
		if err := b.Anew(ctx, s, way, member); err != nil {
			return err
		}
		weights := map[string]*tensor.Dense{}
		for p := range t.Rest.Params() {
			var err error
			if weights[p.Name()], err = snapshot.Copy(context.Background(), p); err != nil {
				return err
			}
		}
		list = append(list, weights)
	}
	return t.Rest.Edit(func(e *nn.Edit) {
		set := func(name string, join func(list []*tensor.Dense) (*tensor.Dense, error)) {
			var of []*tensor.Dense
			for _, weights := range list {
				of = append(of, weights[name])
			}
			d, err := join(of)
			e.Fail(err)
			if e.Err() == nil {
				direct.SetData(e, e.Value(name), d)
			}
		}
		for i := range depth {
			name := hiddenName(i)
			set(name+".bias", stackRows)
			weight := blockDiagonal
			if i == 0 {
				weight = stackRows // all read the same features
			}
			set(name+".weight", weight)
		}
		set("deep.weight", meanOfColumns)
		set("deep.bias", meanOf)
		set("wide.weight", meanOf)
	})
}

func hiddenName(i int) string { return fmt.Sprintf("hidden%d", i+1) }

// plainLayers returns the number of hidden layers of a network. ok is false unless it has no parameters but those of its layers.
func plainLayers(g *nn.Graph) (depth int, ok bool) {
	count := 0
	for range g.Params() {
		count++
	}
	has := func(name string) bool {
		v, err := g.Value(name)
		return err == nil && v.Param() != nil && direct.Data(v.Param()) != nil && direct.Data(v.Param()).Dtype() == tensor.Float32
	}
	for has(hiddenName(depth)+".weight") && has(hiddenName(depth)+".bias") {
		depth++
	}
	return depth, depth > 0 && count == 2*depth+3 && has("deep.weight") && has("deep.bias") && has("wide.weight")
}

// stackRows joins tensors along their first axis.
func stackRows(list []*tensor.Dense) (*tensor.Dense, error) { return dtype.Join(list...) }

// blockDiagonal returns a matrix with the given ones of equal shape along its diagonal.
func blockDiagonal(list []*tensor.Dense) (*tensor.Dense, error) {
	rows, columns := list[0].Shape()[0], list[0].Shape()[1]
	flat := make([]float32, len(list)*rows*len(list)*columns)
	for k, d := range list {
		x := dtype.Slice[float32](d)
		for r := range rows {
			copy(flat[((k*rows+r)*len(list)+k)*columns:], x[r*columns:(r+1)*columns])
		}
	}
	return dtype.FromSlice(flat, len(list)*rows, len(list)*columns)
}

// meanOfColumns joins matrices side by side, divided by their number.
func meanOfColumns(list []*tensor.Dense) (*tensor.Dense, error) {
	rows, columns := list[0].Shape()[0], list[0].Shape()[1]
	flat := make([]float32, rows*len(list)*columns)
	for k, d := range list {
		for i, x := range dtype.Slice[float32](d) {
			flat[(i/columns*len(list)+k)*columns+i%columns] = x / float32(len(list))
		}
	}
	return dtype.FromSlice(flat, rows, len(list)*columns)
}

// meanOf returns the mean of tensors of equal shape.
func meanOf(list []*tensor.Dense) (*tensor.Dense, error) {
	flat := make([]float32, list[0].Shape().TotalSize())
	for _, d := range list {
		for i, x := range dtype.Slice[float32](d) {
			flat[i] += x / float32(len(list))
		}
	}
	return dtype.FromSlice(flat, list[0].Shape()...)
}

package generate

import (
	"context"
	"fmt"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// fold evaluates the values that depend on parameters only: weights that an exported model slices, transposes and
// concatenates in every run, and functions of constants. Weights that are also read directly are not folded, since the
// copies would be trained separately.
func (r *reader) fold(ctx context.Context) error {
	r.folded, r.apartKnown = map[*nn.Value]*tensor.Dense{}, map[*nn.Value]bool{}
	r.learned = map[*nn.Value]bool{}
	made := map[*nn.Value]bool{} // depends on parameters alone, and may be computed once
	for n := range r.g.Nodes() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if ok, trained := r.foldable(n, made); ok {
			for _, v := range n.Outputs() {
				made[v], r.learned[v] = true, trained
			}
		}
	}
	for again := true; again; {
		var shared []*nn.Value // all are found before any is removed, so that the order does not matter
		for v := range made {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !copies(v.Producer()) && !r.private(ctx, v, made) {
				shared = append(shared, v)
			}
		}
		for _, v := range shared {
			delete(made, v)
		}
		again = len(shared) > 0
	}
	var want []string
	shared := 0
	for v := range made {
		if n := v.Producer(); copies(n) && n.In(0).Param() != nil {
			r.folded[v] = direct.Data(n.In(0).Param())
			if len(n.In(0).Users()) > 1 {
				shared++
			}
			continue
		}
		if _, known := v.Known().Value.(*tensor.Dense); !known {
			want = append(want, v.Name())
		}
	}
	if shared > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d parameters that the file holds once, for their values were equal, are separate", shared))
	}
	if len(want) == 0 {
		return nil
	}
	feed := nn.Feed{} // arbitrary inputs: no wanted value depends on them
	if list := r.g.Inputs(); len(list) > 0 {
		if feed, _, _ = randomFeed(list, standIns[0]); feed == nil {
			if feed, _, _ = randomFeed(list[:1], standIns[0]); feed == nil {
				return nil
			}
		}
	}
	got, err := r.g.Eval(ctx, feed, want...)
	if err != nil {
		return nil // the steps are written unfolded
	}
	for name, x := range got {
		if d, ok := x.(*tensor.Dense); ok {
			v, err := r.g.Value(name)
			if err != nil {
				return err
			}
			r.folded[v] = d
		}
	}
	return nil
}

// foldable reports whether a node moves elements of parameters, or computes a constant from constants; trained reports
// whether the parameters are trained.
func (r *reader) foldable(n *nn.Node, made map[*nn.Value]bool) (ok, trained bool) {
	if n.Op().Random || len(n.Bodies()) > 0 || len(n.Outputs()) != 1 || len(n.Inputs()) == 0 || n.Op().Domain != "" {
		return false, false
	}
	t := n.Out(0).Type()
	if t.Kind != op.Tensor || !t.Static() {
		return false, false
	}
	integers := false
	for _, v := range n.Inputs() {
		if v == nil {
			continue
		}
		p := v.Param()
		_, known := v.Known().Value.(*tensor.Dense)
		if !known && !made[v] && (p == nil || v.IsInput() || direct.Data(p) == nil) {
			return false, false
		}
		trained = trained || v.Type().DType.IsFloat() && (p != nil && p.Role() != nn.Constant || r.learned[v])
		integers = integers || v.Type().DType.IsInteger()
	}
	switch {
	case n.Traits().Moves != trait.NotMoved && n.In(0) != nil && t.DType == n.In(0).Type().DType:
	case trained:
		return false, false
	case integers && t.DType.IsFloat() && t.Elements() > 1:
		return false, false // integers of a quantized model stay integers
	}
	return true, trained
}

// private reports whether the weights that v is computed from are read only by nodes that are folded together with v.
func (r *reader) private(ctx context.Context, v *nn.Value, made map[*nn.Value]bool) bool {
	for _, x := range v.Producer().Inputs() {
		if x == nil {
			continue
		}
		if _, known := x.Known().Value.(*tensor.Dense); x.Param() == nil && !made[x] && !known {
			return false
		}
		if x.Param() == nil || x.Param().Role() == nn.Constant {
			continue
		}
		ends := map[*nn.Value]bool{}
		if !leads(x, made, ends) || len(ends) != 1 && !r.apart(ctx, x, ends) {
			return false
		}
	}
	return true
}

// apart reports whether each element of a parameter occurs at most once in all values that are computed from it.
func (r *reader) apart(ctx context.Context, x *nn.Value, ends map[*nn.Value]bool) bool {
	if !r.apartKnown[x] {
		numbers := numbered(x.Type().DType, []int(direct.Data(x.Param()).Shape()))
		feed, _, err := randomFeed(r.g.Inputs(), standIns[0]) // any: nothing that is wanted depends on it
		var list []string
		for v := range ends {
			list = append(list, v.Name())
		}
		if numbers == nil || len(list) == 0 || err != nil {
			return false
		}
		feed[x.Name()] = numbers
		got, err := r.g.Eval(ctx, feed, list...)
		if err != nil {
			return false
		}
		seen := map[float64]bool{}
		for _, y := range got {
			d, _ := y.(*tensor.Dense)
			elements, err := dtype.Float64s(d)
			if err != nil {
				return false
			}
			for _, e := range elements {
				if seen[e] {
					return false
				}
				seen[e] = true
			}
		}
	}
	r.apartKnown[x] = true
	return true
}

// leads finds the folded values, read by other nodes, that x becomes part of; it returns false if x has another reader.
func leads(x *nn.Value, made, ends map[*nn.Value]bool) bool {
	for _, n := range x.Users() {
		out := n.Out(0)
		if measures(n) {
			continue
		}
		if !made[out] {
			if x.Param() != nil {
				return false
			}
			ends[x] = true
			continue
		}
		if !leads(out, made, ends) {
			return false
		}
	}
	return true
}

package onnxio

import (
	"slices"

	"github.com/graft-ml/graft/nn"
)

// Weights of subgraphs are parameters of the graph, which the subgraphs capture (nn.Assembler.Weights). They are written where
// they were as long as they are used there alone.

// noteLifted records the names of parameters that come from subgraphs.
func noteLifted(g *nn.Graph) {
	for p := range g.Params() {
		if o, ok := p.Value().Origin().(*valueOrigin); ok {
			o.lifted = p.Name()
		}
	}
}

// settle finds the placeholders in subgraphs that are written as the parameters that they stand for.
func (w *writer) settle(g *nn.Graph) error {
	w.homes, w.away = map[*nn.Value]*nn.Value{}, map[*nn.Value]bool{}
	for p, err := range w.params(g) {
		if err != nil {
			return err
		}
		v := p.Value()
		o, ok := v.Origin().(*valueOrigin)
		if !ok || o.home == nil || o.home == originOf(g) || o.constant != nil && !w.inNodes {
			continue
		}
		if q := home(v, o); q != nil {
			w.homes[q], w.away[v] = v, true
			if w.alias[q] = q.Name(); v.Name() != o.lifted {
				w.alias[q] = v.Name()
			}
		}
	}
	return nil
}

// home returns the placeholder for v in the subgraph that held it in the file, nil if v is used elsewhere, too.
func home(v *nn.Value, o *valueOrigin) *nn.Value {
	for {
		users := v.Users()
		if len(users) != 1 || slices.Contains(users[0].Inputs(), v) || slices.Contains(v.Graph().Outputs(), v) {
			return nil
		}
		var inside []*nn.Value
		captured := users[0].Captured()
		for _, b := range users[0].Bodies() {
			for _, q := range b.Outer() {
				if len(captured) == 0 {
					return nil
				}
				if captured[0] == v {
					inside = append(inside, q)
				}
				captured = captured[1:]
			}
		}
		if len(inside) != 1 {
			return nil
		}
		if v = inside[0]; originOf(v.Graph()) == o.home {
			return v
		}
	}
}

// param returns the parameter that a value is written as, nil if it is none.
func (w *writer) param(v *nn.Value) *nn.Param {
	if p := w.homes[v]; p != nil {
		return p.Param()
	}
	return v.Param()
}

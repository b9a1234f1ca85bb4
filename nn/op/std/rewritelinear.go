package std

import "github.com/graft-ml/graft/nn/op"

// linearRule returns a product with a matrix, which may be stored transposed, and a bias.
func linearRule() op.Rewrite {
	turned := on("Transpose", op.Anything("w")).As("turned")
	times := func(w op.Term) op.Term { return on("MatMul", op.Anything("x"), w).As("y") }
	return op.Rewrite{Name: "linear", Pattern: op.Either(
		on("Add", times(turned), op.Anything("b")),
		on("Add", times(op.Anything("w")), op.Anything("b")),
		times(turned),
	), Build: func(m op.Match) *op.Replacement {
		x, w := m.Value("x").Type, m.Value("w").Type
		if x.Rank() < 2 || w.Rank() != 2 || !x.DType.IsFloat() {
			return nil
		}
		cfg := LinearConfig{}
		if m.Value("turned").Present() {
			if cfg.TransB = true; !turns(m, "turned", 1, 0) {
				return nil
			}
		}
		in := sources(m, "x", "w")
		if b := m.Value("b"); b.Present() {
			// A bias is one number for each column; anything else is another operand of a sum.
			shape, y := b.Type.Sizes(), m.Value("y").Type.Sizes()
			if len(shape) == 0 || shape[len(shape)-1] != y[len(y)-1] || b.Type.Elements() != y[len(y)-1] || len(shape) > len(y) {
				return nil
			}
			in = append(in, b)
		}
		return &op.Replacement{Config: cfg, In: in}
	}}
}

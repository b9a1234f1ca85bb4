package std

import (
	"github.com/graft-ml/graft/nn/op"
)

// attentionRule is scaled dot product attention: softmax(scale·Q·Kᵀ + mask)·V. Transposes that
// only move the heads to and fro are taken in: the operator reads and writes them by strides.
func attentionRule() op.Rewrite {
	turned := func(name string) op.Term {
		return op.Either(on("Transpose", op.Anything(name)).As(name+" turned"), op.Anything(name))
	}
	q := op.Either(on("Mul", turned("q"), op.AnyNumber("times q")), on("Div", turned("q"), op.AnyNumber("over q")), turned("q"))
	keys := on("Transpose", turned("k")).As("keys")
	k := op.Either(on("Mul", keys, op.AnyNumber("times k")), on("Div", keys, op.AnyNumber("over k")), keys)
	scores := on("MatMul", q, k).As("scores")
	scaled := op.Either(on("Mul", scores, op.AnyNumber("times")), on("Div", scores, op.AnyNumber("over")), scores)
	masked := op.Either(on("Add", scaled, op.Anything("mask")), scaled)
	out := on("MatMul", on("Softmax", masked).As("softmax"), turned("v")).As("out")
	return op.Rewrite{Name: "attention", Pattern: op.Either(on("Transpose", out).As("out turned"), out), Build: attentionOf}
}

func attentionOf(m op.Match) *op.Replacement {
	scores := m.Value("scores").Type
	rank := scores.Rank()
	if rank != 3 && rank != 4 || !scores.DType.IsFloat() || !softmaxOfLast(m) {
		return nil
	}
	cfg := HeadAttentionConfig{Scale: 1}
	ok := true
	// Axis 1 has the heads or, before a Transpose, axis 2.
	moved := func(name string) bool {
		if !m.Value(name + " turned").Present() {
			return false
		}
		ok = ok && rank == 4 && turns(m, name+" turned", 0, 2, 1, 3)
		return true
	}
	cfg.RowsQ, cfg.RowsV, cfg.RowsY = moved("q"), moved("v"), moved("out")
	switch {
	case rank == 3:
		ok = ok && turns(m, "keys", 0, 2, 1) && !m.Value("k turned").Present()
	case m.Value("k turned").Present():
		cfg.RowsK = true
		ok = ok && turns(m, "k turned", 0, 2, 1, 3) && turns(m, "keys", 0, 1, 3, 2)
	case turns(m, "keys", 0, 2, 3, 1):
		cfg.RowsK = true
	default:
		ok = ok && turns(m, "keys", 0, 1, 3, 2)
	}
	if !ok {
		return nil
	}
	for _, part := range []string{"", " q", " k"} {
		if x, ok := m.Number("times" + part); ok {
			cfg.Scale *= x
		}
		if x, ok := m.Number("over" + part); ok {
			cfg.Scale /= x
		}
	}
	in := sources(m, "q", "k", "v")
	if mask := m.Value("mask"); mask.Present() {
		in = append(in, mask)
	}
	return &op.Replacement{Config: cfg, In: in}
}

// softmaxOfLast reports whether the softmax of the match runs over the last axis.
func softmaxOfLast(m op.Match) bool {
	c, ok := configOf(m, "softmax").(SoftmaxConfig)
	return ok && softmaxAxis(m, c.Axis, m.Value("softmax").Type.Rank()-1)
}

// softmaxAxis reports whether a softmax with this attribute runs over one axis alone, the given one.
func softmaxAxis(m op.Match, attr *int, want int) bool {
	softmax := m.Value("softmax")
	rank := softmax.Type.Rank()
	axis, old := -1, m.Call(softmax).Version < 13
	if old {
		axis = 1
	}
	if attr != nil {
		axis = *attr
	}
	if axis < 0 {
		axis += rank
	}
	return axis == want && (!old || axis == rank-1) // up to version 13 all axes after it were taken as one
}

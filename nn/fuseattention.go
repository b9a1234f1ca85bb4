package nn

import (
	"github.com/graft-ml/graft/nn/op/std"
)

// attentionRule is scaled dot product attention: softmax(scale·Q·Kᵀ + mask)·V. Transposes that
// only move the heads to and fro are taken in: the operator reads and writes them by strides.
func attentionRule() rule {
	turned := func(name string) term {
		return either(on("Transpose", anything(name)).as(name+" turned"), anything(name))
	}
	q := either(on("Mul", turned("q"), scalar("times q")), on("Div", turned("q"), scalar("over q")), turned("q"))
	keys := on("Transpose", turned("k")).as("keys")
	k := either(on("Mul", keys, scalar("times k")), on("Div", keys, scalar("over k")), keys)
	scores := on("MatMul", q, k).as("scores")
	scaled := either(on("Mul", scores, scalar("times")), on("Div", scores, scalar("over")), scores)
	masked := either(on("Add", scaled, anything("mask")), scaled)
	out := on("MatMul", on("Softmax", masked).as("softmax"), turned("v")).as("out")
	return rule{"attention", either(on("Transpose", out).as("out turned"), out), attentionOf}
}

func attentionOf(m *matching) *fused {
	scores := m.typ("scores")
	rank := scores.Rank()
	if rank != 3 && rank != 4 || !scores.DType.IsFloat() || !m.softmaxOfLast() {
		return nil
	}
	cfg := std.HeadAttentionConfig{Scale: 1}
	ok := true
	// Heads lie second, or behind the rows in what a Transpose moves.
	moved := func(name string) bool {
		if m.named[name+" turned"] == nil {
			return false
		}
		ok = ok && rank == 4 && m.turns(name+" turned", 0, 2, 1, 3)
		return true
	}
	cfg.RowsQ, cfg.RowsV, cfg.RowsY = moved("q"), moved("v"), moved("out")
	switch {
	case rank == 3:
		ok = ok && m.turns("keys", 0, 2, 1) && m.named["k turned"] == nil
	case m.named["k turned"] != nil:
		cfg.RowsK = true
		ok = ok && m.turns("k turned", 0, 2, 1, 3) && m.turns("keys", 0, 1, 3, 2)
	case m.turns("keys", 0, 2, 3, 1):
		cfg.RowsK = true
	default:
		ok = ok && m.turns("keys", 0, 1, 3, 2)
	}
	if !ok {
		return nil
	}
	for name, x := range m.nums {
		switch name {
		case "times", "times q", "times k":
			cfg.Scale *= x
		default:
			cfg.Scale /= x
		}
	}
	in := values(m.named["q"], m.named["k"], m.named["v"])
	if mask := m.named["mask"]; mask != nil {
		in = append(in, operand{value: mask})
	}
	return &fused{cfg, in}
}

// softmaxOfLast says whether the softmax of the match runs over the last axis.
func (m *matching) softmaxOfLast() bool {
	c, ok := m.config("softmax").(std.SoftmaxConfig)
	return ok && m.softmaxAxis(c.Axis, m.typ("softmax").Rank()-1)
}

// softmaxAxis says whether a softmax with this attribute runs over one axis alone, the given one.
func (m *matching) softmaxAxis(attr *int, want int) bool {
	rank := m.typ("softmax").Rank()
	axis, old := -1, m.root.graph.opset("") < 13
	if old {
		axis = 1
	}
	if attr != nil {
		axis = *attr
	}
	if axis < 0 {
		axis += rank
	}
	return axis == want && (!old || axis == rank-1) // up to version 13 all axes behind it were taken as one
}

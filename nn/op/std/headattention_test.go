package std_test

import (
	"testing"

	"github.com/graft-ml/graft/internal/kernel/softmax"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestHeadAttention(t *testing.T) {
	q, k, v := optest.Rand(1, 2, 3, 4, 5), optest.Rand(2, 2, 3, 6, 5), optest.Rand(3, 2, 3, 6, 2)
	const pinned = "heads and rows are pinned"
	runDeclared(t,
		optest.Case{Name: "plain", Config: std.HeadAttentionConfig{Scale: 1}, In: values(q, k, v), NoCut: pinned},
		optest.Case{Name: "scale and mask", Config: std.HeadAttentionConfig{Scale: 0.4}, In: values(q, k, v, optest.Rand(4, 3, 1, 6)), NoCut: pinned},
		optest.Case{Name: "a mask for each row", Config: std.HeadAttentionConfig{Scale: 0.4}, In: values(q, k, v, optest.Rand(4, 2, 1, 4, 1)), NoCut: pinned},
		optest.Case{Name: "rows first", Config: std.HeadAttentionConfig{Scale: 0.4, RowsQ: true, RowsK: true, RowsV: true, RowsY: true},
			In: values(optest.Rand(1, 2, 4, 3, 5), optest.Rand(2, 2, 6, 3, 5), optest.Rand(3, 2, 6, 3, 2)), NoCut: pinned},
		optest.Case{Name: "some rows first", Config: std.HeadAttentionConfig{Scale: 1, RowsK: true, RowsY: true},
			In: values(q, optest.Rand(2, 2, 6, 3, 5), v, optest.Rand(4, 4, 6)), NoCut: pinned},
		optest.Case{Name: "rank 3", Config: std.HeadAttentionConfig{Scale: 1}, In: values(optest.Rand(1, 3, 4, 5), optest.Rand(2, 3, 6, 5), optest.Rand(3, 3, 6, 2)), NoCut: pinned},
	)
	optest.Fails(t, optest.Case{Name: "keys", Config: std.HeadAttentionConfig{Scale: 1}, In: values(q, optest.Rand(2, 2, 3, 6, 4), v), Refusal: "Q float32[2,3,4,5], K float32[2,3,6,4] and V float32[2,3,6,2] do not fit"})
	optest.Fails(t, optest.Case{Name: "heads", Config: std.HeadAttentionConfig{Scale: 1}, In: values(q, optest.Rand(2, 2, 1, 6, 5), v), Refusal: "Q float32[2,3,4,5], K float32[2,1,6,5] and V float32[2,3,6,2] do not fit"})
	optest.Fails(t, optest.Case{Name: "mask", Config: std.HeadAttentionConfig{Scale: 1}, In: values(q, k, v, optest.Rand(4, 5, 6)), Refusal: "input mask: want float32[2,3,4,6], got float32[5,6]"})
	optest.Fails(t, optest.Case{Name: "rank", Config: std.HeadAttentionConfig{Scale: 1}, In: values(q, k, optest.Rand(3, 6, 2)), Refusal: "input V: want heads of rows, got float32[6,2]"})
}

// TestPackedAttention: parts in turn, and the parts of each head in turn with rows in front of heads.
func TestPackedAttention(t *testing.T) {
	const pinned = "heads and rows are pinned"
	layout := func(batch, head, row int) softmax.Attention {
		s := softmax.HeadStrides{Batch: batch, Head: head, Row: row}
		return softmax.Attention{Batch: 2, Heads: 3, Rows: 4, Keys: 4, Depth: 5, Width: 5, Scale: 0.4, Q: s, K: s, V: s}
	}
	inTurn, ofHeads := layout(60, 20, 5), layout(180, 15, 45)
	inTurn.Y = inTurn.Q
	ofHeads.Y, ofHeads.Mask = softmax.HeadStrides{Batch: 60, Head: 5, Row: 15}, [4]int{0, 0, 4, 1}
	runDeclared(t,
		optest.Case{Name: "parts in turn", Config: std.PackedAttentionConfig{Layout: inTurn, From: [3]int{0, 240, 120}},
			In: values(optest.Rand(1, 3, 2, 3, 4, 5)), NoCut: pinned},
		optest.Case{Name: "parts of heads, a mask", Config: std.PackedAttentionConfig{Layout: ofHeads, From: [3]int{0, 5, 10}, RowsY: true},
			In: values(optest.Rand(1, 2, 4, 3, 15), optest.Rand(2, 4, 4)), NoCut: pinned},
	)
	optest.Fails(t, optest.Case{Name: "elements", Config: std.PackedAttentionConfig{Layout: inTurn}, In: values(optest.Rand(1, 2, 3, 4, 5)), Refusal: "queries, keys and values have 360 elements, the tensor is float32[2,3,4,5]"})
}

func TestLinear(t *testing.T) {
	const pinned = "exists in lowerings only"
	runDeclared(t,
		optest.Case{Name: "plain", Config: std.LinearConfig{}, In: values(optest.Rand(1, 2, 3, 4), optest.Rand(2, 4, 5)), NoCut: pinned},
		optest.Case{Name: "transposed, bias", Config: std.LinearConfig{TransB: true}, In: values(optest.Rand(1, 2, 3, 4), optest.Rand(2, 5, 4), optest.Rand(3, 5)), NoCut: pinned},
		optest.Case{Name: "matrix, bias of rank 2", Config: std.LinearConfig{}, In: values(optest.Rand(1, 3, 4), optest.Rand(2, 4, 5), optest.Rand(3, 1, 5)), NoCut: pinned},
	)
	optest.Fails(t, optest.Case{Name: "inner", Config: std.LinearConfig{TransB: true}, In: values(optest.Rand(1, 3, 4), optest.Rand(2, 4, 5)), Refusal: "X is float32[3,4], W float32[4,5]: inner dimensions 4 and 5 differ"})
	optest.Fails(t, optest.Case{Name: "stack", Config: std.LinearConfig{}, In: values(optest.Rand(1, 3, 4), optest.Rand(2, 2, 4, 5)), Refusal: "cannot multiply float32[3,4] by float32[2,4,5]"})
}

func TestReorder(t *testing.T) {
	const pinned = "exists in lowerings only"
	runDeclared(t,
		optest.Case{Name: "all", Config: std.ReorderConfig{From: []int{4, 0, 2}, Size: []int{2, 2, 2}}, In: values(optest.Rand(1, 6, 3)), NoCut: pinned},
		optest.Case{Name: "some, inner axis", Config: std.ReorderConfig{Axis: 1, From: []int{4, 0}, Size: []int{2, 1}}, In: values(optest.Rand(1, 2, 6, 3)), NoCut: pinned},
	)
	optest.Fails(t, optest.Case{Name: "twice", Config: std.ReorderConfig{From: []int{0, 1}, Size: []int{2, 2}}, In: values(optest.Rand(1, 6)), Refusal: "takes indices from 0 and from 1 on, which overlap"})
	optest.Fails(t, optest.Case{Name: "outside", Config: std.ReorderConfig{From: []int{5}, Size: []int{2}}, In: values(optest.Rand(1, 6)), Refusal: "indices 5 to 7 are outside of axis 0 of float32[6]"})
}

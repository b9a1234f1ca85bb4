package op_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
)

func TestHeadAttention(t *testing.T) {
	q, k, v := optest.Rand(1, 2, 3, 4, 5), optest.Rand(2, 2, 3, 6, 5), optest.Rand(3, 2, 3, 6, 2)
	const pinned = "heads and rows are pinned"
	optest.Run(t,
		optest.Case{Name: "plain", Config: op.HeadAttentionConfig{Scale: 1}, In: values(q, k, v), NoCut: pinned},
		optest.Case{Name: "scale and mask", Config: op.HeadAttentionConfig{Scale: 0.4}, In: values(q, k, v, optest.Rand(4, 3, 1, 6)), NoCut: pinned},
		optest.Case{Name: "a mask for each row", Config: op.HeadAttentionConfig{Scale: 0.4}, In: values(q, k, v, optest.Rand(4, 2, 1, 4, 1)), NoCut: pinned},
		optest.Case{Name: "rows first", Config: op.HeadAttentionConfig{Scale: 0.4, RowsQ: true, RowsK: true, RowsV: true, RowsY: true},
			In: values(optest.Rand(1, 2, 4, 3, 5), optest.Rand(2, 2, 6, 3, 5), optest.Rand(3, 2, 6, 3, 2)), NoCut: pinned},
		optest.Case{Name: "some rows first", Config: op.HeadAttentionConfig{Scale: 1, RowsK: true, RowsY: true},
			In: values(q, optest.Rand(2, 2, 6, 3, 5), v, optest.Rand(4, 4, 6)), NoCut: pinned},
		optest.Case{Name: "rank 3", Config: op.HeadAttentionConfig{Scale: 1}, In: values(optest.Rand(1, 3, 4, 5), optest.Rand(2, 3, 6, 5), optest.Rand(3, 3, 6, 2)), NoCut: pinned},
	)
	optest.Fails(t, optest.Case{Name: "keys", Config: op.HeadAttentionConfig{Scale: 1}, In: values(q, optest.Rand(2, 2, 3, 6, 4), v)})
	optest.Fails(t, optest.Case{Name: "heads", Config: op.HeadAttentionConfig{Scale: 1}, In: values(q, optest.Rand(2, 2, 1, 6, 5), v)})
	optest.Fails(t, optest.Case{Name: "mask", Config: op.HeadAttentionConfig{Scale: 1}, In: values(q, k, v, optest.Rand(4, 5, 6))})
	optest.Fails(t, optest.Case{Name: "rank", Config: op.HeadAttentionConfig{Scale: 1}, In: values(q, k, optest.Rand(3, 6, 2))})
}

func TestLinear(t *testing.T) {
	const pinned = "exists in lowerings only"
	optest.Run(t,
		optest.Case{Name: "plain", Config: op.LinearConfig{}, In: values(optest.Rand(1, 2, 3, 4), optest.Rand(2, 4, 5)), NoCut: pinned},
		optest.Case{Name: "transposed, bias", Config: op.LinearConfig{TransB: true}, In: values(optest.Rand(1, 2, 3, 4), optest.Rand(2, 5, 4), optest.Rand(3, 5)), NoCut: pinned},
		optest.Case{Name: "matrix, bias of rank 2", Config: op.LinearConfig{}, In: values(optest.Rand(1, 3, 4), optest.Rand(2, 4, 5), optest.Rand(3, 1, 5)), NoCut: pinned},
	)
	optest.Fails(t, optest.Case{Name: "inner", Config: op.LinearConfig{TransB: true}, In: values(optest.Rand(1, 3, 4), optest.Rand(2, 4, 5))})
	optest.Fails(t, optest.Case{Name: "stack", Config: op.LinearConfig{}, In: values(optest.Rand(1, 3, 4), optest.Rand(2, 2, 4, 5))})
}

func TestReorder(t *testing.T) {
	const pinned = "exists in lowerings only"
	optest.Run(t,
		optest.Case{Name: "all", Config: op.ReorderConfig{From: []int{4, 0, 2}, Size: []int{2, 2, 2}}, In: values(optest.Rand(1, 6, 3)), NoCut: pinned},
		optest.Case{Name: "some, inner axis", Config: op.ReorderConfig{Axis: 1, From: []int{4, 0}, Size: []int{2, 1}}, In: values(optest.Rand(1, 2, 6, 3)), NoCut: pinned},
	)
	optest.Fails(t, optest.Case{Name: "twice", Config: op.ReorderConfig{From: []int{0, 1}, Size: []int{2, 2}}, In: values(optest.Rand(1, 6))})
	optest.Fails(t, optest.Case{Name: "outside", Config: op.ReorderConfig{From: []int{5}, Size: []int{2}}, In: values(optest.Rand(1, 6))})
}

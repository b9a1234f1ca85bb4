package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestAttention(t *testing.T) {
	q, k, v := optest.Rand(1, 2, 2, 3, 4), optest.Rand(2, 2, 2, 5, 4), optest.Rand(3, 2, 2, 5, 6)
	packed := func(seed uint64, n, heads int) dtype.Value { return optest.Rand(seed, 2, n, 4*heads) }
	mask := optest.Tensor([]bool{true, false, true, true, false, false, false, false, false, false, true, true, true, true, true}, 3, 5)
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.AttentionConfig{}, In: values(q, k, v)},
		optest.Case{Name: "causal", Config: std.AttentionConfig{Causal: true}, In: values(q, k, v)},
		optest.Case{Name: "scale and cap", Config: std.AttentionConfig{Scale: number(0.3), Softcap: 0.7}, In: values(q, k, v)},
		optest.Case{Name: "precision", Config: std.AttentionConfig{Precision: dtype.Float64}, In: values(q, k, v)},
		optest.Case{Name: "mask with a blind query", Config: std.AttentionConfig{}, In: values(q, k, v, mask)},
		optest.Case{Name: "bias", Config: std.AttentionConfig{}, In: values(q, k, v, optest.Rand(4, 2, 1, 3, 5))},
		optest.Case{Name: "short mask", Config: std.AttentionConfig{}, In: values(q, k, v, optest.Rand(4, 3, 4))},
		optest.Case{Name: "groups", Config: std.AttentionConfig{}, In: values(optest.Rand(1, 2, 4, 3, 4), k, v)},
		optest.Case{Name: "packed groups", Config: std.AttentionConfig{QHeads: 4, KVHeads: 2}, In: values(packed(1, 3, 4), packed(2, 5, 2), packed(3, 5, 2))},
		optest.Case{Name: "cache", Config: std.AttentionConfig{Causal: true, QKOutputMode: 3}, Outputs: 4,
			In: values(q, k, v, nil, optest.Rand(4, 2, 2, 3, 4), optest.Rand(5, 2, 2, 3, 6))},
		optest.Case{Name: "scores", Config: std.AttentionConfig{QKOutputMode: 1, Softcap: 2}, Outputs: 4, Skip: []int{1, 2}, In: values(q, k, v)},
		optest.Case{Name: "lengths", Config: std.AttentionConfig{Causal: true}, In: values(q, k, v, nil, nil, nil, optest.Ints(5, 2))},
		optest.Case{Name: "version 23", Config: std.AttentionConfig{}, Version: 23, In: values(q, k, v)},
	)
	for _, c := range []optest.Case{
		{Name: "heads", Config: std.AttentionConfig{}, In: values(packed(1, 3, 2), packed(2, 5, 2), packed(3, 5, 2)), Refusal: "q_num_heads and kv_num_heads are needed for inputs of rank 3"},
		{Name: "uneven groups", Config: std.AttentionConfig{}, In: values(optest.Rand(1, 2, 3, 3, 4), k, v), Refusal: "3 query heads are no multiple of 2 key heads"},
		{Name: "mode", Config: std.AttentionConfig{QKOutputMode: 4}, In: values(q, k, v), Refusal: "qk_matmul_output_mode 4 is unknown"},
		{Name: "half a cache", Config: std.AttentionConfig{}, In: values(q, k, v, nil, optest.Rand(4, 2, 2, 3, 4)), Refusal: "past_key and past_value come together or not at all"},
	} {
		optest.Fails(t, c)
	}
}

func TestRotaryEmbedding(t *testing.T) {
	x, packed := optest.Rand(1, 2, 2, 3, 4), optest.Rand(1, 2, 3, 8)
	cos, sin := optest.Rand(2, 5, 2), optest.Rand(3, 5, 2)
	at := optest.Tensor([]int64{0, 1, 2, 4, 3, 0}, 2, 3)
	optest.Run(t,
		optest.Case{Name: "positions", Config: std.RotaryEmbeddingConfig{}, In: values(x, cos, sin, at)},
		optest.Case{Name: "interleaved", Config: std.RotaryEmbeddingConfig{Interleaved: true}, In: values(x, cos, sin, at)},
		optest.Case{Name: "part", Config: std.RotaryEmbeddingConfig{RotaryDim: 2}, In: values(x, optest.Rand(2, 2, 3, 1), optest.Rand(3, 2, 3, 1))},
		optest.Case{Name: "packed", Config: std.RotaryEmbeddingConfig{NumHeads: 2}, In: values(packed, cos, sin, at)},
	)
	optest.Fails(t, optest.Case{Config: std.RotaryEmbeddingConfig{}, In: values(packed, cos, sin, at), Refusal: "num_heads is needed for an input of rank 3"})
	optest.Fails(t, optest.Case{Config: std.RotaryEmbeddingConfig{RotaryDim: 6}, In: values(x, cos, sin, at), Refusal: "rotary_embedding_dim is 6, a head has 4 elements"})
}

func TestLinearAttention(t *testing.T) {
	q, k, v := optest.Rand(1, 1, 3, 8), optest.Rand(2, 1, 3, 4), optest.Rand(3, 1, 3, 6)
	decay, beta, past := optest.Spread(4, -1, 0, 1, 3, 4), optest.Spread(5, 0.1, 0.9, 1, 3, 2), optest.Rand(6, 1, 2, 2, 3)
	heads := func(rule string) std.LinearAttentionConfig {
		return std.LinearAttentionConfig{QHeads: 4, KVHeads: 2, Rule: rule}
	}
	scaled := heads("")
	scaled.Scale, scaled.ChunkSize = 0.4, 2
	optest.Run(t,
		optest.Case{Name: "gated delta", Config: scaled, In: values(q, k, v, past, decay, beta), Outputs: 2},
		optest.Case{Name: "linear", Config: heads("linear"), In: values(q, k, v)},
		optest.Case{Name: "gated", Config: heads("gated"), In: values(q, k, v, nil, optest.Spread(4, -1, 0, 1, 3, 2))},
		optest.Case{Name: "delta", Config: heads("delta"), In: values(q, k, v, past, nil, beta)},
	)
	optest.Fails(t, optest.Case{Config: heads("delta"), In: values(q, k, v), Refusal: "update_rule delta needs decay or beta, which is absent"})
}

func TestSwiGLU(t *testing.T) {
	a, b := optest.Rand(1, 2, 3), optest.Rand(2, 2, 3)
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.SwiGLUConfig{}, In: values(a, b)},
		optest.Case{Name: "alpha", Config: std.SwiGLUConfig{Alpha: number(0.5)}, In: values(a, b)})
	optest.Fails(t, optest.Case{Config: std.SwiGLUConfig{}, In: values(a, optest.Rand(2, 3)), Refusal: "input B: want float32[2,3], got float32[3]"})
}

func TestCausalConvWithState(t *testing.T) {
	x, w, b, past := optest.Rand(1, 2, 3, 5), optest.Rand(2, 3, 1, 4), optest.Rand(3, 3), optest.Rand(4, 2, 3, 3)
	optest.Run(t,
		optest.Case{Name: "all", Config: std.CausalConvWithStateConfig{Activation: "silu"}, In: values(x, w, b, past), Outputs: 2},
		optest.Case{Name: "plain", Config: std.CausalConvWithStateConfig{}, In: values(x, w)})
	optest.Fails(t, optest.Case{Config: std.CausalConvWithStateConfig{Activation: "tanh"}, In: values(x, w), Refusal: "activation \"tanh\" is unknown"})
}

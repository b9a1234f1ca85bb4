package contrib_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
)

// TestTransformersRefuse has what the operators do not take and what they say to it.
func TestTransformersRefuse(t *testing.T) {
	x, ops := spread, set(t)
	no := func(refusal string, c op.Config, v ...dtype.Value) {
		t.Helper()
		optest.Fails(t, optest.Case{Ops: ops, Name: refusal, Config: c, In: v, Outputs: 1, Refusal: refusal})
	}
	words, tables := ids([]int{1, 2}, 0, 1), in(x(1, 3, 4), x(2, 3, 4), x(3, 2, 4), x(4, 4), x(5, 4))
	embed := contrib.EmbedLayerNormalizationConfig{}
	no("input word_embedding: want a value, got nothing", embed, words, nil, nil, tables[1], nil, tables[3], tables[4])
	no("segment_ids and segment_embedding come together or not at all", embed, words, words, tables[0], tables[1], nil, tables[3], tables[4])
	no("input position_embedding: want float32[?,4], got float32[3,5]", embed, words, nil, tables[0], x(2, 3, 5), nil, tables[3], tables[4])
	no("input mask: want int32[1,2], got int32[1,3]", embed, words, nil, tables[0], tables[1], nil, tables[3], tables[4], ids([]int{1, 3}, 1, 1, 1))
	no("input position_ids: want int32[1,2], got int32[2,1]", embed, words, nil, tables[0], tables[1], nil, tables[3], tables[4], nil, ids([]int{2, 1}, 1, 1))

	at, cos := numbers(dtype.Int64, []int{1}, 0), x(2, 6, 2)
	no("want one of the ranks [3 4], got float32[2,3]", contrib.RotaryEmbeddingConfig{}, x(1, 2, 3), at, cos, cos)
	no("input sin_cache: want float32[6,2], got float32[5,2]", contrib.RotaryEmbeddingConfig{}, x(1, 2, 3, 8), at, cos, x(2, 5, 2))
	no("rotary_embedding_dim needs num_heads", contrib.RotaryEmbeddingConfig{RotaryDim: 4}, x(1, 2, 3, 8), at, cos, cos)
	no("cannot cut float32[2,3,6] into heads of 4", contrib.RotaryEmbeddingConfig{}, x(1, 2, 3, 6), at, cos, cos)
	no("position_ids: want int64[2,3], got int64[2,2]", contrib.RotaryEmbeddingConfig{}, x(1, 2, 3, 8), numbers(dtype.Int64, []int{2, 2}, 0, 1, 0, 1), cos, cos)
	no("position_ids: want one number or int64[2,3], got int64[2]", contrib.RotaryEmbeddingConfig{}, x(1, 2, 3, 8), numbers(dtype.Int64, []int{2}, 0, 1), cos, cos)

	rows, w, b := x(1, 2, 3, 5), x(2, 5, 24), x(3, 24)
	two := contrib.AttentionConfig{NumHeads: 2}
	no("input input: want rank 3, got float32[3,5]", two, x(1, 3, 5), w, b)
	no("input weights: want float32[5,?], got float32[4,24]", two, rows, x(2, 4, 24), b)
	no("input bias: want float32[24], got float32[23]", two, rows, w, x(3, 23))
	no("cannot cut float32[2,3,8] into 3 heads", contrib.AttentionConfig{NumHeads: 3}, rows, w, b)
	no("num_heads is 0", contrib.AttentionConfig{}, rows, w, b)
	no("qkv_hidden_sizes has 2 elements, want 3", contrib.AttentionConfig{NumHeads: 2, HiddenSizes: []int{8, 16}}, rows, w, b)
	no("queries have hidden size 8, keys 4", contrib.AttentionConfig{NumHeads: 2, HiddenSizes: []int{8, 4, 12}}, rows, w, b)
	no("float32[5,24] is no sum of the hidden sizes 4, 4 and 8", contrib.AttentionConfig{NumHeads: 2, HiddenSizes: []int{4, 4, 8}}, rows, w, b)
	no("want lengths [2], [4] or [8] or flags [2,3], [2,3,3] or [2,1,M,M], got int32[2,4]", two, rows, w, b, ids([]int{2, 4}, 1, 1, 1, 1, 1, 1, 1, 1))
	no("input past: want float32[2,2,2,?,4], got float32[2,2,3,2,4]", two, rows, w, b, nil, x(4, 2, 2, 3, 2, 4))
	no("past_present_share_buffer needs past and past_sequence_length", contrib.AttentionConfig{NumHeads: 2, ShareBuffer: true}, rows, w, b, nil, x(4, 2, 2, 2, 6, 4))
	no("has no room for 3 rows from 4 on", contrib.AttentionConfig{NumHeads: 2, ShareBuffer: true}, rows, w, b, nil, x(4, 2, 2, 2, 6, 4), nil, ids([]int{1}, 4))
	no("input attention_bias: want float32[2,2,3,3], got float32[2,2,3,4]", two, rows, w, b, nil, nil, x(5, 2, 2, 3, 4))
	no("input past_sequence_length is -2", contrib.AttentionConfig{NumHeads: 2, ShareBuffer: true}, rows, w, b, nil, x(4, 2, 2, 2, 6, 4), nil, ids([]int{1}, -2))
	no("qkv_hidden_sizes are [8 8 -8]", contrib.AttentionConfig{NumHeads: 2, HiddenSizes: []int{8, 8, -8}}, rows, w, b)
	no("cannot rotate -2 of 4 elements of a head", contrib.AttentionConfig{NumHeads: 2, DoRotary: true, RotaryDim: -2}, rows, w, b)
	no("cannot rotate 6 of 4 elements of a head", contrib.AttentionConfig{NumHeads: 2, DoRotary: true, RotaryDim: 6}, rows, w, b)

	q, k, v := x(1, 2, 3, 8), x(2, 2, 4, 8), x(3, 2, 4, 12)
	many := contrib.MultiHeadAttentionConfig{NumHeads: 2}
	no("input value: want a value, got nothing", many, q, k)
	no("input key: want a value, got nothing", many, q, nil, v)
	no("without key and value it has them in it and is of rank 5, got float32[2,3,8]", many, q)
	no("input query: want float32[?,?,2,3,?], got float32[2,3,2,2,4]", many, x(1, 2, 3, 2, 2, 4))
	no("queries float32[2,2,3,4], keys float32[2,2,4,4] and values float32[2,2,3,6] do not fit", many, q, k, x(3, 2, 3, 12))
	no("past_key and past_value come together or not at all", many, q, k, v, nil, nil, nil, x(4, 2, 2, 2, 4))
	no("has no elements 16 to 28 along axis 0", many, q, k, v, x(4, 24))
	no("cache_indirection needs past_key", many, q, k, v, nil, nil, nil, nil, nil, nil, ids([]int{1, 2, 2}, 0, 1, 1, 0))
	step := contrib.DecoderMaskedMultiHeadAttentionConfig{NumHeads: 2, ShareBuffer: true}
	q1, past := x(1, 2, 1, 8), x(4, 2, 2, 5, 4)
	no("input query: want a sequence of length 1, got float32[2,3,8]", step, q, k, v)
	no("a cache with room needs past_sequence_length", step, q1, q1, q1, nil, nil, past, past)
	no("has no room for 1 rows from 5 on", step, q1, q1, q1, nil, nil, past, past, ids([]int{1}, 5))
	no("beam_width [2] needs cache_indirection", step, q1, q1, q1, nil, nil, past, past, ids([]int{1}, 3), ids([]int{1}, 2))
}

func TestGroupQueryAttentionRefuses(t *testing.T) {
	x, ops := spread, set(t)
	no := func(refusal string, c contrib.GroupQueryAttentionConfig, v ...dtype.Value) {
		t.Helper()
		if c.NumHeads == 0 {
			c.NumHeads, c.KVHeads = 4, 2
		}
		optest.Fails(t, optest.Case{Ops: ops, Name: refusal, Config: c, In: v, Refusal: refusal})
	}
	q, k, v := x(1, 2, 3, 32), x(2, 2, 3, 16), x(3, 2, 3, 16)
	last, total := ids([]int{2}, 2, 2), ids([]int{1}, 3)
	type config = contrib.GroupQueryAttentionConfig
	no("3 query heads are no multiple of 2 key heads", config{NumHeads: 3, KVHeads: 2}, q, k, v, nil, nil, last, total)
	no("input seqlens_k: want a value, got nothing", config{}, q, k, v, nil, nil, nil, total)
	no("input total_sequence_length is 2, for 3 queries", config{}, q, k, v, nil, nil, last, ids([]int{1}, 2))
	no("input total_sequence_length is -1", config{}, q, k, v, nil, nil, last, ids([]int{1}, -1))
	no("input total_sequence_length: want one number, got int32[2]", config{}, q, k, v, nil, nil, last, ids([]int{2}, 3, 3))
	no("input seqlens_k: want int32[2], got int32[3]", config{}, q, k, v, nil, nil, ids([]int{3}, 2, 2, 2), total)
	no("key and value come together or not at all", config{}, q, k, nil, nil, nil, last, total)
	no("cannot cut float32[2,3,33] into 4 query heads and 2 key and value heads each", config{}, x(1, 2, 3, 33), nil, nil, nil, nil, last, total)
	no("do not fit", config{}, q, k, x(3, 2, 3, 8), nil, nil, last, total)
	no("k_quant_type is PER_TENSOR, v_quant_type NONE: both are quantized or neither", config{KQuantType: "PER_TENSOR"}, q, k, v, nil, nil, last, total)
	int8s, per := some(1, dtype.Int8, 100, 2, 2, 3, 8), func(bits int, t string) config { return config{KQuantType: t, VQuantType: t, CacheBits: bits} }
	no(`the quantization "PER_ROW" is unknown`, per(8, "PER_ROW"), q, k, v, int8s, int8s, last, total)
	no("a cache of 16 bits is not supported", per(16, "PER_TENSOR"), q, k, v, int8s, int8s, last, total)
	no("a quantized cache needs past_key, past_value, k_scale and v_scale", per(8, "PER_TENSOR"), q, k, v, int8s, int8s, last, total)
	scaled := func(scale, past dtype.Value) []dtype.Value {
		return in(q, k, v, past, past, last, total, nil, nil, nil, nil, nil, scale, scale)
	}
	no("a cache of 4 bits is of type uint8, got int8[2,2,3,8] and int8[2,2,3,8]", per(4, "PER_TENSOR"), scaled(x(1, 1), int8s)...)
	no("input k_scale: want one scale, got float32[2]", per(8, "PER_TENSOR"), scaled(x(1, 2), int8s)...)
	no("input k_scale: want 16 scales, got float32[8]", per(8, "PER_CHANNEL"), scaled(x(1, 8), int8s)...)
	no("input past_key: want int8[2,2,?,8], got int8[2,3,3,8]", per(8, "PER_TENSOR"), scaled(x(1, 1), some(1, dtype.Int8, 9, 2, 3, 3, 8))...)
	no("are of other types than query float32[2,3,32]", config{}, q, k, v, int8s, int8s, last, total)
	no("sliding_window_cache needs local_window_size and past_key", config{SlidingCache: true}, q, k, v, nil, nil, last, total)
	past := x(4, 2, 2, 2, 8)
	no("qk_output is not supported with sliding_window_cache", config{SlidingCache: true, LocalWindow: pointer(2), QKOutput: 1}, q, k, v, past, past, last, total)
	no("a cache of 2 rows is shorter than the window of 3", config{SlidingCache: true, LocalWindow: pointer(3)}, q, k, v, past, past, last, total)
	no("qk_output 3 is unknown", config{QKOutput: 3}, q, k, v, nil, nil, last, total)
	no("local_window_size is 0, want -1 or the number of keys that a query sees", config{LocalWindow: pointer(0)}, q, k, v, nil, nil, last, total)
	no("local_window_size needs causal attention", config{LocalWindow: pointer(2), Causal: pointer(false)}, q, k, v, nil, nil, last, total)
	no("softcap -1 is negative", config{Softcap: -1}, q, k, v, nil, nil, last, total)
	no("past_key and past_value come together or not at all", config{}, q, k, v, x(4, 2, 2, 3, 8), nil, last, total)
	no("input past_key: want float32[2,2,?,8], got float32[2,3,3,8]", config{}, q, k, v, x(4, 2, 3, 3, 8), x(4, 2, 3, 3, 8), last, total)
	no("do_rotary needs cos_cache and sin_cache", config{DoRotary: true}, q, k, v, nil, nil, last, total)
	no("q_norm_weight and k_norm_weight come together or not at all", config{}, q, k, v, nil, nil, last, total, nil, nil, nil, nil, nil, nil, nil, x(4, 8))
	no("input head_sink: want float32[4], got float32[3]", config{}, q, k, v, nil, nil, last, total, nil, nil, nil, nil, x(4, 3))
	no("input attention_bias: want float32[2,4,3,3], got float32[2,3,3,3]", config{}, q, k, v, nil, nil, last, total, nil, nil, nil, x(4, 2, 3, 3, 3))
	no("input position_ids: want int64[2,3], got int64[2,2]", config{DoRotary: true}, q, k, v, nil, nil, last, total, x(5, 8, 4), x(5, 8, 4), numbers(dtype.Int64, []int{2, 2}, 0, 1, 0, 1))
}

func TestBlockQuantizedRefuses(t *testing.T) {
	x, ops := spread, set(t)
	no := func(refusal string, c op.Config, v ...dtype.Value) {
		t.Helper()
		optest.Fails(t, optest.Case{Ops: ops, Name: refusal, Config: c, In: v, Refusal: refusal})
	}
	u8 := func(dims ...int) dtype.Value { return some(1, dtype.Uint8, 256, dims...) }
	cfg := contrib.MatMulNBitsConfig{K: 40, N: 3, BlockSize: 16}
	with := func(f func(*contrib.MatMulNBitsConfig)) contrib.MatMulNBitsConfig { c := cfg; f(&c); return c }
	a, w, s := x(1, 2, 40), u8(3, 3, 8), x(2, 3, 3)
	no("weights of 3 bits are not supported", with(func(c *contrib.MatMulNBitsConfig) { c.Bits = 3 }), a, w, s)
	no("block_size 24 is not a power of 2 of at least 16", with(func(c *contrib.MatMulNBitsConfig) { c.BlockSize = 24 }), a, w, s)
	no("weight_prepacked 1 is not supported", with(func(c *contrib.MatMulNBitsConfig) { c.Prepacked = 1 }), a, w, s)
	no("K is 0 and N 3, want 1 or more", with(func(c *contrib.MatMulNBitsConfig) { c.K = 0 }), a, w, s)
	no("input A: want 40 columns, got float32[2,39]", cfg, x(1, 2, 39), w, s)
	no("input B: want uint8[3,3,8], got uint8[3,3,16]", cfg, a, u8(3, 3, 16), s)
	no("input scales: want float32[3,3], got float32[3,2]", cfg, a, w, x(2, 3, 2))
	no("input zero_points: want uint8[3,2], got uint8[3,3]", cfg, a, w, s, u8(3, 3))
	no("input bias: want float32[3], got float32[4]", cfg, a, w, s, nil, nil, x(3, 4))
	no("input g_idx: want int32[40], got int32[39]", cfg, a, w, s, nil, some(1, dtype.Int32, 3, 39))

	table := contrib.GatherBlockQuantizedConfig{BlockSize: 16}
	of := func(f func(*contrib.GatherBlockQuantizedConfig)) contrib.GatherBlockQuantizedConfig {
		c := table
		f(&c)
		return c
	}
	i := ids([]int{2}, 0, 1)
	no("elements of 3 bits are not supported", of(func(c *contrib.GatherBlockQuantizedConfig) { c.Bits = 3 }), u8(5, 20), i, x(1, 5, 3))
	no("block_size 8 is not a power of 2 of at least 16", of(func(c *contrib.GatherBlockQuantizedConfig) { c.BlockSize = 8 }), u8(5, 20), i, x(1, 5, 3))
	no("gather_axis and quantize_axis are both 1", of(func(c *contrib.GatherBlockQuantizedConfig) { c.GatherAxis = 1 }), u8(5, 20), i, x(1, 5, 3))
	no("elements in bytes are gathered along axis 0, not 1", of(func(c *contrib.GatherBlockQuantizedConfig) { c.GatherAxis, c.QuantizeAxis = 1, -2 }), u8(5, 20), i, x(1, 5, 3))
	no("elements that share bytes have their blocks along the last axis, not 1", table, u8(5, 20, 4), i, x(1, 5, 2, 4))
	no("axis 2 is outside of [-2, 1]", of(func(c *contrib.GatherBlockQuantizedConfig) { c.QuantizeAxis = 2 }), u8(5, 20), i, x(1, 5, 3))
	no("input scales: want float32[5,3], got float32[5,2]", table, u8(5, 20), i, x(1, 5, 2))
	no("input zero_points: want uint8[5,2], got uint8[5,3]", table, u8(5, 20), i, x(1, 5, 3), u8(5, 3))
}

func TestTransformsRefuse(t *testing.T) {
	x, ops := spread, set(t)
	no := func(refusal string, c op.Config, v ...dtype.Value) {
		t.Helper()
		optest.Fails(t, optest.Case{Ops: ops, Name: refusal, Config: c, In: v, Refusal: refusal})
	}
	no("input X: want square matrices, got float32[2,3]", plain("Inverse"), x(1, 2, 3))
	no("normalized is not supported", contrib.RfftConfig{SignalRank: 1, Normalized: true}, x(1, 4))
	no("onesided 0 is not supported", contrib.RfftConfig{SignalRank: 1, OneSided: pointer(false)}, x(1, 4))
	no("signal_ndim is 4, want 1 to 3", contrib.RfftConfig{SignalRank: 4}, x(1, 4))
	no("signal_ndim is 4611686018427387904, want 1 to 3", contrib.IrfftConfig{SignalRank: 1 << 62}, x(1, 4, 2))
	no("input X: want rank 2 or more, got float32[4]", contrib.RfftConfig{SignalRank: 2}, x(1, 4))
	no("input X: want complex numbers, pairs on the last axis, got float32[4,3]", contrib.IrfftConfig{SignalRank: 1}, x(1, 4, 3))
	no(`mode "around"`, contrib.PadConfig{Mode: "around"}, x(1, 4), numbers(dtype.Int64, []int{2}, 1, 1))
	no("input pads: want one row, got int64[2,2]", contrib.PadConfig{}, x(1, 2, 2), numbers(dtype.Int64, []int{2, 2}, 1, 1, 1, 1))
}

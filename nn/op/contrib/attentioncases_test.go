package contrib_test

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
	"gorgonia.org/tensor"
)

func attentionTrials() []trial {
	x := spread
	rows, w, b := x(1, 2, 3, 5), x(2, 5, 24), x(3, 24)
	past := x(4, 2, 2, 2, 2, 4) // 2 rows of 2 heads
	one := func(name string, c contrib.AttentionConfig, outputs int, v ...dtype.Value) trial {
		if c.NumHeads == 0 {
			c.NumHeads = 2
		}
		return trial{Case: optest.Case{Name: "Attention" + name, Config: c, In: v, Outputs: outputs}}
	}
	filter := pointer[float32](-3)
	shared := one(" shared", contrib.AttentionConfig{ShareBuffer: true, Unidirectional: true}, 2, rows, w, b, nil, x(4, 2, 2, 2, 6, 4), nil, ids([]int{1}, 2))
	shared.apart = "the CPU has no shared buffers"
	flags4 := some(5, dtype.Int32, 2, 2, 1, 6, 6)
	mega := one(" mask of all positions", contrib.AttentionConfig{MaskFilter: filter}, 1, rows, w, b, flags4)
	mega.apart = "the CPU has no masks of all positions"
	turned := one(" rotary", contrib.AttentionConfig{DoRotary: true, Unidirectional: true}, 2, rows, w, b, nil, past)
	turned.apart = "the CPU does not turn"
	part := one(" rotary partial", contrib.AttentionConfig{DoRotary: true, RotaryDim: 2}, 1, rows, w, b)
	part.apart = "the CPU does not turn"
	alone := one(" no bias", contrib.AttentionConfig{Scale: pointer[float32](0.3)}, 1, rows, w)
	alone.apart = "the CPU does not live through it"
	return []trial{
		alone,
		one("", contrib.AttentionConfig{}, 1, rows, w, b),
		one(" scale", contrib.AttentionConfig{Scale: pointer[float32](0.3)}, 1, rows, w, b),
		one(" causal", contrib.AttentionConfig{Unidirectional: true}, 2, rows, w, b),
		one(" past", contrib.AttentionConfig{Unidirectional: true}, 2, rows, w, b, nil, past),
		one(" past of all", contrib.AttentionConfig{}, 2, rows, w, b, ids([]int{2, 5}, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1), past),
		one(" lengths", contrib.AttentionConfig{MaskFilter: filter}, 1, rows, w, b, ids([]int{2}, 2, 3)),
		one(" ends and starts", contrib.AttentionConfig{}, 1, rows, w, b, ids([]int{4}, 2, 3, 0, 1)),
		one(" flags", contrib.AttentionConfig{MaskFilter: filter, Unidirectional: true}, 1, rows, w, b, ids([]int{2, 3}, 1, 0, 1, 1, 1, 0)),
		one(" flags of queries", contrib.AttentionConfig{MaskFilter: filter}, 1, rows, w, b, some(5, dtype.Int32, 2, 2, 3, 3)),
		one(" dummy mask", contrib.AttentionConfig{}, 1, rows, w, b, ids([]int{2, 1}, 0, 1)),
		one(" sizes", contrib.AttentionConfig{HiddenSizes: []int{4, 4, 16}}, 1, rows, w, b),
		one(" bias of scores", contrib.AttentionConfig{}, 1, rows, w, b, ids([]int{2}, 2, 3), nil, x(6, 2, 2, 3, 3)),
		one(" bias of all", contrib.AttentionConfig{}, 1, rows, w, b, nil, nil, x(6, 1, 1, 3, 3)),
		shared, mega, turned, part,
	}
}

// quantizedAttentionTrials returns the forms of QAttention that the CPU provider of ONNX Runtime lacks; attentionUses has the others.
func quantizedAttentionTrials() []trial {
	one := func(name string, c contrib.QAttentionConfig, outputs int, rest ...dtype.Value) trial {
		c.Heads = 2
		v := append(in(some(1, dtype.Uint8, 256, 2, 3, 5), some(2, dtype.Uint8, 256, 5, 24), spread(3, 24), f32(0.004), f32(0.003)), rest...)
		return trial{Case: optest.Case{Name: "QAttention" + name, Config: c, In: v, Outputs: outputs, Constant: []int{3, 4}}}
	}
	past := spread(4, 2, 2, 2, 2, 4)
	turned := one(" rotary", contrib.QAttentionConfig{Rotary: true, Causal: true, ShareBuffer: true}, 1, nil, u8(120), u8(131))
	turned.apart = "the CPU does not turn"
	step := one(" rotary past", contrib.QAttentionConfig{Rotary: true, Scale: pointer[float32](0.3)}, 2, nil, u8(120), u8(131), past)
	step.apart = "the CPU does not turn"
	mega := one(" mask of all positions", contrib.QAttentionConfig{MaskValue: pointer[float32](-3)}, 1, some(5, dtype.Int32, 2, 2, 1, 6, 6), u8(120), u8(131), past)
	mega.apart = "the CPU has no masks of all positions"
	return []trial{turned, step, mega}
}

func multiHeadTrials() []trial {
	x := spread
	q, k, v := x(1, 2, 3, 8), x(2, 2, 4, 8), x(3, 2, 4, 12)
	one := func(name string, c contrib.MultiHeadAttentionConfig, outputs int, v ...dtype.Value) trial {
		c.NumHeads = 2
		return trial{Case: optest.Case{Name: "MultiHeadAttention" + name, Config: c, In: v, Outputs: outputs}}
	}
	filter := pointer[float32](-3)
	k3, v3 := x(2, 2, 3, 8), x(3, 2, 3, 8)
	pastK, pastV := x(4, 2, 2, 2, 4), x(5, 2, 2, 2, 4)
	packed := one(" packed", contrib.MultiHeadAttentionConfig{Unidirectional: true}, 3, x(1, 2, 3, 2, 3, 4), nil, nil, x(4, 24))
	packed.apart = "the CPU does not take operands apart"
	packedKeys := one(" packed keys", contrib.MultiHeadAttentionConfig{}, 1, q, x(1, 2, 4, 2, 2, 4))
	packedKeys.apart = packed.apart
	scores := one(" scores", contrib.MultiHeadAttentionConfig{Unidirectional: true}, 4, q, k3, v3)
	const extreme = "what hides a score is the smallest number of its type"
	scores.NoWide, scores.NoLow, scores.NoGrad = extreme, extreme, extreme
	room := one(" past with room", contrib.MultiHeadAttentionConfig{Unidirectional: true}, 3, q, k3, v3, nil, nil, nil, x(4, 2, 2, 6, 4), x(5, 2, 2, 6, 4), ids([]int{1}, 2))
	room.apart = "the CPU takes the cache and the next one for the same memory"
	q1, k1, v1, wideK, wideV, kept := x(1, 2, 1, 8), x(2, 2, 1, 8), x(3, 2, 1, 8), x(4, 2, 2, 5, 4), x(5, 2, 2, 5, 4), ids([]int{1}, 3)
	return []trial{packed, packedKeys, scores, room,
		one(" beams", contrib.MultiHeadAttentionConfig{}, 3, q1, k1, v1, nil, nil, nil, wideK, wideV, kept, some(9, dtype.Int32, 2, 1, 2, 5)),
		one("", contrib.MultiHeadAttentionConfig{}, 1, q, k, v),
		one(" bias", contrib.MultiHeadAttentionConfig{Scale: pointer[float32](0.3)}, 1, q, k, v, x(4, 28)),
		one(" causal", contrib.MultiHeadAttentionConfig{Unidirectional: true}, 1, q, k3, v3, x(4, 24)),
		one(" keys of heads", contrib.MultiHeadAttentionConfig{}, 1, q, x(2, 2, 2, 5, 4), x(3, 2, 2, 5, 4)),
		one(" lengths", contrib.MultiHeadAttentionConfig{MaskFilter: filter}, 1, q, k, v, nil, ids([]int{2}, 2, 3)),
		one(" flags", contrib.MultiHeadAttentionConfig{MaskFilter: filter}, 1, q, k, v, nil, ids([]int{2, 4}, 1, 0, 1, 1, 1, 1, 0, 0)),
		one(" flags of queries", contrib.MultiHeadAttentionConfig{MaskFilter: filter}, 1, q, k, v, nil, some(5, dtype.Int32, 2, 2, 3, 4)),
		one(" lengths and offsets", contrib.MultiHeadAttentionConfig{MaskFilter: filter}, 1, q, k, v, nil, ids([]int{8}, 2, 3, 0, 3, 6, 0, 4, 8)),
		one(" bias of scores", contrib.MultiHeadAttentionConfig{}, 1, q, k, v, nil, ids([]int{2, 4}, 1, 0, 1, 1, 1, 1, 0, 0), x(6, 2, 2, 3, 4)),
		one(" bias of all", contrib.MultiHeadAttentionConfig{}, 1, q, k, v, nil, nil, x(6, 1, 1, 3, 4)),
		one(" present", contrib.MultiHeadAttentionConfig{}, 3, q, k3, v3),
		one(" past", contrib.MultiHeadAttentionConfig{Unidirectional: true}, 3, q, k3, v3, nil, nil, nil, pastK, pastV),
		one(" past masked", contrib.MultiHeadAttentionConfig{MaskFilter: filter}, 4, q, k3, v3, x(7, 24), ids([]int{2, 5}, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1), x(6, 1, 2, 3, 5), pastK, pastV),
	}
}

func decoderTrials() []trial {
	x := spread
	q, k, v := x(1, 2, 1, 8), x(2, 2, 1, 8), x(3, 2, 1, 8)
	pastK, pastV := x(4, 2, 2, 5, 4), x(5, 2, 2, 5, 4)
	one := func(name string, c contrib.DecoderMaskedMultiHeadAttentionConfig, outputs int, v ...dtype.Value) trial {
		c.NumHeads = 2
		return trial{Case: optest.Case{Name: "DecoderMaskedMultiHeadAttention" + name, Config: c, In: v, Outputs: outputs}}
	}
	filter := pointer[float32](-3)
	flags := ids([]int{2, 4}, 1, 0, 1, 1, 0, 1, 1, 1)
	kept := ids([]int{1}, 3)
	beams := some(9, dtype.Int32, 2, 1, 2, 5)
	apart := func(reason string, u trial, skip ...int) trial {
		u.apart, u.Skip = reason, skip
		return u
	}
	return []trial{
		one(" cross", contrib.DecoderMaskedMultiHeadAttentionConfig{}, 1, q, pastK, pastV),
		one(" cross masked", contrib.DecoderMaskedMultiHeadAttentionConfig{MaskFilter: filter, Scale: pointer[float32](0.4)}, 1, q, pastK, pastV, ids([]int{2, 5}, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0)),
		one(" self", contrib.DecoderMaskedMultiHeadAttentionConfig{ShareBuffer: true}, 3, q, k, v, nil, nil, pastK, pastV, kept),
		one(" self masked", contrib.DecoderMaskedMultiHeadAttentionConfig{ShareBuffer: true, MaskFilter: filter}, 3, q, k, v, flags, x(6, 1, 2, 1, 4), pastK, pastV, kept, nil, nil, x(7, 24)),
		one(" beams", contrib.DecoderMaskedMultiHeadAttentionConfig{ShareBuffer: true}, 3, q, k, v, flags, x(6, 1, 2, 1, 4), pastK, pastV, kept, ids([]int{1}, 2), beams, x(7, 24)),
		apart("the runtime cannot tell the type of the scores", one(" scores", contrib.DecoderMaskedMultiHeadAttentionConfig{ShareBuffer: true, OutputQK: true}, 4, q, k, v, flags, nil, pastK, pastV, kept)),
		apart("the runtime cannot tell the type of the scores", one(" cross scores", contrib.DecoderMaskedMultiHeadAttentionConfig{OutputQK: true}, 4, q, pastK, pastV), 1, 2),
		apart("the CPU does not take operands apart", one(" packed", contrib.DecoderMaskedMultiHeadAttentionConfig{ShareBuffer: true}, 3, x(1, 2, 1, 24), nil, nil, nil, nil, pastK, pastV, kept)),
		apart("the CPU has caches with room alone", one(" past", contrib.DecoderMaskedMultiHeadAttentionConfig{}, 3, q, k, v, nil, nil, pastK, pastV)),
	}
}

func groupQueryTrials() []trial {
	x := spread
	one := func(name string, c contrib.GroupQueryAttentionConfig, outputs int, v ...dtype.Value) trial {
		if c.NumHeads == 0 {
			c.NumHeads, c.KVHeads = 4, 2
		}
		return trial{Case: optest.Case{Name: "GroupQueryAttention" + name, Config: c, In: v, Outputs: outputs}}
	}
	none := dtype.Value(nil)
	q, k, v := x(1, 2, 3, 32), x(2, 2, 3, 16), x(3, 2, 3, 16)
	full, total := ids([]int{2}, 2, 2), ids([]int{1}, 3)
	// A step: one row for each of two sequences of 4 and 3 keys, in caches of 3 or of 6 rows.
	q1, k1, v1 := x(1, 2, 1, 32), x(2, 2, 1, 16), x(3, 2, 1, 16)
	pastK, pastV := x(4, 2, 2, 3, 8), x(5, 2, 2, 3, 8)
	ragged, four := ids([]int{2}, 3, 2), ids(nil, 4)
	cut(pastK, 2)
	cut(pastV, 2)
	// A second prompt: 2 rows after 3.
	q2, k2, v2 := x(1, 1, 2, 64), x(2, 1, 2, 32), x(3, 1, 2, 32)
	pastK2, pastV2 := x(4, 1, 2, 3, 16), x(5, 1, 2, 3, 16)
	cos, sin := x(6, 8, 8), x(7, 8, 8)
	at := func(dims []int, v ...int) dtype.Value { return numbers(dtype.Int64, dims, v...) }
	cfg := func(f func(c *contrib.GroupQueryAttentionConfig)) contrib.GroupQueryAttentionConfig {
		c := contrib.GroupQueryAttentionConfig{}
		f(&c)
		return c
	}
	return []trial{
		one(" prompt", contrib.GroupQueryAttentionConfig{}, 3, q, k, v, none, none, full, total),
		one(" prompt alone", contrib.GroupQueryAttentionConfig{Scale: pointer[float32](0.2)}, 3, q, k, v, none, none, full, total),
		one(" ragged prompt", contrib.GroupQueryAttentionConfig{}, 3, q, k, v, none, none, ids([]int{2}, 1, 2), total),
		one(" packed prompt", contrib.GroupQueryAttentionConfig{}, 3, x(1, 2, 3, 64), none, none, none, none, full, total),
		one(" window", contrib.GroupQueryAttentionConfig{LocalWindow: pointer(2)}, 3, q, k, v, none, none, full, total),
		one(" softcap", contrib.GroupQueryAttentionConfig{Softcap: 1.5}, 3, q, k, v, none, none, full, total),
		one(" bidirectional", cfg(func(c *contrib.GroupQueryAttentionConfig) { c.Causal = pointer(false) }), 3, q, k, v, none, none, ids([]int{2}, 1, 2), total),
		one(" smooth", contrib.GroupQueryAttentionConfig{SmoothSoftmax: true}, 3, q, k, v, none, none, full, total),
		one(" sink", contrib.GroupQueryAttentionConfig{}, 3, q, k, v, none, none, full, total, none, none, none, none, x(8, 4)),
		one(" scores", contrib.GroupQueryAttentionConfig{QKOutput: 1, LocalWindow: pointer(2), Softcap: 2}, 4, q, k, v, none, none, full, total, none, none, none, x(9, 1, 4, 3, 3)),
		one(" probabilities", contrib.GroupQueryAttentionConfig{QKOutput: 2, SmoothSoftmax: true}, 4, q, k, v, none, none, full, total),
		one(" step", contrib.GroupQueryAttentionConfig{}, 3, q1, k1, v1, pastK, pastV, ragged, four),
		one(" step with room", contrib.GroupQueryAttentionConfig{LocalWindow: pointer(2), QKOutput: 1}, 4, q1, k1, v1, room(pastK), room(pastV), ids([]int{2}, 3, 3), four, none, none, none, x(9, 2, 1, 1, 4)),
		one(" step turned", contrib.GroupQueryAttentionConfig{DoRotary: true, NumHeads: 4, KVHeads: 2}, 3, x(1, 2, 1, 64), x(2, 2, 1, 32), x(3, 2, 1, 32), zeros(2, 2, 3, 16), zeros(2, 2, 3, 16), ragged, four, cos, sin),
		one(" step at positions", contrib.GroupQueryAttentionConfig{DoRotary: true, RotaryInterleaved: true}, 3, x(1, 2, 1, 64), x(2, 2, 1, 32), x(3, 2, 1, 32), zeros(2, 2, 3, 16), zeros(2, 2, 3, 16), ragged, four, cos, sin, at([]int{2, 1}, 5, 1)),
		one(" second prompt", contrib.GroupQueryAttentionConfig{DoRotary: true}, 3, q2, k2, v2, pastK2, pastV2, ids([]int{1}, 4), ids([]int{1}, 5), cos, sin),
		one(" first prompt turned", contrib.GroupQueryAttentionConfig{DoRotary: true}, 3, x(1, 2, 3, 128), none, none, none, none, full, total, cos, sin),
		one(" first prompt at positions", contrib.GroupQueryAttentionConfig{DoRotary: true, RotaryInterleaved: true}, 3, x(1, 2, 3, 128), none, none, none, none, full, total, cos, sin, at([]int{2, 3}, 2, 3, 4, 2, 3, 4)),
		one(" partly turned", contrib.GroupQueryAttentionConfig{DoRotary: true, NumHeads: 2, KVHeads: 1}, 3, x(1, 1, 3, 128), none, none, none, none, ids([]int{1}, 2), total, cos, sin),
	}
}

// cacheTrials are of caches that forget and of those of integers.
func cacheTrials() []trial {
	x := spread
	type config = contrib.GroupQueryAttentionConfig
	one := func(name string, c config, outputs int, v ...dtype.Value) trial {
		c.NumHeads, c.KVHeads = 4, 2
		return trial{Case: optest.Case{Name: "GroupQueryAttention" + name, Config: c, In: v, Outputs: outputs}}
	}
	none := dtype.Value(nil)
	rows := func(n int) []dtype.Value { return in(x(1, 2, n, 32), x(2, 2, n, 16), x(3, 2, n, 16)) }
	q, q1 := rows(3), rows(1)
	slides := config{SlidingCache: true, LocalWindow: pointer(3)}
	pastK, pastV := x(4, 2, 2, 3, 8), x(5, 2, 2, 3, 8)
	wideK, wideV := x(4, 2, 2, 4, 8), x(5, 2, 2, 4, 8)
	outputs := func(u trial) trial { // rows beyond those that count are not specified
		u.Skip = []int{1, 2}
		return u
	}
	longer := one(" slides at once", slides, 3, x(1, 1, 5, 32), x(2, 1, 5, 16), x(3, 1, 5, 16), x(4, 1, 2, 3, 8), x(5, 1, 2, 3, 8), ids([]int{1}, 8), ids([]int{1}, 9))
	list := []trial{
		one(" slides", slides, 3, q1[0], q1[1], q1[2], pastK, pastV, ids([]int{2}, 3, 6), ids([]int{1}, 7)),
		one(" slides in a prompt", slides, 3, append(rows(5), pastK, pastV, ids([]int{2}, 4, 4), ids([]int{1}, 5))...),
		outputs(one(" slides by two", slides, 3, q1[0], q1[1], q1[2], wideK, wideV, ids([]int{2}, 4, 5), ids([]int{1}, 6), none, none, none, x(6, 1, 4, 1, 6))),
		longer,
	}
	integers := func(name string, bits int, kind string, past func(seed uint64) dtype.Value, scale func(seed uint64) dtype.Value, v []dtype.Value, last, total dtype.Value) {
		c := config{KQuantType: kind, VQuantType: kind, CacheBits: bits}
		u := one(name, c, 3, append(slices.Clone(v), past(1), past(2), last, total, none, none, none, none, none, scale(3), scale(4))...)
		u.NoLow, u.Constant = "rows are rounded", []int{12, 13} // rows step with the scales
		list = append(list, u)
	}
	single := func(seed uint64) dtype.Value { return optest.Spread(seed, 0.02, 0.03, 1) }
	each := func(seed uint64) dtype.Value { return optest.Spread(seed, 0.02, 0.03, 1, 2, 1, 8) }
	coarse := func(seed uint64) dtype.Value { return optest.Spread(seed, 0.15, 0.2, 1) }
	coarser := func(seed uint64) dtype.Value { return optest.Spread(seed, 0.15, 0.2, 1, 2, 1, 8) }
	of := func(t op.DType, limit int, dims ...int) func(uint64) dtype.Value {
		return func(seed uint64) dtype.Value { return some(seed, t, limit, dims...) }
	}
	four, full := ids([]int{1}, 4), ids([]int{2}, 3, 3)
	integers(" 8 bits", 8, "PER_TENSOR", of(dtype.Int8, 100, 2, 2, 3, 8), single, q1, full, four)
	integers(" 8 bits of channels", 8, "PER_CHANNEL", of(dtype.Int8, 100, 2, 2, 3, 8), each, q1, full, four)
	integers(" 4 bits", 4, "PER_TENSOR", of(dtype.Uint8, 256, 2, 2, 3, 4), coarse, q1, full, four)
	integers(" 4 bits of channels", 4, "PER_CHANNEL", of(dtype.Uint8, 256, 2, 2, 3, 4), coarser, q1, full, four)
	integers(" prompt of 8 bits", 8, "PER_TENSOR", of(dtype.Int8, 100, 2, 2, 0, 8), single, q, ids([]int{2}, 2, 2), ids([]int{1}, 3))
	normed := one(" normed", config{NormEpsilon: pointer[float32](1e-3)}, 3, append(slices.Clone(q), none, none, ids([]int{2}, 2, 2), ids([]int{1}, 3), none, none, none, none, none, none, none, x(7, 8), x(8, 8))...)
	normed.apart = "the CPU does not normalize"
	return append(list, normed)
}

func zeros(dims ...int) dtype.Value { return dtype.New(dtype.Float32, dims...) }

// cut makes what stands from row on in the last sequence of a cache zero: the runtime's caches hold zeros there.
func cut(cache dtype.Value, row int) {
	d := cache.(*tensor.Dense)
	s, v := d.Shape(), dtype.Slice[float32](d)
	for h := (s[0] - 1) * s[1]; h < s[0]*s[1]; h++ {
		clear(v[(h*s[2]+row)*s[3] : (h+1)*s[2]*s[3]])
	}
}

// room returns a cache with three more rows of zeros.
func room(cache dtype.Value) dtype.Value {
	d := cache.(*tensor.Dense)
	s := d.Shape()
	wide := dtype.New(dtype.Float32, s[0], s[1], s[2]+3, s[3])
	for h := range s[0] * s[1] {
		copy(dtype.Slice[float32](wide)[h*(s[2]+3)*s[3]:], dtype.Slice[float32](d)[h*s[2]*s[3]:(h+1)*s[2]*s[3]])
	}
	return wide
}

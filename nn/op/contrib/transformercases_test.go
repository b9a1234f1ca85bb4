package contrib_test

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
)

func embedTrials() []trial {
	x := spread
	words, first := some(1, dtype.Int32, 7, 2, 3), some(2, dtype.Int32, 2, 2, 3)
	all := in(words, first, x(3, 7, 4), x(4, 5, 4), x(5, 2, 4), x(6, 4), x(7, 4), ids([]int{2, 3}, 1, 1, 0, 1, 1, 1), some(8, dtype.Int32, 5, 2, 3))
	row := slices.Clone(all)
	row[8] = ids([]int{1, 3}, 2, 4, 0)
	plain := slices.Clone(all[:7])
	plain[1], plain[4] = nil, nil
	return []trial{
		{Case: optest.Case{Name: "EmbedLayerNormalization", Config: contrib.EmbedLayerNormalizationConfig{}, In: all[:7], Outputs: 2}},
		{Case: optest.Case{Name: "EmbedLayerNormalization words", Config: contrib.EmbedLayerNormalizationConfig{Epsilon: pointer[float32](1e-2)}, In: plain, Outputs: 2}},
		{Case: optest.Case{Name: "EmbedLayerNormalization all", Config: contrib.EmbedLayerNormalizationConfig{MaskIndexType: 1}, In: all, Outputs: 3}},
		{Case: optest.Case{Name: "EmbedLayerNormalization row", Config: contrib.EmbedLayerNormalizationConfig{}, In: row, Outputs: 3, Skip: []int{1}}},
	}
}

func rotaryTrials() []trial {
	x := spread
	at := func(dims []int, v ...int) dtype.Value { return numbers(dtype.Int64, dims, v...) }
	each := at([]int{2, 3}, 0, 1, 2, 4, 2, 5)
	rotary := func(name string, c contrib.RotaryEmbeddingConfig, v ...dtype.Value) trial {
		return trial{Case: optest.Case{Name: "RotaryEmbedding" + name, Config: c, In: v}}
	}
	return []trial{
		rotary("", contrib.RotaryEmbeddingConfig{}, x(1, 2, 3, 8), each, x(2, 6, 2), x(3, 6, 2)),
		rotary(" scale", contrib.RotaryEmbeddingConfig{Scale: pointer[float32](2)}, x(1, 2, 3, 8), each, x(2, 6, 2), x(3, 6, 2)),
		rotary(" offset", contrib.RotaryEmbeddingConfig{}, x(1, 2, 3, 8), at([]int{1}, 2), x(2, 6, 2), x(3, 6, 2)),
		rotary(" interleaved", contrib.RotaryEmbeddingConfig{Interleaved: true}, x(1, 2, 3, 8), each, x(2, 6, 2), x(3, 6, 2)),
		rotary(" partial", contrib.RotaryEmbeddingConfig{NumHeads: 2, RotaryDim: 4, Interleaved: true}, x(1, 2, 3, 12), each, x(2, 6, 2), x(3, 6, 2)),
		rotary(" rank 4", contrib.RotaryEmbeddingConfig{PackedBatching: true}, x(1, 2, 2, 3, 4), each, x(2, 6, 2), x(3, 6, 2)),
		rotary(" rank 4 partial", contrib.RotaryEmbeddingConfig{NumHeads: 2, RotaryDim: 4}, x(1, 2, 2, 3, 6), at([]int{1}, 1), x(2, 6, 2), x(3, 6, 2)),
	}
}

func blockTrials() []trial {
	x := spread
	u8 := func(seed uint64, dims ...int) dtype.Value { return some(seed, dtype.Uint8, 256, dims...) }
	product := func(name string, c contrib.MatMulNBitsConfig, v ...dtype.Value) trial {
		c.N, c.K, c.BlockSize = 3, 40, 16
		return trial{Case: optest.Case{Name: "MatMulNBits" + name, Config: c, In: v, NoLow: "weights times 255"}, params: []int{1, 2, 3, 4}}
	}
	a, scales := x(1, 2, 2, 40), x(2, 3, 3)
	table := func(name string, c contrib.GatherBlockQuantizedConfig, v ...dtype.Value) trial {
		return trial{Case: optest.Case{Name: "GatherBlockQuantized" + name, Config: c, In: v}, params: []int{0, 2, 3}}
	}
	i32, i64 := ids([]int{2, 2}, 3, 0, -1, 2), numbers(dtype.Int64, []int{3}, 1, 4, 0)
	return []trial{
		product("", contrib.MatMulNBitsConfig{}, a, u8(3, 3, 3, 8), scales),
		product(" zero points", contrib.MatMulNBitsConfig{Bits: 4}, a, u8(3, 3, 3, 8), scales, u8(4, 3, 2)),
		product(" zero points in a vector", contrib.MatMulNBitsConfig{Bits: 4}, a, u8(3, 3, 3, 8), x(2, 9), u8(4, 6)),
		product(" float zero points", contrib.MatMulNBitsConfig{}, a, u8(3, 3, 3, 8), scales, x(4, 3, 3)),
		product(" groups", contrib.MatMulNBitsConfig{}, a, u8(3, 3, 3, 8), scales, nil, some(5, dtype.Int32, 3, 48)),
		product(" groups with zero points", contrib.MatMulNBitsConfig{}, a, u8(3, 3, 3, 8), scales, x(4, 3, 3), some(5, dtype.Int32, 3, 40)),
		product(" bias", contrib.MatMulNBitsConfig{}, a, u8(3, 3, 3, 8), scales, nil, nil, x(6, 3)),
		product(" 8 bits", contrib.MatMulNBitsConfig{Bits: 8}, a, u8(3, 3, 3, 16), scales),
		product(" 8 bits with zero points", contrib.MatMulNBitsConfig{Bits: 8}, a, u8(3, 3, 3, 16), scales, u8(4, 3, 3), nil, x(6, 3)),
		product(" 2 bits", contrib.MatMulNBitsConfig{Bits: 2}, a, u8(3, 3, 3, 4), scales, u8(4, 3, 1)),

		table("", contrib.GatherBlockQuantizedConfig{BlockSize: 16}, some(1, dtype.Uint4, 16, 5, 40), i32, x(2, 5, 3)),
		table(" zero points", contrib.GatherBlockQuantizedConfig{BlockSize: 16}, some(1, dtype.Int4, 7, 5, 40), i64, x(2, 5, 3), some(3, dtype.Int4, 7, 5, 3)),
		table(" axes", contrib.GatherBlockQuantizedConfig{BlockSize: 16, GatherAxis: 2, QuantizeAxis: -2}, some(1, dtype.Uint4, 16, 2, 20, 5), i32, x(2, 2, 2, 5), some(3, dtype.Uint4, 16, 2, 2, 5)),
		table(" first axis", contrib.GatherBlockQuantizedConfig{BlockSize: 16, GatherAxis: -1, QuantizeAxis: -2}, some(1, dtype.Uint4, 16, 20, 5), i64, x(2, 2, 5)),
		table(" bytes", contrib.GatherBlockQuantizedConfig{BlockSize: 16}, u8(1, 5, 20), i32, x(2, 5, 3)),
		table(" bytes with zero points", contrib.GatherBlockQuantizedConfig{BlockSize: 16}, u8(1, 5, 20), i64, x(2, 5, 3), u8(3, 5, 2)),
		table(" 8 bits", contrib.GatherBlockQuantizedConfig{Bits: 8, BlockSize: 32}, u8(1, 5, 40), i32, x(2, 5, 2), u8(3, 5, 2)),
		table(" 8 bits plain", contrib.GatherBlockQuantizedConfig{Bits: 8, BlockSize: 32}, u8(1, 5, 40), i32, x(2, 5, 2)),
		table(" 2 bits", contrib.GatherBlockQuantizedConfig{Bits: 2, BlockSize: 16}, u8(1, 5, 8), i32, x(2, 5, 2), u8(3, 5, 1)),
	}
}

func transformTrials() []trial {
	x := spread
	pads := func(dims []int, v ...int) dtype.Value { return numbers(dtype.Int64, dims, v...) }
	one := func(name string, c op.Config, v ...dtype.Value) trial {
		return trial{Case: optest.Case{Name: name, Config: c, In: v}, params: []int{1}}
	}
	spectrum := func(name string, c op.Config, v ...dtype.Value) trial {
		return trial{Case: optest.Case{Name: name, Config: c, In: v}, apart: "the CPU has no such transforms"}
	}
	return []trial{
		{Case: optest.Case{Name: "Inverse", Config: plain("Inverse"), In: in(x(1, 3, 3)), NoLow: "differences of products"}},
		{Case: optest.Case{Name: "Inverse stack", Config: plain("Inverse"), In: in(x(2, 2, 3, 4, 4)), NoLow: "differences of products", NoWide: "differences of products", Tol: 1e-3, GradTol: 1e-4}},
		spectrum("Rfft", contrib.RfftConfig{SignalRank: 1}, x(1, 2, 6)),
		spectrum("Rfft odd", contrib.RfftConfig{SignalRank: 1, OneSided: pointer(true)}, x(1, 2, 5)),
		spectrum("Rfft planes", contrib.RfftConfig{SignalRank: 2}, x(1, 2, 3, 4)),
		spectrum("Rfft volume", contrib.RfftConfig{SignalRank: 3}, x(1, 2, 3, 4)),
		spectrum("Irfft", contrib.IrfftConfig{SignalRank: 1}, x(1, 2, 4, 2)),
		spectrum("Irfft planes", contrib.IrfftConfig{SignalRank: 2}, x(1, 2, 3, 4, 2)),
		one("Pad", contrib.PadConfig{}, x(1, 2, 3), pads([]int{4}, 0, 1, 2, 0)),
		one("Pad row", contrib.PadConfig{Mode: "constant"}, x(1, 2, 3), pads([]int{1, 4}, 0, 1, 2, 0), x(2)),
		one("Pad reflect", contrib.PadConfig{Mode: "reflect"}, x(1, 3, 4), pads([]int{4}, 1, 2, 2, 1)),
		one("Pad edge", contrib.PadConfig{Mode: "edge"}, x(1, 3, 4), pads([]int{4}, 1, 2, 2, 1), x(2, 1)),
		one("Pad wrap", contrib.PadConfig{Mode: "wrap"}, x(1, 3, 4), pads([]int{4}, 1, 2, 2, 1)),
		one("Pad one axis", contrib.PadConfig{Mode: "edge"}, x(1, 2, 3, 4), pads([]int{6}, 0, 0, 1, 0, 0, 2)),
		one("Pad less", contrib.PadConfig{}, x(1, 3, 4), pads([]int{4}, -1, 2, 0, -2)),
	}
}

package contrib_test

import (
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// decoder returns one layer of a decoder as exporters for ONNX Runtime write it: embeddings of 4 bits, projections of 4 bits, lengths
// that follow from the mask, and a cache that grows.
func decoder(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.NewGraph("decoder", set(t), map[string]int{"": 21, contrib.Domain: 1})
	err := g.Edit(func(e *nn.Edit) {
		ids, mask := e.Input("input_ids", "int64[batch,sequence]"), e.Input("attention_mask", "int64[batch,total]")
		pastK, pastV := e.Input("past_key", "float32[batch,1,past,16]"), e.Input("past_value", "float32[batch,1,past,16]")
		node := func(c op.Config, in ...*nn.Value) *nn.Value { return e.Node(c, in...).Out(0) }
		held := func(name string, v dtype.Value) *nn.Value { return e.Const(name, v.(*tensor.Dense)) }
		bytes := func(name string, seed uint64, dims ...int) *nn.Value {
			return held(name, some(seed, dtype.Uint8, 256, dims...))
		}
		small := func(name string, seed uint64, dims ...int) *nn.Value {
			d := spread(seed, dims...).(*tensor.Dense)
			for i := range dtype.Slice[float32](d) {
				dtype.Slice[float32](d)[i] /= 16
			}
			return held(name, d)
		}
		x := node(contrib.GatherBlockQuantizedConfig{BlockSize: 16}, bytes("table", 1, 9, 16), ids, small("table_scales", 2, 9, 2))
		project := func(name string, in *nn.Value, n, seed int) *nn.Value {
			return node(contrib.MatMulNBitsConfig{K: 32, N: n, BlockSize: 32}, in, bytes(name, uint64(seed), n, 1, 16), small(name+"_scales", uint64(seed)+9, n, 1))
		}
		one := held("one", numbers(dtype.Int64, []int{1}, 1))
		count := node(std.ReduceSumConfig{KeepDims: new(bool)}, mask, one)
		last := node(std.CastConfig{To: dtype.Int32}, node(op.Plain("Sub"), count, one))
		total := node(std.CastConfig{To: dtype.Int32}, node(std.GatherConfig{}, node(std.ShapeConfig{}, mask), held("second", numbers(dtype.Int64, nil, 1))))
		n := e.NodeN(contrib.GroupQueryAttentionConfig{NumHeads: 2, KVHeads: 1, DoRotary: true}, 3, project("q", x, 32, 3), project("k", x, 16, 4), project("v", x, 16, 5),
			pastK, pastV, last, total, held("cos", spread(6, 8, 8)), held("sin", spread(7, 8, 8)))
		if e.Err() != nil {
			return
		}
		y := project("o", n.Out(0), 32, 8)
		e.Output("y", node(contrib.SkipSimplifiedLayerNormalizationConfig{}, x, y, held("gamma", spread(9, 32))))
		e.Output("present_key", n.Out(1))
		e.Output("present_value", n.Out(2))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestDecoder runs a prompt and two steps with the cache of the one before, beside ONNX Runtime, and the same ids as one prompt.
func TestDecoder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "decoder.onnx")
	if err := onnxio.Save(file, decoder(t)); err != nil {
		t.Fatal(err)
	}
	g, err := onnxio.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	ort := oracle.ORT(t)
	words := []int{3, 1, 4, 1, 5, 8, 2, 6, 5, 3} // of two sequences of five
	cache := [2]dtype.Value{dtype.New(dtype.Float32, 2, 1, 0, 16), dtype.New(dtype.Float32, 2, 1, 0, 16)}
	run := func(from, to int, cache [2]dtype.Value) nn.Feed {
		t.Helper()
		var v, mask []int
		for b := range 2 {
			v = append(v, words[b*5+from:b*5+to]...)
			for range to {
				mask = append(mask, 1)
			}
		}
		feed := nn.Feed{"input_ids": numbers(dtype.Int64, []int{2, to - from}, v...), "attention_mask": numbers(dtype.Int64, []int{2, to}, mask...),
			"past_key": cache[0], "past_value": cache[1]}
		got, err := g.Eval(t.Context(), feed)
		if err != nil {
			t.Fatal(err)
		}
		given := map[string]oracle.Tensor{}
		for name, v := range feed {
			given[name] = tensorOf(v)
		}
		want, err := ort.RunFile(file, given)
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range want {
			if err := oracle.Close(tensorOf(got[name]), w, 1e-4, 1e-4); err != nil {
				t.Errorf("%d to %d: %s: %v", from, to, name, err)
			}
		}
		return got
	}
	got := run(0, 3, cache)
	for i := 3; i < 5; i++ {
		got = run(i, i+1, [2]dtype.Value{got["present_key"], got["present_value"]})
	}
	whole := run(0, 5, cache)
	for _, name := range []string{"present_key", "present_value"} {
		if err := oracle.Close(tensorOf(got[name]), tensorOf(whole[name]), 1e-5, 1e-5); err != nil {
			t.Errorf("steps and one prompt: %s: %v", name, err)
		}
	}
}

func tensorOf(v dtype.Value) oracle.Tensor {
	d := v.(*tensor.Dense)
	return oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}
}

package contrib_test

import (
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/prune"
	"github.com/graft-ml/graft/onnxio"
)

// encoder returns one layer of BERT as ONNX Runtime's optimizer for transformers leaves it.
func encoder(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.NewGraph("encoder", set(t), map[string]int{"": 17, contrib.Domain: 1})
	err := g.Edit(func(e *nn.Edit) {
		ids, first, mask := e.Input("input_ids", "int32[batch,sequence]"), e.Input("segment_ids", "int32[batch,sequence]"), e.Input("mask", "int32[batch,sequence]")
		made := func(name string, dims ...int) *nn.Value { return e.Param(name, initial.Normal{Std: 0.5}, dims...) }
		vector := func(name string, n int) *nn.Value { return made(name, n) }
		n := e.NodeN(contrib.EmbedLayerNormalizationConfig{}, 2, ids, first, made("words", 9, 8), made("positions", 6, 8), made("segments", 2, 8),
			vector("gamma", 8), vector("beta", 8), mask)
		x := n.Out(0)
		a := e.Node(contrib.AttentionConfig{NumHeads: 2}, x, made("qkv", 8, 24), vector("qkv_bias", 24), n.Out(1)).Out(0)
		o := e.Node(op.Plain("MatMul"), a, made("out", 8, 8)).Out(0)
		x = e.Node(contrib.SkipLayerNormalizationConfig{}, x, o, vector("gamma1", 8), vector("beta1", 8), vector("out_bias", 8)).Out(0)
		h := e.Node(contrib.FusedMatMulConfig{}, x, made("up", 8, 16)).Out(0)
		h = e.Node(plain("BiasGelu"), h, vector("up_bias", 16)).Out(0)
		d := e.Node(contrib.FusedMatMulConfig{}, h, made("down", 16, 8)).Out(0)
		x = e.Node(contrib.SkipLayerNormalizationConfig{}, x, d, vector("gamma2", 8), vector("beta2", 8), vector("down_bias", 8)).Out(0)
		e.Output("y", e.Node(contrib.FusedMatMulConfig{}, x, made("head", 8, 3)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestEncoderIsPruned takes channels out of the rows that run through all of a layer, and out of its inner ones; the heads stay.
func TestEncoderIsPruned(t *testing.T) {
	g := encoder(t)
	plan, err := prune.Pruner{Target: prune.Target{Channels: 0.5}, PerLayer: true, NormalizedAxes: true}.Plan(t.Context(), g)
	if err == nil {
		err = plan.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string][]int{}
	for p := range g.Params() {
		sizes[p.Name()] = p.Tensor().Shape()
	}
	size := func(name string, axis int) int { return sizes[name][axis] }
	width, inner := size("words", 1), size("up", 1)
	if width == 8 || inner == 16 {
		t.Errorf("%d of 8 and %d of 16 channels are left", width, inner)
	}
	for name, want := range map[string][]int{"positions": {6, width}, "segments": {2, width}, "gamma": {width}, "beta": {width}, "qkv": {width, 24}, "qkv_bias": {24},
		"out": {8, width}, "out_bias": {width}, "gamma1": {width}, "up": {width, inner}, "up_bias": {inner}, "down": {inner, width}, "head": {width, 3}} {
		for axis, n := range want {
			if got := size(name, axis); got != n {
				t.Errorf("axis %d of %s has %d elements, want %d", axis, name, got, n)
			}
		}
	}
	feed := nn.Feed{"input_ids": some(1, dtype.Int32, 9, 2, 4), "segment_ids": some(2, dtype.Int32, 2, 2, 4), "mask": ids([]int{2, 4}, 1, 1, 1, 0, 1, 1, 1, 1)}
	y, err := g.Eval(t.Context(), feed)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "encoder.onnx")
	if err := onnxio.Save(file, g); err != nil {
		t.Fatal(err)
	}
	given := map[string]oracle.Tensor{}
	for name, v := range feed {
		given[name] = tensorOf(v)
	}
	want, err := oracle.ORT(t).RunFile(file, given)
	if err != nil {
		t.Fatal(err)
	}
	if err := oracle.Close(tensorOf(y["y"]), want["y"], 1e-4, 1e-4); err != nil {
		t.Error(err)
	}
}

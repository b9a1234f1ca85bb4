package generate_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
)

// TestAttentions: however PyTorch's modules and programs spell attention, it is that layer, and no more operators are left than stand
// around it; the source computes what the file computes, compiles, trains as many numbers and exports again.
func TestAttentions(t *testing.T) {
	dir := t.TempDir()
	oracle.Torch(t, filepath.Join("testdata", "attentions.py"), dir)
	all := map[string]*nn.Graph{}
	for name, want := range map[string]struct {
		layer     string
		operators int
	}{
		"batchfirst":    {`layers.Attention{Heads: 4, Name: "attn"}`, 0},
		"sequencefirst": {`layers.Attention{Heads: 4, NoBias: true, Name: "attn"}`, 0},
		"causal":        {`layers.Attention{Heads: 4, Causal: true, Name: "attn"}`, 0},
		"masked":        {`layers.Attention{Heads: 4, Name: "attn"}, x, x, constant(e, "mask", `, 0},
		"padded":        {`layers.Attention{Heads: 4, Name: "attn"}, x, x, y)`, 5},
		"cross":         {`layers.Attention{Heads: 4, Name: "attn"}, x, key)`, 0},
		"othersizes":    {`layers.Attention{Heads: 4, Name: "attn"}, x, key, nil, value)`, 0},
		"einsum":        {`layers.Attention{Heads: 4, NoBias: true, Name: "attention1"`, 0},
		"onehead":       {`layers.Attention{Heads: 4, KVHeads: 1, NoBias: true, Name: "attention1"`, 0},
		"multiquery":    {`layers.Attention{Heads: 4, KVHeads: 1, NoBias: true, Name: "attention1"`, 0},
		"grouped":       {`layers.Attention{Heads: 4, KVHeads: 2, NoBias: true, Name: "attention1"`, 0},
		"relative":      {`layers.Attention{Heads: 4, Scale: 1, NoBias: true, Name: "attention1"`, 2},
		"language":      {`layers.Attention{Heads: 4, Causal: true, Name: "0.attention"`, 3},
		"encoder":       {`layers.Attention{Heads: 4, Name: name + ".self_attn"}`, 6},
		"encoderpre":    {`layers.Attention{Heads: 4, Name: name + ".self_attn"}`, 6},
		"decoder":       {`layers.Attention{Heads: 4, Name: name + ".multihead_attn"}, x, memory)`, 9},
		"decoderpre":    {`layers.Attention{Heads: 4, Name: name + ".multihead_attn"}, y, memory)`, 9},
		"weights":       {`out := e.ApplyAll(layers.Attention{Heads: 4, Weights: true, Name: "attn"}, x)`, 0},
		"averaged":      {`out := e.ApplyAll(layers.Attention{Heads: 4, Weights: true, Name: "attn"}, x)`, 2},
		"windows":       {`layers.Attention{Heads: 4, Window: []int{4, 4}, Name: name + ".attention2"}`, 4},
		"positions":     {`layers.Attention{Heads: 4, NoBias: true, Rotary: 10000, Name: "1"}`, 0},
		"neighbours":    {`layers.Attention{Heads: 4, NoBias: true, Rotary: 500, Interleaved: true, Name: "attention1"}`, 0},
		"first":         {`layers.Attention{Heads: 4, KVHeads: 1, NoBias: true, Rotary: 10000, RotaryDim: 2, Name: "attention1"}`, 0},
		"rotary":        {"x = block(e, x, cos, sin, mask, fmt.Sprintf(", 43},
	} {
		g := load(t, filepath.Join(dir, name+".onnx"))
		s := write(t, g, name)
		text := string(s.Files[name+".go"])
		if !strings.Contains(text, want.layer) || s.Operators > want.operators || s.Difference < 0 || s.Difference > 1e-6 {
			t.Errorf("%s: %d operators, want %d; differs by %g; want %q in\n%s", name, s.Operators, want.operators, s.Difference, want.layer, text)
		}
		all[name] = g
	}
	m := newModule(t)
	s := write(t, load(t, filepath.Join(dir, "training.onnx")), "training")
	for _, want := range []string{`layers.Attention{Heads: 4, Dropout: 0.1, Name: name + ".self_attn"}, layers.Dropout{P: 0.1}`, "e.TrainingMode() //"} {
		if text := string(s.Files["training.go"]); !strings.Contains(text, want) || s.Difference < 0 || s.Difference > 1e-6 {
			t.Errorf("training: differs by %g; want %q in\n%s", s.Difference, want, text)
		}
	}
	m.add("training", s, nil)
	compareAll(t, m, all)
	if again := load(t, filepath.Join(m.dir, "training", "again.onnx")); len(again.TrainingNodes()) != 12 {
		t.Errorf("training, exported again, has %d nodes that train, want 12", len(again.TrainingNodes()))
	}
}

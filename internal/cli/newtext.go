package cli

import (
	"encoding/json"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// textEncoder returns an encoder of texts of at most most tokens, from ids and an attention mask to values or scores of a text, or
// of each token. Attention and the mean over the steps ignore padding.
func (c creation) textEncoder(e *nn.Edit, most, out int) *nn.Value {
	ids, mask := e.Input("input_ids", "int64[N,length]"), e.Input("attention_mask", "int64[N,length]")
	node := func(c op.Config, in ...*nn.Value) *nn.Value {
		if e.Err() != nil {
			return nil
		}
		return e.Node(c, in...).Out(0)
	}
	there := node(std.CastConfig{To: dtype.Float32}, mask)
	x := e.Apply(layers.Embedding{Num: c.vocabulary, Dim: c.width, Init: initial.Normal{Std: 0.02}, Name: "embedding"}, ids)
	// Positions count tokens, so that the result does not depend on the side that is padded.
	place := node(op.Plain("Sub"), node(op.Plain("CumSum"), mask, e.Scalar("axis", ids, 1)), mask)
	x = node(op.Plain("Add"), x, e.Apply(layers.Embedding{Num: most, Dim: c.width, Init: initial.Normal{Std: 0.02}, Name: "positions"}, place))
	bias := node(op.Plain("Mul"), node(op.Plain("Sub"), there, e.Scalar("one", there, 1)), e.Scalar("far", there, 1e9))
	bias = node(op.Plain("Unsqueeze"), bias, e.Ints("heads", 1, 2))
	for range c.depth {
		h := e.Apply(layers.LayerNorm{}, x)
		x = node(op.Plain("Add"), x, e.Apply(layers.Attention{Heads: 4}, h, h, bias))
		x = e.Apply(layers.Residual{Body: nn.Sequential{layers.LayerNorm{}, layers.Linear{Out: 4 * c.width}, layers.GELU{}, layers.Linear{Out: c.width}}}, x)
	}
	x = e.Apply(layers.LayerNorm{}, x)
	meta, err := json.Marshal(textFormat{Length: most, Words: c.perToken})
	e.Fail(err)
	e.SetMeta(metaText, string(meta))
	if c.perToken {
		return e.Apply(c.head(out), x)
	}
	x = node(op.Plain("Mul"), x, node(op.Plain("Unsqueeze"), there, e.Ints("last", 2)))
	no := false
	sum := node(std.ReduceSumConfig{KeepDims: &no}, x, e.Ints("steps", 1))
	mean := node(op.Plain("Div"), sum, node(op.Plain("ReduceSum"), there, e.Ints("steps", 1)))
	return e.Apply(c.head(out), mean)
}

package contrib

import (
	"math"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// RotaryEmbeddingConfig has the attributes of RotaryEmbedding in this domain.
type RotaryEmbeddingConfig struct {
	Interleaved    bool     `onnx:"interleaved"`                    // rotate adjacent pairs, instead of elements half the width apart
	PackedBatching bool     `onnx:"is_packed_batching"`             // sequences may be longer than the caches; of no effect
	NumHeads       int      `onnx:"num_heads,default=0"`            // 0: as many as the width of the caches implies
	RotaryDim      int      `onnx:"rotary_embedding_dim,default=0"` // elements of a head that are rotated; 0: all
	Scale          *float32 `onnx:"scale"`                          // of no effect, as in ONNX Runtime
}

// Operator names the operator.
func (RotaryEmbeddingConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "RotaryEmbedding"}
}

func rotaryEmbedding() *op.Op {
	return composed(op.Op{Name: "RotaryEmbedding", Doc: "Turns pairs of elements of each head by angles that depend on the position.",
		In: "input T, position_ids int64, cos_cache T, sin_cache T", Out: "output T", Where: op.Where{"T": op.Floats()},
		Attrs: RotaryEmbeddingConfig{}, Pinned: "each pair of elements of a head has its own frequency"},
		func(e *expression, in []value) []value {
			cfg := e.c.Config.(RotaryEmbeddingConfig)
			e.rank(0, 3, 4)
			e.rank(1, 0, 1, 2)
			e.rank(2, 2)
			e.shape(3, in[2].typ.Shape...)
			if cfg.RotaryDim > 0 && cfg.NumHeads == 0 {
				e.failf("rotary_embedding_dim needs num_heads")
			}
			if e.err != nil {
				return []value{{}}
			}
			x, seq := in[0], in[0].dim(-2)
			batch, heads := x.dim(0), cfg.NumHeads
			if width := in[2].dim(1).Mul(op.D(2)); heads == 0 && len(x.typ.Shape) == 3 {
				n := x.dim(2).Div(width)
				if n.Mul(width).Differ(x.dim(2)) {
					e.failf("cannot cut %v into heads of %v", x.typ, width)
				}
				if heads = n.Size; !n.Known() || e.err != nil {
					return []value{{typ: x.typ}}
				}
			}
			turn := std.RotaryEmbeddingConfig{Interleaved: cfg.Interleaved, NumHeads: heads, RotaryDim: cfg.RotaryDim}
			return []value{e.do(turn, x, in[2], in[3], e.positions(in[1], batch, seq))}
		})
}

// positions are int64[batch, seq] of position ids of that shape, or of the single number that the first has.
func (e *expression) positions(ids value, batch, seq op.Dim) value {
	if shape := ids.typ.Shape; len(shape) == 2 && (shape[0] != op.D(1) || shape[1] != op.D(1)) {
		if !fits(shape, []op.Dim{batch, seq}) {
			e.failf("position_ids: want %v, got %v", op.T(dtype.Int64, batch, seq), ids.typ)
		}
		return ids
	}
	if !op.Product(ids.typ.Shape).Same(op.D(1)) && op.Product(ids.typ.Shape).Known() {
		e.failf("position_ids: want one number or %v, got %v", op.T(dtype.Int64, batch, seq), ids.typ)
	}
	return e.expand(e.add(e.reshape(ids, op.D(1), op.D(1)), e.counting(seq)), batch, seq)
}

// turnHeads rotates the first width elements of each head [B, N, S, H] as GPT-NeoX does: pairs half the width apart by
// position·10000^(−2i/width), where the first row has position past.
func (e *expression) turnHeads(x value, past op.Dim, width int) value {
	half := op.D(width / 2)
	angle := func(of func(float64) float64) value {
		t := e.table(x, x.dim(2), half, func(s, i int) float64 {
			return of(float64(past.Size+s) * math.Pow(10000, -2*float64(i)/float64(width)))
		})
		return e.expand(e.reshape(t, op.D(1), x.dim(2), half), x.dim(0), x.dim(2), half)
	}
	return e.do(std.RotaryEmbeddingConfig{RotaryDim: width}, x, angle(math.Cos), angle(math.Sin))
}

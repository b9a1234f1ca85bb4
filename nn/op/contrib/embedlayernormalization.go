package contrib

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/std"
)

// EmbedLayerNormalizationConfig has the attributes of EmbedLayerNormalization.
type EmbedLayerNormalizationConfig struct {
	Epsilon       *float32 `onnx:"epsilon"`                   // nil: 1e-12
	MaskIndexType int      `onnx:"mask_index_type,default=0"` // of no effect: mask_index is computed where it is asked for
}

// Operator names the operator.
func (EmbedLayerNormalizationConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "EmbedLayerNormalization"}
}

func embedLayerNormalization() *op.Op {
	return composed(op.Op{Name: "EmbedLayerNormalization", Doc: "LayerNormalization of the sum of word, position and segment embeddings, and the number of words that a mask keeps.",
		In: "input_ids T1, segment_ids? T1, word_embedding? T weight, position_embedding? T weight, segment_embedding? T weight, " +
			"gamma? T weight, beta? T weight, mask? T1, position_ids? T1",
		Out: "output T, mask_index? T1, embedding_sum? T", Where: op.Where{"T": op.Floats(), "T1": {dtype.Int32}},
		Attrs: EmbedLayerNormalizationConfig{}, Couple: coupleEmbeddings},
		func(e *expression, in []value) []value {
			ids, words := in[0], in[2]
			e.need(2, 3, 5, 6)
			e.rank(0, 2)
			e.rank(2, 2)
			if e.err != nil {
				return make([]value, 3)
			}
			batch, seq, width := ids.dim(0), ids.dim(1), words.dim(1)
			e.shape(1, batch, seq)
			e.shape(3, op.Unknown(), width)
			e.shape(4, op.Unknown(), width)
			e.shape(5, width)
			e.shape(6, width)
			e.shape(7, batch, seq)
			if in[1].there() != in[4].there() {
				e.failf("segment_ids and segment_embedding come together or not at all")
			}
			sum := e.add(e.do(std.GatherConfig{}, words, ids), e.positionRows(in[3], in[8], batch, seq))
			if in[1].there() {
				sum = e.add(sum, e.do(std.GatherConfig{}, in[4], in[1]))
			}
			last, eps := -1, float32(or(e.c.Config.(EmbedLayerNormalizationConfig).Epsilon, 1e-12))
			y := e.do(std.LayerNormalizationConfig{Axis: &last, Epsilon: &eps}, sum, in[5], in[6])
			return []value{y, e.kept(in[7], batch), sum}
		})
}

// positionRows returns the embeddings of the positions: those that ids name, or the first ones.
func (e *expression) positionRows(table, ids value, batch, seq op.Dim) value {
	if !ids.there() {
		return e.part(table, 0, op.D(0), seq)
	}
	if !fits(ids.typ.Shape, []op.Dim{batch, seq}) {
		e.shape(8, op.D(1), seq)
	}
	return e.do(std.GatherConfig{}, table, ids)
}

// kept counts the ones of each row of a mask; without a mask, 0.
func (e *expression) kept(mask value, batch op.Dim) value {
	zero := e.constant(dtype.FromInts(dtype.Int32, []int{0}))
	if !e.c.Wants(1) {
		return value{}
	}
	if !mask.there() {
		return e.expand(zero, batch)
	}
	one := e.constant(dtype.FromInts(dtype.Int32, []int{1}))
	count := e.cast(e.do(op.Plain("Equal"), mask, one), dtype.Int32)
	return e.do(std.ReduceSumConfig{KeepDims: new(bool)}, count, e.ints(1))
}

// coupleEmbeddings ties the features of the tables, of gamma and of beta to those of the results.
func coupleEmbeddings(c *op.Call) []coupling.Coupling {
	var list []coupling.Coupling
	for i := 2; i < 5; i++ {
		if !c.Has(i) {
			continue
		}
		k := op.Couple(coupling.In(i, 1), coupling.Out(0, 2))
		k.Map.Relation = coupling.Norm
		if list = append(list, k); c.Wants(2) {
			list = append(list, op.Couple(coupling.In(i, 1), coupling.Out(2, 2)))
		}
	}
	return append(list, op.Couple(coupling.In(5, 0), coupling.Out(0, 2)), op.Couple(coupling.In(6, 0), coupling.Out(0, 2)))
}

package layers

import (
	"cmp"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
)

// Attention is multi-head attention over [batch, seq, size] (Vaswani and others, 2017): queries, keys and values are
// linear projections of the inputs, each head computes softmax(Scale·Q·Kᵀ + mask)·V, and a last projection combines the
// heads. More batch axes may precede the sequence. The first output has the shape of in[0].
type Attention struct {
	Heads       int     // number of heads
	KVHeads     int     // number of heads of keys and values, each shared by Heads/KVHeads heads of queries; 0: Heads
	HeadSize    int     // channels of a head; 0: the size of in[0] divided by Heads
	Scale       float64 // factor of the scores; 0: 1/√HeadSize
	Causal      bool    // a position attends only to itself and earlier ones
	Dropout     float64 // probability of dropping a weight in training; 0: none
	Weights     bool    // a second output: the weights of the values, [batch, heads, queries, keys]
	NoBias      bool    // the projections have no bias
	Window      []int   // the positions are those of a window of this height and width, row by row: a trained bias for each relative position is added to the scores (Liu and others, 2021)
	Rotary      float64 // base of the angles by which queries and keys are rotated (Su and others, 2021), usually 10000; 0: they are not
	RotaryDim   int     // the first channels of a head, which alone are rotated, an even number; 0: all
	Interleaved bool    // a channel is rotated with the next one, as in GPT-J; otherwise with that of the other half, as in LLaMA
	Name        string  // of its nodes and parameters; "": one is made
}

// Build adds the layer. Queries are computed from in[0], keys and values from in[1] or, with a single input, from in[0];
// in[3], if given, is used for the values instead. Sizes of the inputs may differ. in[2], if given and not nil, is added
// to the scores [batch, heads, queries, keys]: a mask that is 0 where attention is allowed and a large negative number
// elsewhere.
func (m Attention) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	if len(in) < 1 || len(in) > 4 {
		e.Failf("takes one to four inputs, got %d", len(in))
	}
	if e.Err() != nil {
		return nil
	}
	x, rank := ranked(e, in[:1], 3)
	keys := in[min(1, len(in)-1)]
	values := keys
	if len(in) == 4 {
		values = in[3]
	}
	for _, v := range []*nn.Value{keys, values} {
		if _, r := ranked(e, []*nn.Value{v}, 3); e.Err() == nil && r != rank {
			e.Failf("%s has %d axes, but %s has %d", x.Name(), rank, v.Name(), r)
		}
	}
	size := sizeOf(e, x, max(rank-1, 0))
	per := m.headSize(e, size)
	if e.Err() != nil {
		return nil
	}
	name := e.Label("attention", m.Name)
	project := func(what string, v *nn.Value, out int) *nn.Value {
		return e.Apply(relative{name + "." + what, Linear{Out: out, NoBias: m.NoBias, Init: initial.XavierUniform{}, BiasInit: initial.Zeros{}}}, v)
	}
	kvHeads := cmp.Or(m.KVHeads, m.Heads)
	rows := make([]int, rank-1) // 0: as the input has them
	heads := func(what string, v *nn.Value, heads int, perm ...int) *nn.Value {
		y := project(what, v, heads*per)
		if heads != m.Heads {
			y = reshape(e, name+"."+what+".groups", y, append(rows, heads, 1, per)...)
			times := ones(rank + 2)
			times[rank] = m.Heads / heads
			y = put(e, "", "Expand", nil, y, e.Ints(name+"."+what+".times", times...))
		}
		y = reshape(e, name+"."+what+".heads", y, append(rows, m.Heads, per)...)
		return put(e, "", "Transpose", attrs{"perm": turned(rank-2, perm...)}, y)
	}
	q := heads("query", x, m.Heads, 1, 0, 2)
	var k *nn.Value
	if m.Rotary == 0 {
		k = heads("key", keys, kvHeads, 1, 2, 0)
	} else {
		rotary := m.rotation(e, per)
		q = rotary.rotate(e, name+".query", q)
		k = rotary.rotate(e, name+".key", heads("key", keys, kvHeads, 1, 0, 2))
		k = put(e, "", "Transpose", attrs{"perm": turned(rank-1, 1, 0)}, k)
	}
	v := heads("value", values, kvHeads, 1, 0, 2)
	scores := put(e, name+".scores", "MatMul", nil, q, k)
	if scale := cmp.Or(m.Scale, 1/math.Sqrt(float64(per))); scale != 1 {
		scores = put(e, "", "Mul", nil, scores, e.Scalar(name+".scale", x, scale))
	}
	if len(m.Window) > 0 {
		scores = put(e, "", "Add", nil, scores, m.relativeBias(e, name, x))
	}
	if len(in) > 2 && in[2] != nil {
		scores = put(e, "", "Add", nil, scores, in[2])
	}
	if m.Causal {
		scores = put(e, "", "Add", nil, scores, future(e, name, scores))
	}
	weights := softmax(e, "Softmax", name+".weights", new(-1), []*nn.Value{scores})
	if e.Err() != nil {
		return nil
	}
	if m.Dropout != 0 {
		weights[0] = dropout(e, name+".dropout", weights[0], m.Dropout)
	}
	y := put(e, "", "Transpose", attrs{"perm": turned(rank-2, 1, 0, 2)}, put(e, "", "MatMul", nil, weights[0], v))
	y = project("output", reshape(e, name+".joined", y, append(rows, m.Heads*per)...), size)
	if !m.Weights {
		return []*nn.Value{y}
	}
	return []*nn.Value{y, weights[0]}
}

// headSize returns the number of channels of a head.
func (m Attention) headSize(e *nn.Edit, size int) int {
	switch {
	case e.Err() != nil:
	case m.Heads <= 0 || m.HeadSize < 0 || m.HeadSize == 0 && size%m.Heads != 0:
		e.Failf("%d heads do not divide the size %d", m.Heads, size)
	case m.KVHeads < 0 || m.KVHeads > 0 && m.Heads%m.KVHeads != 0:
		e.Failf("%d heads of keys and values do not divide %d heads", m.KVHeads, m.Heads)
	default:
		return cmp.Or(m.HeadSize, size/m.Heads)
	}
	return 0
}

// turned returns a permutation of the axes after those of the batch, with those in front.
func turned(batch int, perm ...int) []int {
	list := make([]int, 0, batch+len(perm))
	for i := range batch {
		list = append(list, i)
	}
	for _, p := range perm {
		list = append(list, batch+p)
	}
	return list
}

// ones returns a shape of n axes of length 1.
func ones(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

// future returns a mask [queries, keys] of −∞ for the keys after a query, 0 for the others.
func future(e *nn.Edit, name string, scores *nn.Value) *nn.Value {
	if e.Err() != nil {
		return nil
	}
	t := scores.Type()
	rank := t.Rank()
	rows, columns := t.Shape[rank-2], t.Shape[rank-1]
	if rows.Known() && !rows.Symbolic() && columns.Known() && !columns.Symbolic() {
		past := make([]bool, rows.Size*columns.Size)
		for i := range past {
			past[i] = i%columns.Size <= i/columns.Size
		}
		return put(e, name+".future", "Where", nil, constant(e, name+".past", past, rows.Size, columns.Size), e.Scalar(name+".kept", scores, 0), e.Scalar(name+".never", scores, math.Inf(-1)))
	}
	shape := put(e, "", "Shape", nil, scores)
	shape = put(e, "", "Slice", nil, shape, e.Ints(name+".from", rank-2), e.Ints(name+".to", rank))
	full := put(e, "", "Expand", nil, e.Scalar(name+".never", scores, math.Inf(-1)), shape)
	return put(e, "", "Trilu", nil, full, constant(e, name+".after", []int64{1}))
}

// relativeBias returns a trained bias for each relative position in a window, [heads, positions, positions].
func (m Attention) relativeBias(e *nn.Edit, name string, x *nn.Value) *nn.Value {
	if e.Err() == nil && (len(m.Window) != 2 || m.Window[0] < 1 || m.Window[1] < 1) {
		e.Failf("Window is %v: want a height and a width", m.Window)
	}
	if e.Err() != nil {
		return nil
	}
	height, width := m.Window[0], m.Window[1]
	n := height * width
	index := make([]int64, 0, n*n)
	for i := range n {
		for j := range n {
			index = append(index, int64((i/width-j/width+height-1)*(2*width-1)+i%width-j%width+width-1))
		}
	}
	table := weight(e, name+".relative_position_bias_table", x, initial.TruncatedNormal{Std: 0.02}, nil, (2*height-1)*(2*width-1), m.Heads)
	bias := put(e, "", "Gather", nil, table, constant(e, name+".relative_position_index", index, n, n))
	return put(e, name+".relative_position_bias", "Transpose", attrs{"perm": []int{2, 0, 1}}, bias)
}

// constant returns a tensor that is not trained.
func constant[T any](e *nn.Edit, name string, data []T, dims ...int) *nn.Value {
	d, err := dtype.FromSlice(data, dims...)
	if e.Fail(err); err != nil {
		return nil
	}
	v := e.Const(name, d)
	e.SetRole(v, nn.Constant)
	return v
}

// relative builds a Linear under a name that already has its scope in front.
type relative struct {
	name  string
	layer Linear
}

func (r relative) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	r.layer.Name = r.name
	var out []*nn.Value
	e.Scope("", func() { out = r.layer.Build(e, in...) })
	return out
}

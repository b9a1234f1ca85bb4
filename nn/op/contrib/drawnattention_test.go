package contrib_test

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"gorgonia.org/tensor"
)

// lengths are n integers from 1 to limit.
func (d dice) lengths(n, limit int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = 1 + d.IntN(limit)
	}
	return v
}

// flags has ones and zeros, a one first in each row.
func (d dice) flags(dims ...int) dtype.Value {
	v := d.integers(dtype.Int32, 2, dims...)
	rows, last := dtype.Slice[int32](v.(*tensor.Dense)), dims[len(dims)-1]
	for i := 0; i < len(rows); i += last {
		rows[i] = 1
	}
	return v
}

// mask is one of the forms of a mask of keys, or none.
func (d dice) mask(batch, queries, keys, past int) dtype.Value {
	switch d.IntN(7) {
	case 0:
		return ids([]int{batch}, d.lengths(batch, keys)...)
	case 1: // ends, then starts
		ends, starts := d.lengths(batch, keys), make([]int, batch)
		for i := range starts {
			starts[i] = d.IntN(ends[i])
		}
		return ids([]int{2 * batch}, append(ends, starts...)...)
	case 2: // lengths and their sums
		v, sums := d.lengths(batch, keys), [2][]int{{0}, {0}}
		for i, n := range v {
			sums[0] = append(sums[0], sums[0][i]+queries)
			sums[1] = append(sums[1], sums[1][i]+n)
		}
		return ids([]int{3*batch + 2}, append(slices.Clone(v), append(sums[0], sums[1]...)...)...)
	case 3:
		return d.flags(batch, keys)
	case 4:
		return d.flags(batch, queries, keys)
	case 5:
		n := max(keys, past+queries) + d.IntN(2)
		return d.flags(batch, 1, n, n)
	}
	return nil
}

func drawAttention(d dice) trial {
	batch, rows, width, heads, size := 1+d.IntN(2), 1+d.IntN(3), 2+d.IntN(4), 1+d.IntN(3), 2*(1+d.IntN(3))
	c := contrib.AttentionConfig{NumHeads: heads, Unidirectional: d.yes(), Scale: d.float(0.1, 1), MaskFilter: d.float(-1000, -2)}
	sizes := []int{heads * size, heads * size, heads * size}
	if d.IntN(3) == 0 {
		sizes[2] = heads * (1 + d.IntN(5))
		c.HiddenSizes = sizes
	}
	if d.IntN(3) == 0 && c.HiddenSizes == nil {
		c.DoRotary = true
	}
	total := sizes[0] + sizes[1] + sizes[2]
	past, room := 0, 0
	v := in(d.floats(batch, rows, width), d.floats(width, total), d.floats(total), nil, nil, nil, nil) // without bias the runtime crashes
	u := use1(c, v...)
	if sizes[2] == sizes[1] && d.yes() {
		past = d.IntN(3)
		if c.ShareBuffer = d.IntN(3) == 0; c.ShareBuffer {
			room = rows + d.IntN(3)
			u.In[6] = ids([]int{1}, past)
		}
		u.In[4] = d.floats(2, batch, heads, past+room, size)
		u.Outputs = 2
	} else if sizes[2] == sizes[1] && d.yes() {
		u.Outputs = 2
	}
	u.In[3] = d.mask(batch, rows, past+rows, past)
	if d.IntN(3) == 0 {
		u.In[5] = d.floats(one(d, batch, 1), one(d, heads, 1), rows, past+rows)
	}
	u.Config, u.params = c, []int{1, 2}
	return u
}

func drawMultiHead(d dice) trial {
	batch, queries, heads, size := 1+d.IntN(2), 1+d.IntN(3), 1+d.IntN(3), 2+d.IntN(4)
	keys, width := queries, size
	c := contrib.MultiHeadAttentionConfig{NumHeads: heads, Unidirectional: d.IntN(3) == 0, Scale: d.float(0.1, 1), MaskFilter: d.float(-1000, -2)}
	v := make([]dtype.Value, 10)
	form := d.IntN(5)
	if form > 1 && d.yes() {
		keys = 1 + d.IntN(4)
	}
	if form > 2 && d.IntN(3) == 0 {
		width = 1 + d.IntN(5)
	}
	switch form {
	case 0:
		v[0] = d.floats(batch, queries, heads, 3, size)
	case 1, 3:
		v[0], v[1], v[2] = d.floats(batch, queries, heads*size), d.floats(batch, keys, heads*size), d.floats(batch, keys, heads*width)
	case 2:
		v[0], v[1] = d.floats(batch, queries, heads*size), d.floats(batch, keys, heads, 2, size)
	case 4:
		v[0], v[1], v[2] = d.floats(batch, queries, heads*size), d.floats(batch, heads, keys, size), d.floats(batch, heads, keys, width)
	}
	if d.yes() {
		v[3] = d.floats(heads * (2*size + width))
	}
	past := 0
	if form == 1 || form == 3 {
		if d.yes() {
			past = d.IntN(4) // with past_sequence_length the runtime expects past and present in the same memory
			v[6], v[7] = d.floats(batch, heads, past, size), d.floats(batch, heads, past, width)
		}
	}
	v[4] = d.mask(batch, queries, past+keys, past)
	if d.IntN(3) == 0 {
		v[5] = d.floats(one(d, batch, 1), one(d, heads, 1), queries, past+keys)
	}
	if keys != queries { // the runtime lets the last query see all keys
		c.Unidirectional = false
	}
	u := use1(c, v...)
	if u.Outputs, u.params = one(d, 1, 3, 4), []int{3}; v[6] != nil {
		u.Outputs = one(d, 3, 4) // without present the runtime does not read past
	}
	if c.Unidirectional && u.Outputs == 4 {
		u.NoLow = "hidden scores are the smallest numbers of the type"
		u.NoWide = u.NoLow
	}
	return u
}

func drawDecoder(d dice) trial {
	batch, heads, size := 2*(1+d.IntN(2)), 1+d.IntN(3), 4*(1+d.IntN(2))
	keys, width, past := 1, size, 1+d.IntN(3) // what the runtime gives without past depends on memory of others
	c := contrib.DecoderMaskedMultiHeadAttentionConfig{NumHeads: heads, Scale: d.float(0.1, 1), MaskFilter: d.float(-1000, -2)}
	v := make([]dtype.Value, 11)
	switch d.IntN(3) {
	case 0:
		v[0] = d.floats(batch, 1, heads*3*size)
	case 1:
		v[0], v[1], v[2] = d.floats(batch, 1, heads*size), d.floats(batch, 1, heads*size), d.floats(batch, 1, heads*width)
	case 2: // to what an encoder gave
		keys, past = 1+d.IntN(4), -1
		v[0], v[1], v[2] = d.floats(batch, 1, heads*size), d.floats(batch, heads, keys, size), d.floats(batch, heads, keys, width)
	}
	u := use1(c, v...)
	if past >= 0 {
		c.ShareBuffer = true
		room := 1 + d.IntN(3)
		u.In[5], u.In[6], u.In[7] = d.floats(batch, heads, past+room, size), d.floats(batch, heads, past+room, size), ids([]int{1}, past)
		if d.IntN(3) == 0 {
			u.In[8], u.In[9] = ids([]int{1}, 2), d.integers(dtype.Int32, 2, batch/2, 2, past+room)
		}
		u.Outputs = 3
	}
	if c.OutputQK = d.IntN(3) == 0; c.OutputQK {
		u.Outputs = 4
	}
	total := max(past, 0) + keys
	u.In[3] = d.or(d.flags(batch, total))
	if d.IntN(3) == 0 {
		u.In[4] = d.floats(1, heads, 1, total)
	}
	if d.IntN(3) == 0 {
		u.In[10] = d.floats(3 * heads * size)
	}
	u.Config = c
	return u
}

func drawGroupQuery(d dice) trial {
	batch, groups, size := 1+d.IntN(2), 1+d.IntN(2), 16
	heads := groups * (1 + d.IntN(2))
	c := contrib.GroupQueryAttentionConfig{NumHeads: heads, KVHeads: groups, Scale: d.float(0.1, 1), SmoothSoftmax: d.IntN(4) == 0, KQuantType: "NONE", VQuantType: "NONE"}
	if d.IntN(3) == 0 {
		c.Softcap = 0.5 + d.Float32()
	}
	if d.IntN(3) == 0 {
		c.LocalWindow = pointer(one(d, -1, 1, 2, 3))
	}
	if d.IntN(6) == 0 && (c.LocalWindow == nil || *c.LocalWindow < 0) {
		c.Causal = pointer(false)
	}
	if d.IntN(3) == 0 {
		c.QKOutput = 1 + d.IntN(2)
	}
	v := make([]dtype.Value, 16)
	rows, past := 1+d.IntN(3), 0
	ragged := c.QKOutput == 0 // scores of rows that do not count are not specified
	lengths := make([]int, batch)
	if d.yes() { // a step after others
		past = 1 + d.IntN(3)
		if rows = 1; batch == 1 && d.yes() {
			rows = 1 + d.IntN(3)
		}
		have := past + one(d, 0, 0, rows, rows+2)
		v[3], v[4] = d.floats(batch, groups, have, size), d.floats(batch, groups, have, size)
		for i := range lengths {
			lengths[i] = past + rows - 1
			if rows == 1 && i > 0 && ragged {
				lengths[i] = d.IntN(past + 1)
			}
			if i > 0 { // the runtime's caches hold zeros beyond what counts
				cut(v[3], lengths[i]-rows+1)
				cut(v[4], lengths[i]-rows+1)
			}
		}
		for _, k := range []int{3, 4} {
			if batch == 1 {
				cut(v[k], past)
			} else {
				first(v[k], past)
			}
		}
	} else {
		for i := range lengths {
			lengths[i] = rows - 1
			if i > 0 && ragged && c.LocalWindow == nil { // nor are the others behind a window
				lengths[i] = d.IntN(rows)
			}
		}
	}
	v[5], v[6] = ids(one(d, []int{batch}, []int{batch}, []int{batch, 1}), lengths...), ids(one(d, []int{1}, []int{}), past+rows)
	if d.yes() {
		v[0], v[1], v[2] = d.floats(batch, rows, heads*size), d.floats(batch, rows, groups*size), d.floats(batch, rows, groups*size)
	} else {
		v[0] = d.floats(batch, rows, (heads+2*groups)*size)
	}
	if d.yes() {
		c.DoRotary, c.RotaryInterleaved = true, d.yes()
		v[7], v[8] = d.floats(8, size/2), d.floats(8, size/2)
		if d.IntN(3) == 0 {
			at := make([]int, 0, batch*rows)
			for i := range batch {
				from := lengths[i] - rows + 1
				if past == 0 {
					from = 0
				}
				for k := range rows {
					at = append(at, max(from, 0)+k)
				}
			}
			v[9] = numbers(dtype.Int64, []int{batch, rows}, at...)
		}
	}
	if d.IntN(3) == 0 {
		v[10] = d.floats(one(d, batch, 1), one(d, heads, 1), rows, past+rows)
	}
	if d.IntN(4) == 0 {
		v[11] = d.floats(heads)
	}
	u := use1(c, v...)
	if u.Outputs = 3; c.QKOutput > 0 {
		u.Outputs = 4
	}
	return u
}

// first makes what stands from row on in the first sequence of a cache zero.
func first(cache dtype.Value, row int) {
	d := cache.(*tensor.Dense)
	s, v := d.Shape(), dtype.Slice[float32](d)
	for h := range s[1] {
		clear(v[(h*s[2]+row)*s[3] : (h+1)*s[2]*s[3]])
	}
}

func drawMatMulNBits(d dice) trial {
	bits := one(d, 2, 4, 8)
	c := contrib.MatMulNBitsConfig{K: 16 * (1 + d.IntN(5)), N: 1 + d.IntN(5), Bits: bits, BlockSize: one(d, 16, 32, 64), Accuracy: d.IntN(5)}
	if d.yes() {
		c.K -= d.IntN(15)
	}
	blocks := (c.K + c.BlockSize - 1) / c.BlockSize
	v := make([]dtype.Value, 6)
	v[0] = d.floats(append(d.shape(1, 2), c.K)...)
	v[1] = d.integers(dtype.Uint8, 256, c.N, blocks, c.BlockSize*bits/8)
	v[2] = d.floats(one(d, []int{c.N, blocks}, []int{c.N * blocks})...)
	switch d.IntN(3) {
	case 0:
		packed := (blocks*bits + 7) / 8
		v[3] = d.integers(dtype.Uint8, 256, one(d, []int{c.N, packed}, []int{c.N * packed})...)
	case 1:
		v[3] = d.floats(one(d, []int{c.N, blocks}, []int{c.N * blocks})...)
	}
	if _, packed := v[3].(*tensor.Dense); d.IntN(3) == 0 && bits == 4 && !(packed && op.TypeOf(v[3]).DType == dtype.Uint8) {
		// with g_idx the runtime leaves packed zero points out and takes all weights for those of 4 bits
		v[4] = d.integers(dtype.Int32, blocks, one(d, c.K, blocks*c.BlockSize))
	}
	if d.IntN(3) == 0 {
		v[5] = d.floats(c.N)
	}
	u := use1(c, v...)
	u.params, u.NoLow = one(d, []int{1, 2, 3, 4}, []int{1, 2, 3, 4, 5}, nil), "weights times 255"
	if u.Tol = 1e-3; c.Accuracy == 4 {
		u.Tol = 1 // the runtime rounds A to 8 bits
	}
	return u
}

func drawGatherBlocks(d dice) trial {
	t, bits := one(d, dtype.Uint8, dtype.Uint8, dtype.Int4, dtype.Uint4), 4
	rank := 2 + d.IntN(2)
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = 2 * (1 + d.IntN(3))
	}
	c := contrib.GatherBlockQuantizedConfig{BlockSize: one(d, 16, 32), QuantizeAxis: rank - 1, Bits: 4}
	if t == dtype.Uint8 {
		bits = one(d, 2, 4, 8)
		c.Bits = bits
	} else {
		c.GatherAxis = d.IntN(rank)
		for c.QuantizeAxis = d.IntN(rank); c.QuantizeAxis == c.GatherAxis; {
			c.QuantizeAxis = d.IntN(rank)
		}
	}
	shape[c.QuantizeAxis] = 8 * (1 + d.IntN(5))
	length := shape[c.QuantizeAxis]
	blocks := (length + c.BlockSize - 1) / c.BlockSize
	scales, zeros := slices.Clone(shape), slices.Clone(shape)
	scales[c.QuantizeAxis], zeros[c.QuantizeAxis] = blocks, blocks
	limit := map[bool]int{true: 256, false: 16}[t == dtype.Uint8]
	if t == dtype.Int4 {
		limit = 7
	}
	if t == dtype.Uint8 {
		each := 8 / bits
		shape[rank-1], zeros[rank-1] = length/each, (blocks+each-1)/each
	}
	n := shape[c.GatherAxis]
	v := in(d.integers(t, limit, shape...), d.integers(one(d, dtype.Int32, dtype.Int64), n, d.shape(1, 2)...), d.floats(scales...), d.or(d.integers(t, limit, zeros...)))
	if d.yes() || c.QuantizeAxis == 0 { // 0 is the default, 1
		c.GatherAxis, c.QuantizeAxis = c.GatherAxis-rank*d.IntN(2), c.QuantizeAxis-rank
	}
	u := use1(c, v...)
	u.params = []int{0, 2, 3}
	return u
}

package contrib

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// MatMulNBitsConfig has the attributes of MatMulNBits. Where g_idx is given, packed zero points and weights of 2 bits count
// as they do without it; ONNX Runtime's kernel for the CPU takes all weights for 4 bits there, and every packed zero point for 8.
type MatMulNBitsConfig struct {
	K         int `onnx:"K,required"`                 // features of a row of A
	N         int `onnx:"N,required"`                 // features of a row of the result
	Accuracy  int `onnx:"accuracy_level,default=0"`   // lowest precision allowed for A; of no effect: its own type is used
	Bits      int `onnx:"bits,default=4"`             // of a weight: 2, 4 or 8
	BlockSize int `onnx:"block_size,required"`        // weights along K that share a scale
	Prepacked int `onnx:"weight_prepacked,default=0"` // layout of the weights; only 0 is supported
}

// Operator names the operator.
func (MatMulNBitsConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "MatMulNBits"} }

// GatherBlockQuantizedConfig has the attributes of GatherBlockQuantized.
type GatherBlockQuantizedConfig struct {
	Bits         int `onnx:"bits,default=4"`          // per element; those of 4 bits and fewer share bytes
	BlockSize    int `onnx:"block_size,default=128"`  // elements along QuantizeAxis that share a scale
	GatherAxis   int `onnx:"gather_axis,default=0"`   // axis that the indices select along
	QuantizeAxis int `onnx:"quantize_axis,default=1"` // axis that the blocks are along
}

// Operator names the operator.
func (GatherBlockQuantizedConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "GatherBlockQuantized"}
}

// blockQuantized are operators on weights of few bits, blocks of which share a scale and a zero point.
func blockQuantized() []*op.Op {
	few := []op.DType{dtype.Uint8, dtype.Int4, dtype.Uint4}
	return []*op.Op{
		blockDequantize(),
		composed(op.Op{Name: "MatMulNBits", Cost: counted, Doc: "Product with a transposed matrix of 2, 4 or 8 bits, blocks of whose rows have scales and zero points.",
			In:  "A T1, B uint8, scales T1, zero_points? T3, g_idx? int32, bias? T1 weight",
			Out: "Y T1", Where: op.Where{"T1": op.Floats(), "T3": append([]op.DType{dtype.Uint8}, op.Floats()...)},
			Attrs: MatMulNBitsConfig{}, Check: checkMatMulNBits, Pinned: "the sizes are attributes"}, matMulNBits),
		composed(op.Op{Name: "GatherBlockQuantized", Doc: "Gather from a table of few bits, blocks of which have scales and zero points.",
			In: "data T1, indices Tind, scales T2, zero_points? T1", Out: "output T2",
			Where: op.Where{"T1": few, "T2": op.Floats(), "Tind": op.Indices()}, Attrs: GatherBlockQuantizedConfig{}, Check: checkGatherBlockQuantized,
			Pinned: "elements fall into blocks"}, gatherBlockQuantized),
	}
}

func checkMatMulNBits(c *op.Call) error {
	cfg := c.Config.(MatMulNBitsConfig)
	switch {
	case cfg.Bits != 2 && cfg.Bits != 4 && cfg.Bits != 8:
		return c.Errorf("weights of %d bits are not supported", cfg.Bits)
	case cfg.BlockSize < 16 || cfg.BlockSize > most || cfg.BlockSize&(cfg.BlockSize-1) != 0:
		return c.Errorf("block_size %d is not a power of 2 of at least 16", cfg.BlockSize)
	case cfg.Prepacked != 0:
		return c.Errorf("weight_prepacked %d is not supported", cfg.Prepacked)
	case cfg.K < 1 || cfg.N < 1 || cfg.K > math.MaxInt32 || cfg.N > math.MaxInt32:
		return c.Errorf("K is %d and N %d, want 1 or more", cfg.K, cfg.N)
	}
	return nil
}

func matMulNBits(e *expression, in []value) []value {
	cfg := e.c.Config.(MatMulNBitsConfig)
	n, blocks := op.D(cfg.N), op.D((cfg.K+cfg.BlockSize-1)/cfg.BlockSize)
	a, b := in[0], in[1]
	if len(a.typ.Shape) == 0 || a.dim(-1).Differ(op.D(cfg.K)) {
		e.failf("input A: want %d columns, got %v", cfg.K, a.typ)
	}
	e.shape(1, n, blocks, op.D(cfg.BlockSize*cfg.Bits/8))
	if e.shape(5, n); e.err != nil {
		return []value{{}}
	}
	scales, zero := e.matrix(2, in[2], n, blocks), e.zeroPoints(cfg, in[3], a, n, blocks)
	w := e.weights(cfg, b, scales, zero, in[4])
	y := e.do(op.Plain("MatMul"), a, e.transpose(w, 1, 0))
	if in[5].there() {
		y = e.add(y, in[5])
	}
	return []value{y}
}

// zeroPoints returns those of the blocks, [N, blocks], with the element type of like: packed ones, floats, or half of the range.
func (e *expression) zeroPoints(cfg MatMulNBitsConfig, z, like value, n, blocks op.Dim) value {
	t := like.typ.DType
	switch {
	case !z.there():
		return e.expand(e.number(like, float64(int(1)<<(cfg.Bits-1))), n, blocks)
	case z.typ.DType != dtype.Uint8:
		return e.cast(e.matrix(3, z, n, blocks), t)
	}
	packed := op.D((blocks.Size*cfg.Bits + 7) / 8)
	return e.cast(e.part(e.unpacked(e.matrix(3, z, n, packed), cfg.Bits), 1, op.D(0), blocks), t)
}

// weights returns the matrix [N, K] that b has in packed bits.
func (e *expression) weights(cfg MatMulNBitsConfig, b, scales, zero, groups value) value {
	if e.g != nil && !e.c.Keep && !groups.there() {
		return e.do(blockDequantizeConfig{Columns: cfg.K, Bits: cfg.Bits, BlockSize: cfg.BlockSize}, b, scales, zero)
	}
	w := e.cast(e.unpacked(b, cfg.Bits), scales.typ.DType) // [N, blocks, block size]
	if groups.there() {
		return e.byGroups(cfg, w, scales, zero, groups)
	}
	n, blocks := scales.dim(0), scales.dim(1)
	column := func(v value) value { return e.reshape(v, n, blocks, op.D(1)) }
	w = e.mul(e.sub(w, column(zero)), column(scales))
	return e.part(e.reshape(w, n, blocks.Mul(op.D(cfg.BlockSize))), 1, op.D(0), op.D(cfg.K))
}

// byGroups dequantizes weights of which column k has the scale and the zero point of block index[k].
func (e *expression) byGroups(cfg MatMulNBitsConfig, w, scales, zero, index value) value {
	k := op.D(cfg.K)
	if !fits(index.typ.Shape, []op.Dim{w.dim(1).Mul(w.dim(2))}) {
		e.shape(4, k)
	}
	index = e.part(index, 0, op.D(0), k)
	of := func(v value) value { return e.do(std.GatherConfig{Axis: 1}, v, index) }
	w = e.part(e.reshape(w, w.dim(0), w.dim(1).Mul(w.dim(2))), 1, op.D(0), k)
	return e.mul(e.sub(w, of(zero)), of(scales))
}

// matrix reshapes input i to rows×cols; files may store it as one vector.
func (e *expression) matrix(i int, v value, rows, cols op.Dim) value {
	if len(v.typ.Shape) == 1 && !v.dim(0).Differ(rows.Mul(cols)) {
		return e.reshape(v, rows, cols)
	}
	e.shape(i, rows, cols)
	return v
}

// unpacked takes the elements that share bytes along the last axis apart, those of the lowest bits first.
func (e *expression) unpacked(v value, bits int) value {
	if bits == 8 || e.err != nil {
		return v
	}
	last := len(v.typ.Shape)
	constant := func(x int) value { return e.constant(dtype.FromInts(dtype.Uint8, []int{x})) }
	shape := append(slices.Clone(v.typ.Shape), op.D(1))
	parts := make([]value, 8/bits)
	for i := range parts {
		parts[i] = v
		if i > 0 {
			parts[i] = e.do(std.BitShiftConfig{Direction: "RIGHT"}, v, constant(i*bits))
		}
		if i < len(parts)-1 {
			parts[i] = e.do(op.Plain("BitwiseAnd"), parts[i], constant(1<<bits-1))
		}
		parts[i] = e.reshape(parts[i], shape...)
	}
	all := e.do(std.ConcatConfig{Axis: last}, parts...)
	shape = slices.Clone(v.typ.Shape)
	shape[last-1] = shape[last-1].Mul(op.D(len(parts)))
	return e.reshape(all, shape...)
}

func checkGatherBlockQuantized(c *op.Call) error {
	cfg, t := c.Config.(GatherBlockQuantizedConfig), c.In[0].DType
	size := cfg.BlockSize
	switch {
	case t == dtype.Uint8 && cfg.Bits != 2 && cfg.Bits != 4 && cfg.Bits != 8:
		return c.Errorf("elements of %d bits are not supported", cfg.Bits)
	case size < 16 || size > most || size&(size-1) != 0:
		return c.Errorf("block_size %d is not a power of 2 of at least 16", size)
	}
	return nil
}

// axes returns the one to gather along and the one of blocks.
func (c GatherBlockQuantizedConfig) axes(e *expression) (from, axis int) {
	rank, bytes := len(e.c.In[0].Shape), e.c.In[0].DType == dtype.Uint8
	from, err := e.c.Axis(c.GatherAxis, rank)
	if err != nil {
		e.fail(err)
	}
	axis, err = e.c.Axis(c.QuantizeAxis, rank)
	if err != nil {
		e.fail(err)
	}
	switch {
	case e.err != nil:
	case from == axis:
		e.failf("gather_axis and quantize_axis are both %d", axis)
	case bytes && from != 0:
		e.failf("elements in bytes are gathered along axis 0, not %d", from)
	case bytes && c.Bits < 8 && axis != rank-1:
		e.failf("elements that share bytes have their blocks along the last axis, not %d", axis)
	}
	return from, axis
}

func gatherBlockQuantized(e *expression, in []value) []value {
	cfg := e.c.Config.(GatherBlockQuantizedConfig)
	data, scales, zero := in[0], in[2], in[3]
	from, axis := cfg.axes(e)
	if e.err != nil {
		return []value{{}}
	}
	bits, each := 8, op.D(1) // of an element; elements in a byte
	if data.typ.DType == dtype.Uint8 {
		bits, each = cfg.Bits, op.D(8/cfg.Bits)
	}
	length := data.dim(axis).Mul(each)
	blocks := length.Add(op.D(cfg.BlockSize - 1)).Div(op.D(cfg.BlockSize))
	want := slices.Clone(data.typ.Shape)
	want[axis] = blocks
	e.shape(2, want...)
	want[axis] = blocks.Add(each).Sub(op.D(1)).Div(each)
	e.shape(3, want...)
	if axis > from {
		axis += len(in[1].typ.Shape) - 1
	}
	rows := func(v value) value { return e.do(std.GatherConfig{Axis: from}, v, in[1]) }
	spread := func(v value) value { // repeats values of blocks for each element of a row
		return e.do(std.GatherConfig{Axis: axis}, v, e.indices(length, func(i int) int { return i / cfg.BlockSize }))
	}
	t := scales.typ.DType
	y := e.cast(e.unpacked(rows(data), bits), t)
	if zero.there() {
		zero = e.part(e.unpacked(rows(zero), bits), axis, op.D(0), blocks)
		y = e.sub(y, spread(e.cast(zero, t)))
	} else if data.typ.DType == dtype.Uint8 {
		y = e.sub(y, e.number(scales, float64(int(1)<<(bits-1))))
	}
	return []value{e.mul(y, spread(rows(scales)))}
}

package contrib

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// stores is how a cache stores the elements of its rows: as they are, or as integers, the nearest multiples of a scale, of 8 or
// of 4 bits. Those of 4 bits are 8 too large, two to a byte, the first in the low bits.
type stores struct {
	bits  int   // 0: as they are
	scale value // spreads to [B, G, T, H]
	like  value // has the element type of the rows
}

// stores returns how the cache stores x, whose scales are input i.
func (c *grouped) stores(e *expression, i int, x, scale value, kind string) stores {
	if !c.quantized() || e.err != nil {
		return stores{}
	}
	one, count := op.D(1), op.Product(scale.typ.Shape)
	each := x.dim(1).Mul(x.dim(3))
	switch {
	case kind == "PER_TENSOR" && count.Differ(one):
		e.failf("input %s: want one scale, got %v", e.c.InputName(i), scale.typ)
	case kind == "PER_CHANNEL" && count.Differ(each):
		e.failf("input %s: want %v scales, got %v", e.c.InputName(i), each, scale.typ)
	case kind == "PER_TENSOR":
		scale = e.reshape(scale, one)
	default:
		scale = e.reshape(scale, one, x.dim(1), one, x.dim(3))
	}
	return stores{bits: c.CacheBits, scale: e.cast(scale, x.typ.DType), like: x}
}

// pack converts rows to the form of the cache.
func (s stores) pack(e *expression, x value) value {
	if s.bits == 0 || e.err != nil {
		return x
	}
	low, high := -128.0, 127.0
	if s.bits == 4 {
		low, high = -8, 7
	}
	x = e.do(op.Plain("Round"), e.do(op.Plain("Div"), x, s.scale))
	x = e.do(std.ClipConfig{}, x, e.number(x, low), e.number(x, high))
	if s.bits == 8 {
		return e.cast(x, dtype.Int8)
	}
	if size := x.dim(3); size.Known() && size.Size%2 != 0 {
		e.failf("heads of %v elements do not fill bytes of two", size)
		return value{}
	}
	half := x.dim(3).Div(op.D(2))
	x = e.reshape(e.add(x, e.number(x, 8)), x.dim(0), x.dim(1), x.dim(2), half, op.D(2))
	x = e.add(e.part(x, 4, op.D(0), op.D(1)), e.scale(e.part(x, 4, op.D(1), op.D(1)), 16))
	return e.cast(e.reshape(x, x.typ.Shape[:4]...), dtype.Uint8)
}

// unpack undoes pack.
func (s stores) unpack(e *expression, x value) value {
	if s.bits == 0 || e.err != nil {
		return x
	}
	t := s.like.typ.DType
	if s.bits == 8 {
		return e.mul(e.cast(x, t), s.scale)
	}
	return e.mul(e.sub(e.cast(e.unpacked(x, 4), t), e.number(s.like, 8)), s.scale)
}

// cached returns the keys (or values) to attend to, [B, G, T, H], and the cache after this call: [B,
// G, max(total, M), H], with the rows of this call after the valid rows of each sequence. s converts
// rows to what the cache stores.
func (c *grouped) cached(e *expression, slot int, past, x value, s stores) (all, next value) {
	size := c.total
	x = s.pack(e, x)
	if past.there() {
		if e.shape(slot, x.dim(0), x.dim(1), op.Unknown(), x.dim(3)); e.err != nil {
			return
		}
		size = size.Max(past.dim(2))
	}
	if e.err != nil {
		return
	}
	if c.slide != nil {
		all, next = c.slide.cached(e, past, x)
		return s.unpack(e, all), next
	}
	switch {
	case e.g == nil:
		next = value{typ: x.typ.With(x.dim(0), x.dim(1), size, x.dim(3))}
	case c.prompt:
		next = e.padRows(x, size)
	default:
		if !past.there() {
			past = e.part(x, 2, op.D(0), op.D(0))
		}
		next = e.do(std.TensorScatterConfig{}, e.padRows(past, size), x, c.before)
	}
	return s.unpack(e, e.part(next, 2, op.D(0), c.total)), next
}

// padRows appends zeros along axis 2.
func (e *expression) padRows(x value, size op.Dim) value {
	if x.dim(2).Same(size) {
		return x
	}
	return e.do(std.PadConfig{}, x, e.ints(0, 0, 0, 0, 0, 0, size.Size-x.dim(2).Size, 0))
}

// slide is the geometry of a cache of C rows about a window of W: of a sequence of T keys it holds the last L(T), all of them while
// they fit and T − G·⌈(T − C)/G⌉ then, where G = C − W + 1 leave at once.
type slide struct {
	rows, size op.Dim // S and C
	kept       value  // int64[B]: L of the keys of earlier calls
	gone       value  // int64[B]: the position of the first row
	leave      value  // int64[B]: rows that leave in this call
}

func (c *grouped) slid(e *expression, size op.Dim) *slide {
	w := op.D(c.window())
	if size.Known() && size.Size < w.Size {
		e.failf("a cache of %v rows is shorter than the window of %v", size, w)
	}
	if e.err != nil {
		return &slide{}
	}
	capacity, step := e.counted(size), e.counted(size.Sub(w).Add(op.D(1)))
	holds := func(t value) value {
		over := e.sub(e.add(e.sub(t, capacity), step), e.ints(1))
		later := e.sub(t, e.mul(step, e.do(op.Plain("Div"), over, step)))
		return e.do(op.Plain("Where"), e.do(op.Plain("LessOrEqual"), t, capacity), t, later)
	}
	s := &slide{rows: c.rows, size: size, kept: holds(c.before)}
	s.gone = e.sub(c.before, s.kept)
	all := e.add(c.last, e.ints(1))
	s.leave = e.sub(e.sub(all, s.gone), holds(all))
	return s
}

// cached returns the rows of the cache with those of this call after them, and of them those that stay.
func (s *slide) cached(e *expression, past, x value) (all, next value) {
	size := s.size.Add(s.rows)
	if e.g == nil {
		return value{typ: x.typ.With(x.dim(0), x.dim(1), size, x.dim(3))}, value{typ: past.typ}
	}
	all = e.do(std.TensorScatterConfig{}, e.padRows(past, size), x, s.kept)
	return all, e.transpose(s.pick(e, e.transpose(all, 0, 2, 1, 3), s.leave, s.size), 0, 2, 1, 3)
}

// pick are count elements of axis 1 of x from first on, of each batch element; beyond the axis its last one.
func (s *slide) pick(e *expression, x, first value, count op.Dim) value {
	batch := x.dim(0)
	index := e.add(e.reshape(first, batch, op.D(1)), e.counting(count))
	index = e.do(op.Plain("Min"), index, e.sub(e.counted(x.dim(1)), e.ints(1)))
	return e.do(std.GatherNDConfig{BatchDims: 1}, x, e.reshape(index, batch, count, op.D(1)))
}

// columns returns those of a bias [B, N, S, positions] for the rows of the cache and of this call.
func (s *slide) columns(e *expression, bias value, batch op.Dim) value {
	bias = e.expand(bias, batch, bias.dim(1), bias.dim(2), bias.dim(3))
	return e.transpose(s.pick(e, e.transpose(bias, 0, 3, 1, 2), s.gone, s.size.Add(s.rows)), 0, 2, 3, 1)
}

package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// winograd makes the transforms of F(2×2, 3×3) and F(4×4, 3×3). All have channels in their lanes:
// pixels are 16 floats (64 bytes) apart, as winogradTurn writes them.
func winograd() {
	for _, t := range []tile{tile2, tile4} {
		for _, lanes := range []int{8, 16} {
			pixels(t, lanes, "Input", t.side, t.side, t.input)
			pixels(t, lanes, "Delta", t.m, t.side, t.delta)
			winogradOutput(t, lanes)
			winogradWeights(t, lanes)
			winogradGradient(t, lanes)
		}
	}
	winogradTurn()
	winogradUnturn()
	winogradProducts()
}

// line transforms in one dimension; it may spoil x and tells put each result, which put may spoil.
type line func(v *vectors, x []reg.VecVirtual, put func(i int, y reg.VecVirtual))

// tile is F(m×m, 3×3): side points in each dimension make m outputs. With M = side×side products,
// output = Aᵀ·M·A and M = (G·g·Gᵀ) ∘ (Bᵀ·x·B).
type tile struct {
	m, side int
	input   line // Bᵀ
	output  line // Aᵀ
	delta   line // A
	weights line // G
	taps    line // Gᵀ

	factors, quotients []float64 // constants of weights and of taps
}

// vectors are registers of a width, and constants for them.
type vectors struct {
	lanes int
	regs  map[float64]reg.VecVirtual
}

func (v *vectors) new() reg.VecVirtual {
	if v.lanes == 16 {
		return ZMM()
	}
	return YMM()
}

// keep holds constants in registers.
func (v *vectors) keep(cs ...float64) {
	for _, c := range cs {
		if _, ok := v.regs[c]; !ok {
			r := v.new()
			VBROADCASTSS(f8(c), r)
			v.regs[c] = r
		}
	}
}

// c is a constant: a register or, of eight lanes, a place in memory.
func (v *vectors) c(c float64) Op {
	if r, ok := v.regs[c]; ok {
		return r
	}
	if v.lanes == 16 {
		panic(fmt.Sprint("constant not kept: ", c))
	}
	return f8(c)
}

func (v *vectors) clear(x reg.VecVirtual) {
	if v.lanes == 16 {
		VPXORQ(x, x, x)
	} else {
		VXORPS(x, x, x)
	}
}

func (v *vectors) copy(x reg.VecVirtual) reg.VecVirtual {
	y := v.new()
	VMOVAPS(x, y)
	return y
}

// note makes bad NaN where y is infinite or NaN; it spoils y.
func (v *vectors) note(y, bad reg.VecVirtual) {
	VSUBPS(y, y, y)
	if v.lanes == 16 {
		VPORD(y, bad, bad)
	} else {
		VPOR(y, bad, bad)
	}
}

// plus is x + c*y in a register of its own.
func (v *vectors) plus(x reg.VecVirtual, c float64, y reg.VecVirtual) reg.VecVirtual {
	s := v.copy(x)
	VFMADD231PS(v.c(c), y, s)
	return s
}

// both puts p + c*q and p - c*q; it spoils p.
func (v *vectors) both(i int, p reg.VecVirtual, c float64, q reg.VecVirtual, put func(int, reg.VecVirtual)) {
	s := v.plus(p, c, q)
	put(i, s)
	VFNMADD231PS(v.c(c), q, p)
	put(i+1, p)
}

// The points of F(4×4, 3×3) are 0, ±1/√2, ±√2 and ∞, which lose less precision than 0, ±1, ±2, ∞.
var (
	rootHalf = math.Sqrt(0.5)
	rootTwo  = math.Sqrt2
)

var tile4 = tile{
	m: 4, side: 6,
	factors:   []float64{0.5, 2, -2. / 3, 1. / 6, -2 * rootHalf / 3, rootTwo / 6},
	quotients: []float64{-2. / 3, 1. / 6, 1. / 3, -2 * rootHalf / 3, rootTwo / 6},
	input: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		VADDPS(x[4], x[0], x[0])
		VFNMADD231PS(v.c(2.5), x[2], x[0])
		put(0, x[0])
		VADDPS(x[1], x[5], x[5])
		VFNMADD231PS(v.c(2.5), x[3], x[5])
		put(5, x[5])
		even, odd := v.copy(x[4]), v.copy(x[3])
		VFNMADD231PS(v.c(2), x[2], even)
		VFNMADD231PS(v.c(2), x[1], odd)
		v.both(1, even, rootHalf, odd, put)
		VFNMADD231PS(v.c(0.5), x[2], x[4])
		VFNMADD231PS(v.c(0.5), x[1], x[3])
		v.both(3, x[4], rootTwo, x[3], put)
	},
	output: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		s, t := sumAndDifference(v, x[1], x[2]), sumAndDifference(v, x[3], x[4])
		VADDPS(s, x[0], x[0])
		VADDPS(t, x[0], x[0])
		put(0, x[0])
		VMULPS(v.c(0.5), s, s)
		VFMADD231PS(v.c(2), t, s)
		put(2, s)
		VFMADD231PS(v.c(rootHalf/2), x[1], x[5])
		VFMADD231PS(v.c(2*rootTwo), x[3], x[5])
		put(3, x[5])
		VMULPS(v.c(rootHalf), x[1], x[1])
		VFMADD231PS(v.c(rootTwo), x[3], x[1])
		put(1, x[1])
	},
	delta: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		v.both(1, v.plus(x[0], 0.5, x[2]), rootHalf, v.plus(x[1], 0.5, x[3]), put)
		v.both(3, v.plus(x[0], 2, x[2]), rootTwo, v.plus(x[1], 2, x[3]), put)
		put(0, x[0])
		put(5, x[3])
	},
	weights: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		even := v.plus(x[0], 0.5, x[2])
		VMULPS(v.c(-2./3), even, even)
		v.both(1, even, -2*rootHalf/3, x[1], put)
		even = v.plus(x[0], 2, x[2])
		VMULPS(v.c(1./6), even, even)
		v.both(3, even, rootTwo/6, x[1], put)
		put(0, x[0])
		put(5, x[2])
	},
	taps: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		s, t := sumAndDifference(v, x[1], x[2]), sumAndDifference(v, x[3], x[4])
		VFMADD231PS(v.c(-2./3), s, x[0])
		VFMADD231PS(v.c(1./6), t, x[0])
		put(0, x[0])
		VSUBPS(s, t, t)
		VFMADD231PS(v.c(1./3), t, x[5])
		put(2, x[5])
		VMULPS(v.c(-2*rootHalf/3), x[1], x[1])
		VFMADD231PS(v.c(rootTwo/6), x[3], x[1])
		put(1, x[1])
	},
}

// sumAndDifference is x + y; x becomes x - y.
func sumAndDifference(v *vectors, x, y reg.VecVirtual) reg.VecVirtual {
	s := v.new()
	VADDPS(y, x, s)
	VSUBPS(y, x, x)
	return s
}

// The points of F(2×2, 3×3) are 0, ±1 and ∞.
var tile2 = tile{
	m: 2, side: 4,
	factors: []float64{0.5}, quotients: []float64{0.5},
	input: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		VSUBPS(x[2], x[0], x[0])
		put(0, x[0])
		VSUBPS(x[3], x[1], x[3])
		put(3, x[3])
		put(1, sumAndDifference(v, x[2], x[1]))
		put(2, x[2])
	},
	output: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		s := sumAndDifference(v, x[1], x[2])
		VADDPS(s, x[0], x[0])
		put(0, x[0])
		VSUBPS(x[3], x[1], x[1])
		put(1, x[1])
	},
	delta: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		y := v.copy(x[0])
		put(1, sumAndDifference(v, y, x[1]))
		put(2, y)
		put(0, x[0])
		z := v.new()
		v.clear(z)
		VSUBPS(x[1], z, z)
		put(3, z)
	},
	weights: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		even := v.new()
		VADDPS(x[2], x[0], even)
		VMULPS(v.c(0.5), even, even)
		v.both(1, even, 0.5, x[1], put)
		put(0, x[0])
		put(3, x[2])
	},
	taps: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		s := sumAndDifference(v, x[1], x[2])
		VFMADD231PS(v.c(0.5), s, x[0])
		put(0, x[0])
		VFMADD231PS(v.c(0.5), s, x[3])
		put(2, x[3])
		VMULPS(v.c(0.5), x[1], x[1])
		put(1, x[1])
	},
}

// square applies f to the columns of a block of from×from vectors and to the rows of what comes of
// it; column and result load and store them, tmp is room for to×from vectors.
func square(v *vectors, from, to int, tmp reg.Register, f line, column func(j int, x []reg.VecVirtual), result func(i, j int, y reg.VecVirtual), row func(i int)) {
	place := func(i, j int) Mem { return Mem{Base: tmp, Disp: 4 * v.lanes * (i*from + j)} }
	for j := range from {
		x := make([]reg.VecVirtual, from)
		for i := range x {
			x[i] = v.new()
		}
		column(j, x)
		f(v, x, func(i int, y reg.VecVirtual) { VMOVUPS(y, place(i, j)) })
	}
	for i := range to {
		row(i)
		x := make([]reg.VecVirtual, from)
		for j := range x {
			x[j] = v.new()
			VMOVUPS(place(i, j), x[j])
		}
		f(v, x, func(j int, y reg.VecVirtual) { result(i, j, y) })
	}
}

// ladder addresses base + i*stride for 0 ≤ i < 6.
type ladder struct{ base, third, stride reg.Register }

func newLadder(base, stride reg.Register) ladder {
	l := ladder{base, GP64(), stride}
	l.aim()
	return l
}

// aim follows a change of base.
func (l ladder) aim() {
	LEAQ(Mem{Base: l.stride, Index: l.stride, Scale: 2}, l.third)
	ADDQ(l.base, l.third)
}

func (l ladder) at(i int) Mem {
	m := Mem{Base: l.base}
	if i >= 3 {
		m.Base = l.third
	}
	if i%3 > 0 {
		m.Index, m.Scale = l.stride, uint8(i%3)
	}
	return m
}

// pixels makes a transform from pixels to points.
func pixels(t tile, lanes int, name string, from, to int, f line) {
	TEXT(fmt.Sprintf("winograd%d%s%d", t.m, name, lanes), NOSPLIT,
		"func(rows, n int, src *float32, pitch int, dst *float32, point, step int, tmp *float32)")
	Doc(fmt.Sprintf("winograd%d%s%d transforms rows of n tiles of %d lanes: tiles begin %d pixels apart, rows of pixels are pitch bytes apart; dst has the points of a tile point bytes apart, tile after tile step bytes.", t.m, name, lanes, lanes, t.m))
	Pragma("noescape")
	v := &vectors{lanes, map[float64]reg.VecVirtual{}}
	if t.m == 4 {
		v.keep(2, 0.5, rootHalf, rootTwo)
		if name == "Input" {
			v.keep(2.5)
		}
	}
	rows := Load(Param("rows"), GP64())
	pitch := Load(Param("pitch"), GP64())
	point := Load(Param("point"), GP64())
	dst := Load(Param("dst"), GP64())
	tmp := Load(Param("tmp"), GP64())
	first := Load(Param("src"), GP64())
	n, out := GP64(), GP64()
	Label("row")
	Load(Param("n"), n)
	at := GP64()
	MOVQ(first, at)
	src := newLadder(at, pitch)
	Label("tile")
	to1 := ladder{out, GP64(), point}
	MOVQ(dst, out)
	to1.aim()
	square(v, from, to, tmp, f, func(j int, x []reg.VecVirtual) {
		for i := range x {
			m := src.at(i)
			m.Disp = 64 * j
			VMOVUPS(m, x[i])
		}
	}, func(i, j int, y reg.VecVirtual) { VMOVUPS(y, to1.at(j)) }, func(i int) {
		if i > 0 {
			for range to {
				ADDQ(point, out)
			}
			to1.aim()
		}
	})
	step := GP64()
	Load(Param("step"), step)
	ADDQ(step, dst)
	ADDQ(U32(uint32(64*t.m)), src.base)
	ADDQ(U32(uint32(64*t.m)), src.third)
	DECQ(n)
	JNZ(LabelRef("tile"))
	for range t.m {
		ADDQ(pitch, first)
	}
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// winogradOutput makes the transform from points to pixels.
func winogradOutput(t tile, lanes int) {
	TEXT(fmt.Sprintf("winograd%dOutput%d", t.m, lanes), NOSPLIT,
		"func(rows, n int, src *float32, point, step int, dst *float32, pitch int, tmp, bad *float32)")
	Doc(fmt.Sprintf("winograd%dOutput%d makes rows of n tiles of pixels from points, laid out as in winograd%dInput%d; bad, %d lanes, becomes NaN where a pixel is infinite or NaN, and else stays.", t.m, lanes, t.m, lanes, lanes))
	Pragma("noescape")
	v := &vectors{lanes, map[float64]reg.VecVirtual{}}
	if t.m == 4 && lanes == 16 {
		v.keep(2, 0.5, rootHalf, rootTwo, rootHalf/2, 2*rootTwo)
	}
	src := Load(Param("src"), GP64())
	point := Load(Param("point"), GP64())
	tmp := Load(Param("tmp"), GP64())
	first := Load(Param("dst"), GP64())
	pitch := Load(Param("pitch"), GP64())
	rows := Load(Param("rows"), GP64())
	bad, n, at, out, apart := v.new(), GP64(), GP64(), GP64(), GP64()
	p := GP64()
	Load(Param("bad"), p)
	VMOVUPS(Mem{Base: p}, bad)
	XORQ(apart, apart) // between rows of points
	for range t.side {
		ADDQ(point, apart)
	}
	Label("row")
	Load(Param("n"), n)
	MOVQ(first, at)
	Label("tile")
	from := ladder{out, GP64(), apart}
	MOVQ(src, out)
	from.aim()
	to := ladder{at, nil, pitch}
	square(v, t.side, t.m, tmp, t.output, func(j int, x []reg.VecVirtual) {
		if j > 0 {
			ADDQ(point, from.base)
			ADDQ(point, from.third)
		}
		for i := range x {
			VMOVUPS(from.at(i), x[i])
		}
	}, func(i, j int, y reg.VecVirtual) {
		m := Mem{Base: out, Disp: 64 * j}
		VMOVUPS(y, m)
		v.note(y, bad)
	}, func(i int) {
		if i == 0 {
			MOVQ(to.base, out)
		} else {
			ADDQ(pitch, out)
		}
	})
	Load(Param("step"), p)
	ADDQ(p, src)
	ADDQ(U32(uint32(64*t.m)), at)
	DECQ(n)
	JNZ(LabelRef("tile"))
	for range t.m {
		ADDQ(pitch, first)
	}
	DECQ(rows)
	JNZ(LabelRef("row"))
	Load(Param("bad"), p)
	VMOVUPS(bad, Mem{Base: p})
	VZEROUPPER()
	RET()
}

// eight are the rows of eight lanes, stride bytes apart.
type eight struct {
	bases  [3]reg.Register
	stride reg.Register
}

func newEight(base, stride reg.Register) eight {
	e := eight{[3]reg.Register{base, GP64(), GP64()}, stride}
	e.aim()
	return e
}

func (e eight) aim() {
	LEAQ(Mem{Base: e.stride, Index: e.stride, Scale: 2}, e.bases[1])
	LEAQ(Mem{Base: e.bases[0], Index: e.bases[1], Scale: 2}, e.bases[2])
	ADDQ(e.bases[0], e.bases[1])
}

func (e eight) at(i int) Mem {
	m := Mem{Base: e.bases[i/3]}
	if i%3 > 0 {
		m.Index, m.Scale = e.stride, uint8(i%3)
	}
	return m
}

func (e eight) add(by Op) {
	for _, r := range e.bases {
		ADDQ(by, r)
	}
}

// winogradWeights: the taps of eight lanes are transposed, but the ninth goes one by one.
func winogradWeights(t tile, lanes int) {
	TEXT(fmt.Sprintf("winograd%dWeights%d", t.m, lanes), NOSPLIT,
		"func(n int, w *float32, lane, step, turned int, dst *float32, point int, tmp *float32)")
	Doc(fmt.Sprintf("winograd%dWeights%d transforms the 3×3 taps of %d lanes n times: lanes are lane bytes apart, one time to the next step bytes; dst gets %d lanes for each point, 64 bytes apart from time to time. turned other than 0 turns the taps by 180°.", t.m, lanes, lanes, lanes))
	Pragma("noescape")
	v := &vectors{lanes, map[float64]reg.VecVirtual{}}
	if lanes == 16 {
		v.keep(t.factors...)
	}
	n := Load(Param("n"), GP64())
	w := Load(Param("w"), GP64())
	lane := Load(Param("lane"), GP64())
	dst := Load(Param("dst"), GP64())
	point := Load(Param("point"), GP64())
	tmp := Load(Param("tmp"), GP64())
	from := newEight(w, lane)
	turned, out, q := GP64(), GP64(), GP32()
	Label("loop")
	for half := range lanes / 8 {
		if half > 0 {
			next := GP64()
			LEAQ(Mem{Base: lane, Index: lane, Scale: 1}, next)
			SHLQ(Imm(2), next)
			from.add(next)
		}
		Load(Param("turned"), turned)
		x := make([]reg.VecVirtual, 8)
		for i := range x {
			x[i] = YMM()
			VMOVUPS(from.at(i), x[i])
		}
		y := transpose8(x)
		place := func(tap int) Mem { return Mem{Base: tmp, Disp: 4*lanes*tap + 32*half} }
		ninth := func(to Mem) {
			for i := range 8 {
				m := from.at(i)
				m.Disp = 32
				MOVL(m, q)
				m = to
				m.Disp += 4 * i
				MOVL(q, m)
			}
		}
		TESTQ(turned, turned)
		JNZ(LabelRef(fmt.Sprint("turn", half)))
		for tap := range 8 {
			VMOVUPS(y[tap], place(tap))
		}
		ninth(place(8))
		JMP(LabelRef(fmt.Sprint("there", half)))
		Label(fmt.Sprint("turn", half))
		for tap := range 8 {
			VMOVUPS(y[tap], place(8-tap))
		}
		ninth(place(0))
		Label(fmt.Sprint("there", half))
	}
	taps, between := GP64(), GP64()
	MOVQ(tmp, taps)
	LEAQ(Mem{Base: tmp, Disp: 9 * 4 * lanes}, between)
	to := ladder{out, GP64(), point}
	MOVQ(dst, out)
	to.aim()
	square(v, 3, t.side, between, t.weights, func(j int, x []reg.VecVirtual) {
		for i := range x {
			VMOVUPS(Mem{Base: taps, Disp: 4 * lanes * (3*i + j)}, x[i])
		}
	}, func(i, j int, y reg.VecVirtual) { VMOVUPS(y, to.at(j)) }, func(i int) {
		if i > 0 {
			for range t.side {
				ADDQ(point, out)
			}
			to.aim()
		}
	})
	step := GP64()
	Load(Param("step"), step)
	for range lanes/8 - 1 {
		back := GP64()
		LEAQ(Mem{Base: lane, Index: lane, Scale: 1}, back)
		SHLQ(Imm(2), back)
		SUBQ(back, step)
	}
	from.add(step)
	ADDQ(Imm(64), dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// winogradGradient is the inverse way: eight lanes at a time are transposed.
func winogradGradient(t tile, lanes int) {
	TEXT(fmt.Sprintf("winograd%dGradient%d", t.m, lanes), NOSPLIT,
		"func(n int, src *float32, point int, dst, tmp, bad *float32)")
	Doc(fmt.Sprintf("winograd%dGradient%d makes %d*n times 3×3 taps, stored one after the other, of %d*n neighbouring lanes of points, which are point bytes apart; bad, %d lanes, becomes NaN where a tap is infinite or NaN, and else stays.", t.m, lanes, lanes, lanes, lanes))
	Pragma("noescape")
	v := &vectors{lanes, map[float64]reg.VecVirtual{}}
	if lanes == 16 {
		v.keep(t.quotients...)
	}
	n := Load(Param("n"), GP64())
	src := Load(Param("src"), GP64())
	point := Load(Param("point"), GP64())
	dst := Load(Param("dst"), GP64())
	tmp := Load(Param("tmp"), GP64())
	apart, at, p, q := GP64(), GP64(), GP64(), GP32()
	bad := v.new()
	Load(Param("bad"), p)
	VMOVUPS(Mem{Base: p}, bad)
	XORQ(apart, apart)
	for range t.side {
		ADDQ(point, apart)
	}
	between := GP64()
	LEAQ(Mem{Base: tmp, Disp: 9 * 4 * lanes}, between)
	from := ladder{at, GP64(), apart}
	Label("loop")
	MOVQ(src, at)
	from.aim()
	square(v, t.side, 3, between, t.taps, func(j int, x []reg.VecVirtual) {
		if j > 0 {
			ADDQ(point, from.base)
			ADDQ(point, from.third)
		}
		for i := range x {
			VMOVUPS(from.at(i), x[i])
		}
	}, func(i, j int, y reg.VecVirtual) {
		VMOVUPS(y, Mem{Base: tmp, Disp: 4 * lanes * (3*i + j)})
		v.note(y, bad)
	}, func(int) {})
	for half := range lanes / 8 {
		place := func(tap int) Mem { return Mem{Base: tmp, Disp: 4*lanes*tap + 32*half} }
		x := make([]reg.VecVirtual, 8)
		for i := range x {
			x[i] = YMM()
			VMOVUPS(place(i), x[i])
		}
		for i, y := range transpose8(x) {
			VMOVUPS(y, Mem{Base: dst, Disp: 36 * (8*half + i)})
		}
		for i := range 8 {
			m := place(8)
			m.Disp += 4 * i
			MOVL(m, q)
			MOVL(q, Mem{Base: dst, Disp: 36*(8*half+i) + 32})
		}
	}
	ADDQ(Imm(uint64(4*lanes)), src)
	ADDQ(U32(uint32(36*lanes)), dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VMOVUPS(bad, Mem{Base: p})
	VZEROUPPER()
	RET()
}

func winogradTurn() {
	TEXT("winogradTurn", NOSPLIT, "func(rows, w int, src *float32, srcRow, lane int, dst *float32, dstRow int)")
	Doc("winogradTurn makes rows of pixels, 64 bytes apart, of eight planes that are lane bytes apart; where w is no multiple of 8 it adds pixels of zeros.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	first := Load(Param("src"), GP64())
	lane := Load(Param("lane"), GP64())
	dst := Load(Param("dst"), GP64())
	n, at, out, step := GP64(), GP64(), GP64(), GP64()
	planes := newEight(at, lane)
	piece := func(k mask) {
		x := make([]reg.VecVirtual, 8)
		for i := range x {
			x[i] = YMM()
			load(planes.at(i), k, x[i])
		}
		for i, y := range transpose8(x) {
			VMOVUPS(y, Mem{Base: out, Disp: 64 * i})
		}
	}
	Label("row")
	Load(Param("w"), n)
	MOVQ(first, at)
	planes.aim()
	MOVQ(dst, out)
	Label("eight")
	CMPQ(n, Imm(8))
	JLT(LabelRef("rest"))
	piece(nil)
	planes.add(Imm(32))
	ADDQ(U32(512), out)
	SUBQ(Imm(8), n)
	JMP(LabelRef("eight"))
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("next"))
	piece(loadMask(n))
	Label("next")
	Load(Param("srcRow"), step)
	ADDQ(step, first)
	Load(Param("dstRow"), step)
	ADDQ(step, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

func winogradUnturn() {
	TEXT("winogradUnturn", NOSPLIT, "func(rows, w int, src *float32, srcRow int, dst *float32, dstRow, lane int)")
	Doc("winogradUnturn is the inverse of winogradTurn: it sets rows of eight planes; src has whole eights of pixels.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	src := Load(Param("src"), GP64())
	lane := Load(Param("lane"), GP64())
	first := Load(Param("dst"), GP64())
	n, at, in, step := GP64(), GP64(), GP64(), GP64()
	planes := newEight(at, lane)
	piece := func(k mask) {
		x := make([]reg.VecVirtual, 8)
		for i := range x {
			x[i] = YMM()
			VMOVUPS(Mem{Base: in, Disp: 64 * i}, x[i])
		}
		for i, y := range transpose8(x) {
			store(y, k, planes.at(i))
		}
	}
	Label("row")
	Load(Param("w"), n)
	MOVQ(first, at)
	planes.aim()
	MOVQ(src, in)
	Label("eight")
	CMPQ(n, Imm(8))
	JLT(LabelRef("rest"))
	piece(nil)
	planes.add(Imm(32))
	ADDQ(U32(512), in)
	SUBQ(Imm(8), n)
	JMP(LabelRef("eight"))
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("next"))
	piece(loadMask(n))
	Label("next")
	Load(Param("dstRow"), step)
	ADDQ(step, first)
	Load(Param("srcRow"), step)
	ADDQ(step, src)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

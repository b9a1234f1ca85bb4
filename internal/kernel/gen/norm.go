package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// normalization makes the passes of a batch normalization over one channel: rows of n elements,
// stride elements apart in every array.
func normalization() {
	planeMoments()
	planeAffine("planeAffine", false)
	planeAffine("planeAffineAdd", true)
	planeDots("planeDots", false)
	planeDots("planeDotsGated", true)
	planeMix("planeMix", false)
	planeMix("planeMixGated", true)
}

// plane is a kernel being written: arrays are read and written at base + off.
type plane struct {
	arrays []reg.Register
	off    reg.Register
	s      []vec // scalars
}

func (p *plane) mem(array, vector int) Mem {
	return Mem{Base: p.arrays[array], Index: p.off, Scale: 1, Disp: 32 * vector}
}

// load is a vector of an array.
func (p *plane) load(array, vector int, mask vec) vec {
	x := YMM()
	load(p.mem(array, vector), mask, x)
	return x
}

// planes begins a kernel of the given arrays and scalars and, where sums is set, an array for results.
func planes(name, doc string, arrays []string, scalars int, sums bool) *plane {
	sig := "func(rows, n, stride int"
	for _, a := range arrays {
		sig += ", " + a + " *float32"
	}
	sig += ", s *float32"
	if sums {
		sig += ", out *float32"
	}
	TEXT(name, NOSPLIT, sig+")")
	Doc(name + ": " + doc + ", for rows of n elements that are stride elements apart.")
	Pragma("noescape")
	p := &plane{}
	for _, a := range arrays {
		p.arrays = append(p.arrays, Load(Param(a), GP64()))
	}
	q := Load(Param("s"), GP64())
	for i := range scalars {
		v := YMM()
		VBROADCASTSS(Mem{Base: q, Disp: 4 * i}, v)
		p.s = append(p.s, v)
	}
	return p
}

// each writes the loops; body handles vectors that lie together, the last under a mask.
func (p *plane) each(wide int, body func(vectors int, mask vec)) {
	rows := Load(Param("rows"), GP64())
	stride := Load(Param("stride"), GP64())
	SHLQ(Imm(2), stride)
	row, n := GP64(), GP64()
	p.off = GP64()
	XORQ(row, row)
	Label("row")
	TESTQ(rows, rows)
	JZ(LabelRef("done"))
	MOVQ(row, p.off)
	Load(Param("n"), n)
	blocks(n, wide, body, func(bytes int) { ADDQ(U32(uint32(bytes)), p.off) })
	ADDQ(stride, row)
	DECQ(rows)
	JMP(LabelRef("row"))
	Label("done")
}

// total stores the sum of the accumulators in out[i].
func total(s []vec, out reg.Register, i int) {
	for len(s) > 1 {
		half := len(s) / 2
		for k := range half {
			VADDPS(s[half+k], s[k], s[k])
		}
		s = s[:half]
	}
	top := XMM()
	VEXTRACTF128(Imm(1), s[0], top)
	VADDPS(s[0].AsX(), top, top)
	VHADDPS(top, top, top)
	VHADDPS(top, top, top)
	VMOVSS(top, Mem{Base: out, Disp: 4 * i})
}

func cleared(n int) []vec {
	s := make([]vec, n)
	for i := range s {
		s[i] = YMM()
		VXORPS(s[i], s[i], s[i])
	}
	return s
}

func planeMoments() {
	p := planes("planeMoments", "out[0] is the sum of x-s[0], out[1] that of its squares", []string{"x"}, 1, true)
	a, b := cleared(4), cleared(4)
	p.each(4, func(vectors int, mask vec) {
		for v := range vectors {
			x := p.load(0, v, mask)
			VSUBPS(p.s[0], x, x)
			if mask != nil {
				VANDPS(mask, x, x)
			}
			VADDPS(x, a[v], a[v])
			VFMADD231PS(x, x, b[v])
		}
	})
	out := Load(Param("out"), GP64())
	total(a, out, 0)
	total(b, out, 1)
	VZEROUPPER()
	RET()
}

// planeAffine keeps NaN: of two operands the instructions return the one named first here.
func planeAffine(name string, add bool) {
	doc, arrays := "y = x*s[0] + s[1], not below s[2] nor above s[3]", []string{"x", "y"}
	if add {
		doc, arrays = "y = x*s[0] + s[1] + add, not below s[2] nor above s[3]", []string{"x", "y", "add"}
	}
	p := planes(name, doc, arrays, 4, false)
	p.each(4, func(vectors int, mask vec) {
		for v := range vectors {
			x := p.load(0, v, mask)
			VFMADD132PS(p.s[0], p.s[1], x)
			if add {
				VADDPS(p.load(2, v, mask), x, x)
			}
			VMAXPS(x, p.s[2], x)
			VMINPS(x, p.s[3], x)
			store(x, mask, p.mem(1, v))
		}
	})
	VZEROUPPER()
	RET()
}

// between is dy where y is neither below lo nor above hi.
func between(dy, y, lo, hi vec) vec {
	in := YMM()
	VCMPPS(Imm(0x1d), lo, y, in) // y >= lo
	VCMPPS(Imm(0x12), hi, y, y)  // y <= hi
	VANDPS(y, in, in)
	VANDPS(in, dy, dy)
	return dy
}

const gateDoc = " with g = dy where y is between the last two of s, else 0"

func planeDots(name string, gated bool) {
	doc, arrays, n := "out[0] is the sum of dy, out[1] that of dy*(x-s[0])", []string{"dy", "x"}, 1
	if gated {
		doc, arrays, n = "out[0] is the sum of g, out[1] that of g*(x-s[0])"+gateDoc, []string{"dy", "x", "y"}, 3
	}
	p := planes(name, doc, arrays, n, true)
	a, b := cleared(4), cleared(4)
	p.each(4, func(vectors int, mask vec) {
		for v := range vectors {
			g := p.load(0, v, mask)
			if gated {
				g = between(g, p.load(2, v, mask), p.s[1], p.s[2])
			}
			x := p.load(1, v, mask)
			VSUBPS(p.s[0], x, x)
			VADDPS(g, a[v], a[v])
			VFMADD231PS(g, x, b[v])
		}
	})
	out := Load(Param("out"), GP64())
	total(a, out, 0)
	total(b, out, 1)
	VZEROUPPER()
	RET()
}

func planeMix(name string, gated bool) {
	doc, arrays, n := "dx = dy*s[0] + x*s[1] + s[2]", []string{"dy", "x", "dx"}, 3
	if gated {
		doc, arrays, n = "dx = g*s[0] + x*s[1] + s[2]"+gateDoc, []string{"dy", "x", "dx", "y"}, 5
	}
	p := planes(name, doc, arrays, n, false)
	p.each(4, func(vectors int, mask vec) {
		for v := range vectors {
			g := p.load(0, v, mask)
			if gated {
				g = between(g, p.load(3, v, mask), p.s[3], p.s[4])
			}
			VFMADD132PS(p.s[0], p.s[2], g)
			VFMADD231PS(p.s[1], p.load(1, v, mask), g)
			store(g, mask, p.mem(2, v))
		}
	})
	VZEROUPPER()
	RET()
}

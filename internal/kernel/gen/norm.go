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
	arrays  []reg.Register
	off     reg.Register
	scalars int
	s       []vec        // those scalars
	out     reg.Register // of sums
}

func (p *plane) mem(array, vector int) Mem {
	return Mem{Base: p.arrays[array], Index: p.off, Scale: 1, Disp: current.bytes() * vector}
}

// load returns a vector of an array.
func (p *plane) load(array, v int, k mask) vec {
	x := vector()
	load(p.mem(array, v), k, x)
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
	p := &plane{scalars: scalars}
	for _, a := range arrays {
		p.arrays = append(p.arrays, Load(Param(a), GP64()))
	}
	if sums {
		p.out = GP64()
	}
	return p
}

// each writes the loops; body handles vectors that are contiguous, the last under a mask. sums are
// accumulators, four for each result.
func (p *plane) each(sums int, body func(vectors int, k mask, s [][]vec)) {
	rows, stride, row, n := GP64(), GP64(), GP64(), GP64()
	p.off = GP64()
	bothWidths(func() {
		p.s = broadcast(Load(Param("s"), GP64()), p.scalars)
		s := make([][]vec, sums)
		for i := range s {
			s[i] = cleared(4)
		}
		Load(Param("rows"), rows)
		Load(Param("stride"), stride)
		SHLQ(Imm(2), stride)
		XORQ(row, row)
		Label(label("row"))
		TESTQ(rows, rows)
		JZ(LabelRef(label("done")))
		MOVQ(row, p.off)
		Load(Param("n"), n)
		blocks(n, 4, func(vectors int, k mask) { body(vectors, k, s) }, func(bytes int) { ADDQ(U32(uint32(bytes)), p.off) })
		ADDQ(stride, row)
		DECQ(rows)
		JMP(LabelRef(label("row")))
		Label(label("done"))
		if sums > 0 {
			Load(Param("out"), p.out)
		}
		for i := range s {
			VMOVSS(across(s[i], VADDPS), Mem{Base: p.out, Disp: 4 * i})
		}
	}, nil)
}

func planeMoments() {
	p := planes("planeMoments", "out[0] is the sum of x-s[0], out[1] that of its squares", []string{"x"}, 1, true)
	p.each(2, func(vectors int, k mask, s [][]vec) {
		for v := range vectors {
			x := p.load(0, v, k)
			VSUBPS(p.s[0], x, x)
			if k != nil {
				keep(k, x)
			}
			VADDPS(x, s[0][v], s[0][v])
			VFMADD231PS(x, x, s[1][v])
		}
	})
}

// planeAffine keeps NaN: of two operands the instructions return the one named first here.
func planeAffine(name string, add bool) {
	doc, arrays := "y = x*s[0] + s[1], not below s[2] nor above s[3]", []string{"x", "y"}
	if add {
		doc, arrays = "y = x*s[0] + s[1] + add, not below s[2] nor above s[3]", []string{"x", "y", "add"}
	}
	p := planes(name, doc, arrays, 4, false)
	p.each(0, func(vectors int, k mask, _ [][]vec) {
		for v := range vectors {
			x := p.load(0, v, k)
			VFMADD132PS(p.s[0], p.s[1], x)
			if add {
				VADDPS(p.load(2, v, k), x, x)
			}
			VMAXPS(x, p.s[2], x)
			VMINPS(x, p.s[3], x)
			store(x, k, p.mem(1, v))
		}
	})
}

const gateDoc = " with g = dy where y is between the last two of s, else 0"

// gate clears dy where y is below lo or above hi.
func gate(dy, y, lo, hi vec) {
	keepBoth(compare(y, greaterEqual, lo), compare(y, lessEqual, hi), dy)
}

func planeDots(name string, gated bool) {
	doc, arrays, n := "out[0] is the sum of dy, out[1] that of dy*(x-s[0])", []string{"dy", "x"}, 1
	if gated {
		doc, arrays, n = "out[0] is the sum of g, out[1] that of g*(x-s[0])"+gateDoc, []string{"dy", "x", "y"}, 3
	}
	p := planes(name, doc, arrays, n, true)
	p.each(2, func(vectors int, k mask, s [][]vec) {
		for v := range vectors {
			g := p.load(0, v, k)
			if gated {
				gate(g, p.load(2, v, k), p.s[1], p.s[2])
			}
			x := p.load(1, v, k)
			VSUBPS(p.s[0], x, x)
			VADDPS(g, s[0][v], s[0][v])
			VFMADD231PS(g, x, s[1][v])
		}
	})
}

func planeMix(name string, gated bool) {
	doc, arrays, n := "dx = dy*s[0] + x*s[1] + s[2]", []string{"dy", "x", "dx"}, 3
	if gated {
		doc, arrays, n = "dx = g*s[0] + x*s[1] + s[2]"+gateDoc, []string{"dy", "x", "dx", "y"}, 5
	}
	p := planes(name, doc, arrays, n, false)
	p.each(0, func(vectors int, k mask, _ [][]vec) {
		for v := range vectors {
			g := p.load(0, v, k)
			if gated {
				gate(g, p.load(3, v, k), p.s[3], p.s[4])
			}
			VFMADD132PS(p.s[0], p.s[2], g)
			VFMADD231PS(p.s[1], p.load(1, v, k), g)
			store(g, k, p.mem(2, v))
		}
	})
}

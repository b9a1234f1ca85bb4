package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// columns writes a loop over n columns like blocks, in blocks of 8*wide and one remainder
// of up to that many vectors, whose last one has a mask.
func columns(n reg.Register, wide int, body func(vectors int, last mask), advance func(bytes int)) {
	Label("wide")
	CMPQ(n, U32(uint32(8*wide)))
	JLT(LabelRef("rest"))
	body(wide, nil)
	advance(32 * wide)
	SUBQ(U32(uint32(8*wide)), n)
	JMP(LabelRef("wide"))
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("end"))
	for v := wide; v > 0; v-- {
		next := fmt.Sprintf("rest%d", v-1)
		if v > 1 {
			CMPQ(n, Imm(uint64(8*(v-1))))
			JLE(LabelRef(next))
			SUBQ(Imm(uint64(8*(v-1))), n)
		}
		body(v, loadMask(n))
		if v > 1 {
			JMP(LabelRef("end"))
			Label(next)
		}
	}
	Label("end")
}

// at returns the mask of vector v of a block.
func at(v, vectors int, last mask) mask {
	if v < vectors-1 {
		return nil
	}
	return last
}

func axpy4() {
	TEXT("axpy4", NOSPLIT, "func(n int, a *float32, b *float32, ldb int, y *float32)")
	Doc("axpy4 adds a[0]*b[0] + … + a[3]*b[3] to y, rows of n floats; the rows of b are ldb bytes apart.")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	ldb := Load(Param("ldb"), GP64())
	y := Load(Param("y"), GP64())
	b3 := GP64()
	LEAQ(Mem{Base: ldb, Index: ldb, Scale: 2}, b3)
	ADDQ(b, b3)
	var f [4]reg.VecVirtual
	for i := range f {
		f[i] = YMM()
		VBROADCASTSS(Mem{Base: a, Disp: 4 * i}, f[i])
	}
	blocks(n, 2, func(vectors int, k mask) {
		for v := range vectors {
			s, x := YMM(), YMM()
			load(Mem{Base: y, Disp: 32 * v}, k, s)
			for i := range 4 {
				m := Mem{Base: []reg.Register{b, b3}[i/3], Disp: 32 * v}
				if i%3 > 0 {
					m.Index, m.Scale = ldb, uint8(i%3)
				}
				load(m, k, x)
				VFMADD231PS(x, f[i], s)
			}
			store(s, k, Mem{Base: y, Disp: 32 * v})
		}
	}, func(bytes int) {
		for _, r := range []reg.Register{b, b3, y} {
			ADDQ(U32(uint32(bytes)), r)
		}
	})
	VZEROUPPER()
	RET()
}

func dot4() {
	TEXT("dot4", NOSPLIT, "func(n int, a *float32, b *float32, ldb int, y *float32)")
	Doc("dot4 stores the dot products of a with 4 rows of b, n floats long and ldb bytes apart, in y[0:4].")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	ldb := Load(Param("ldb"), GP64())
	y := Load(Param("y"), GP64())
	b3 := GP64()
	LEAQ(Mem{Base: ldb, Index: ldb, Scale: 2}, b3)
	ADDQ(b, b3)
	var s [2][4]reg.VecVirtual
	for j := range s {
		for i := range s[j] {
			s[j][i] = YMM()
			VXORPS(s[j][i], s[j][i], s[j][i])
		}
	}
	blocks(n, 2, func(vectors int, k mask) {
		for v := range vectors {
			x, z := YMM(), YMM()
			load(Mem{Base: a, Disp: 32 * v}, k, x)
			for i := range 4 {
				m := Mem{Base: []reg.Register{b, b3}[i/3], Disp: 32 * v}
				if i%3 > 0 {
					m.Index, m.Scale = ldb, uint8(i%3)
				}
				load(m, k, z)
				VFMADD231PS(z, x, s[v][i])
			}
		}
	}, func(bytes int) {
		for _, r := range []reg.Register{a, b, b3} {
			ADDQ(U32(uint32(bytes)), r)
		}
	})
	for i := range 4 {
		VADDPS(s[1][i], s[0][i], s[0][i])
	}
	VHADDPS(s[0][1], s[0][0], s[0][0])
	VHADDPS(s[0][3], s[0][2], s[0][2])
	VHADDPS(s[0][2], s[0][0], s[0][0])
	top := XMM()
	VEXTRACTF128(Imm(1), s[0][0], top)
	VADDPS(top, s[0][0].AsX(), top)
	VMOVUPS(top, Mem{Base: y})
	VZEROUPPER()
	RET()
}

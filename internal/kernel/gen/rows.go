package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rows makes kernels that combine a few rows: skinny products and depthwise convolution.
func rows() {
	axpy4()
	dot4()
	taps()
	tapDots()
}

// blocks writes a loop over n columns: pieces of 8*wide, of 8, and a masked rest.
// body gets the number of vectors and, for the rest, the mask.
func blocks(n reg.Register, wide int, body func(vectors int, mask reg.VecVirtual), advance func(bytes int)) {
	Label("wide")
	CMPQ(n, U32(uint32(8*wide)))
	JLT(LabelRef("narrow"))
	body(wide, nil)
	advance(32 * wide)
	SUBQ(U32(uint32(8*wide)), n)
	JMP(LabelRef("wide"))
	Label("narrow")
	CMPQ(n, Imm(8))
	JLT(LabelRef("rest"))
	body(1, nil)
	advance(32)
	SUBQ(Imm(8), n)
	JMP(LabelRef("narrow"))
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("end"))
	body(1, loadMask(n))
	Label("end")
}

func load(m Mem, mask, x reg.VecVirtual) {
	if mask != nil {
		VMASKMOVPS(m, mask, x)
	} else {
		VMOVUPS(m, x)
	}
}

func store(x, mask reg.VecVirtual, m Mem) {
	if mask != nil {
		VMASKMOVPS(x, mask, m)
	} else {
		VMOVUPS(x, m)
	}
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
	blocks(n, 2, func(vectors int, mask reg.VecVirtual) {
		for v := range vectors {
			s, x := YMM(), YMM()
			load(Mem{Base: y, Disp: 32 * v}, mask, s)
			for i := range 4 {
				m := Mem{Base: []reg.Register{b, b3}[i/3], Disp: 32 * v}
				if i%3 > 0 {
					m.Index, m.Scale = ldb, uint8(i%3)
				}
				load(m, mask, x)
				VFMADD231PS(x, f[i], s)
			}
			store(s, mask, Mem{Base: y, Disp: 32 * v})
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
	blocks(n, 2, func(vectors int, mask reg.VecVirtual) {
		for v := range vectors {
			x, z := YMM(), YMM()
			load(Mem{Base: a, Disp: 32 * v}, mask, x)
			for i := range 4 {
				m := Mem{Base: []reg.Register{b, b3}[i/3], Disp: 32 * v}
				if i%3 > 0 {
					m.Index, m.Scale = ldb, uint8(i%3)
				}
				load(m, mask, z)
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

// taps handles all rows of a plane, to pay for the call once.
func taps() {
	TEXT("tapsRows", NOSPLIT, "func(rows, n int, x *float32, xRow int, taps int, offset *int, w *float32, y *float32, yRow int, bias *float32)")
	Doc("tapsRows sets y[i] = bias[0] + Σ w[t]*x[offset[t]+i] for i < n, t < taps (taps ≥ 1) in each row; rows of x and y are xRow and yRow bytes apart.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	n := GP64()
	x := Load(Param("x"), GP64())
	count := Load(Param("taps"), GP64())
	off := Load(Param("offset"), GP64())
	w := Load(Param("w"), GP64())
	y := Load(Param("y"), GP64())
	bias := Load(Param("bias"), GP64())
	t, o, px, py := GP64(), GP64(), GP64(), GP64()
	Label("rowloop")
	Load(Param("n"), n)
	MOVQ(x, px)
	MOVQ(y, py)
	body := 0
	blocks(n, 4, func(vectors int, mask reg.VecVirtual) {
		body++
		loop := map[int]string{1: "taps4", 2: "taps1", 3: "tapsm"}[body]
		var s [4]reg.VecVirtual
		for v := range vectors {
			s[v] = YMM()
			VBROADCASTSS(Mem{Base: bias}, s[v])
		}
		f, z := YMM(), YMM()
		XORQ(t, t)
		Label(loop)
		MOVQ(Mem{Base: off, Index: t, Scale: 8}, o)
		VBROADCASTSS(Mem{Base: w, Index: t, Scale: 4}, f)
		for v := range vectors {
			m := Mem{Base: px, Index: o, Scale: 4, Disp: 32 * v}
			if mask != nil {
				VMASKMOVPS(m, mask, z)
				VFMADD231PS(z, f, s[v])
			} else {
				VFMADD231PS(m, f, s[v])
			}
		}
		INCQ(t)
		CMPQ(t, count)
		JLT(LabelRef(loop))
		for v := range vectors {
			store(s[v], mask, Mem{Base: py, Disp: 32 * v})
		}
	}, func(bytes int) {
		ADDQ(U32(uint32(bytes)), px)
		ADDQ(U32(uint32(bytes)), py)
	})
	step := GP64()
	Load(Param("xRow"), step)
	ADDQ(step, x)
	Load(Param("yRow"), step)
	ADDQ(step, y)
	DECQ(rows)
	JNZ(LabelRef("rowloop"))
	VZEROUPPER()
	RET()
}

func tapDots() {
	TEXT("tapDots", NOSPLIT, "func(rows, n int, x *float32, xRow int, taps int, offset *int, w *float32, y *float32, yRow int)")
	Doc("tapDots adds Σ x[offset[t]+i]*y[i] over i < n and rows ≥ 1 to w[t], for t < taps (taps ≥ 1); rows of x and y are xRow and yRow bytes apart.")
	Pragma("noescape")
	n, r := GP64(), GP64()
	count := Load(Param("taps"), GP64())
	off := Load(Param("offset"), GP64())
	w := Load(Param("w"), GP64())
	x, y, o, px, py, step := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	var s [4]reg.VecVirtual
	for v := range s {
		s[v] = YMM()
	}
	z, u := YMM(), YMM()
	Label("taploop")
	Load(Param("rows"), r)
	Load(Param("x"), x)
	Load(Param("y"), y)
	MOVQ(Mem{Base: off}, o)
	LEAQ(Mem{Base: x, Index: o, Scale: 4}, x)
	for v := range s {
		VXORPS(s[v], s[v], s[v])
	}
	Label("rowloop")
	Load(Param("n"), n)
	MOVQ(x, px)
	MOVQ(y, py)
	blocks(n, 4, func(vectors int, mask reg.VecVirtual) {
		for v := range vectors {
			load(Mem{Base: py, Disp: 32 * v}, mask, z)
			if mask != nil {
				load(Mem{Base: px, Disp: 32 * v}, mask, u)
				VFMADD231PS(u, z, s[v])
			} else {
				VFMADD231PS(Mem{Base: px, Disp: 32 * v}, z, s[v])
			}
		}
	}, func(bytes int) {
		ADDQ(U32(uint32(bytes)), px)
		ADDQ(U32(uint32(bytes)), py)
	})
	Load(Param("xRow"), step)
	ADDQ(step, x)
	Load(Param("yRow"), step)
	ADDQ(step, y)
	DECQ(r)
	JNZ(LabelRef("rowloop"))
	VADDPS(s[1], s[0], s[0])
	VADDPS(s[3], s[2], s[2])
	VADDPS(s[2], s[0], s[0])
	top := XMM()
	VEXTRACTF128(Imm(1), s[0], top)
	VADDPS(s[0].AsX(), top, top)
	VHADDPS(top, top, top)
	VHADDPS(top, top, top)
	VADDSS(Mem{Base: w}, top, top)
	VMOVSS(top, Mem{Base: w})
	ADDQ(Imm(4), w)
	ADDQ(Imm(8), off)
	DECQ(count)
	JNZ(LabelRef("taploop"))
	VZEROUPPER()
	RET()
}

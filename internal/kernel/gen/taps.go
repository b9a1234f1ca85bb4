package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
	columns(n, 4, func(vectors int, last mask) {
		body++
		loop := fmt.Sprintf("taps%d", body)
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
			if mask := at(v, vectors, last); mask != nil {
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
			store(s[v], at(v, vectors, last), Mem{Base: py, Disp: 32 * v})
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
	blocks(n, 4, func(vectors int, k mask) {
		for v := range vectors {
			load(Mem{Base: py, Disp: 32 * v}, k, z)
			if k != nil {
				load(Mem{Base: px, Disp: 32 * v}, k, u)
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

func tapMax() {
	TEXT("tapMax", NOSPLIT, "func(rows, n int, x *float32, xRow int, taps int, offset *int, y *float32, which *int32, yRow int)")
	Doc("tapMax sets y[i] to the largest x[offset[t]+i], NaN if any is, and which[i] to its first t, -1 if all are -Inf, for i < n in each row; the rows of y and which are yRow bytes apart.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	x := Load(Param("x"), GP64())
	count := Load(Param("taps"), GP64())
	off := Load(Param("offset"), GP64())
	y := Load(Param("y"), GP64())
	wh := Load(Param("which"), GP64())
	n, t, o, px, py, pw := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	Label("rowloop")
	Load(Param("n"), n)
	MOVQ(x, px)
	MOVQ(y, py)
	MOVQ(wh, pw)
	body := 0
	one := YMM()
	VMOVDQU(i8(1), one)
	columns(n, 3, func(vectors int, last mask) {
		body++
		loop := fmt.Sprintf("taps%d", body)
		var best, tap [3]reg.VecVirtual
		z, c, u, tv := YMM(), YMM(), YMM(), YMM()
		for v := range vectors {
			best[v], tap[v] = YMM(), YMM()
			VMOVUPS(f8(minusInf), best[v])
			VPCMPEQD(tap[v], tap[v], tap[v])
		}
		VPXOR(tv, tv, tv)
		XORQ(t, t)
		Label(loop)
		MOVQ(Mem{Base: off, Index: t, Scale: 8}, o)
		for v := range vectors {
			load(Mem{Base: px, Index: o, Scale: 4, Disp: 32 * v}, at(v, vectors, last), z)
			VCMPPS(Imm(3), z, z, c)
			VCMPPS(Imm(7), best[v], best[v], u)
			VANDPS(u, c, c) // the first NaN
			VCMPPS(Imm(0x1e), best[v], z, u)
			VORPS(u, c, c)
			VBLENDVPS(c, z, best[v], best[v])
			VBLENDVPS(c, tv, tap[v], tap[v])
		}
		VPADDD(one, tv, tv)
		INCQ(t)
		CMPQ(t, count)
		JLT(LabelRef(loop))
		for v := range vectors {
			store(best[v], at(v, vectors, last), Mem{Base: py, Disp: 32 * v})
			store(tap[v], at(v, vectors, last), Mem{Base: pw, Disp: 32 * v})
		}
	}, func(bytes int) {
		for _, r := range []reg.Register{px, py, pw} {
			ADDQ(U32(uint32(bytes)), r)
		}
	})
	step := GP64()
	Load(Param("xRow"), step)
	ADDQ(step, x)
	Load(Param("yRow"), step)
	ADDQ(step, y)
	ADDQ(step, wh)
	DECQ(rows)
	JNZ(LabelRef("rowloop"))
	VZEROUPPER()
	RET()
}

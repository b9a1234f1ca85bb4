package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemm makes the micro-kernels for blocks of 1 to 6 rows and 16 columns.
func gemm() {
	for r := 1; r <= 6; r++ {
		micro(r, false)
	}
}

// packingGemm makes their packing forms.
func packingGemm() {
	for r := 1; r <= 6; r++ {
		micro(r, true)
	}
}

// micro: with six rows, 12 accumulators, two vectors of B and two broadcasts of A
// fill the sixteen registers. Blocks of few rows distribute the inner dimension over
// several sets of accumulators to hide the latency of the multiply-add.
//
// The packing form reads B in place and stores it as a column panel: the first block of
// rows packs B for the others, at hardly any cost.
func micro(rows int, packing bool) {
	name, to, doc := fmt.Sprintf("micro%dx16", rows), "", "."
	if packing {
		name += "p"
		to = ", to *float32"
		doc = "; the rows of B are copied to a column panel at to."
	}
	TEXT(name, NOSPLIT, "func(kc int, a *float32, rsA, csA int, b *float32, rsB int, c *float32, ldc int, flags int, bias *float32"+to+")")
	Doc(fmt.Sprintf("%s computes a block of %d rows and 16 columns of C; strides are in bytes%s", name, rows, doc))
	Pragma("noescape")
	kc := Load(Param("kc"), GP64())
	a := Load(Param("a"), GP64())
	rs := Load(Param("rsA"), GP64())
	cs := Load(Param("csA"), GP64())
	b := Load(Param("b"), GP64())
	rsB := Load(Param("rsB"), GP64())
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
	var a3, c3 reg.GPVirtual
	if rows > 3 {
		a3, c3 = GP64(), GP64()
		LEAQ(Mem{Base: rs, Index: rs, Scale: 2}, a3)
		ADDQ(a, a3)
		LEAQ(Mem{Base: ldc, Index: ldc, Scale: 2}, c3)
		ADDQ(c, c3)
	}
	row := func(base, base3, stride reg.Register, i int) Mem {
		m := Mem{Base: base}
		if i >= 3 {
			m.Base = base3
		}
		if i%3 > 0 {
			m.Index, m.Scale = stride, uint8(i%3)
		}
		return m
	}
	sets := map[int]int{1: 4, 2: 2, 3: 2}[rows]
	sets = max(sets, 1)
	acc := make([][6][2]reg.VecVirtual, sets)
	for s := range acc {
		for i := range rows {
			for j := range 2 {
				acc[s][i][j] = YMM()
				VXORPS(acc[s][i][j], acc[s][i][j], acc[s][i][j])
			}
		}
	}
	for i := range rows {
		PREFETCHT0(row(c, c3, ldc, i))
	}
	b0, b1, x := YMM(), YMM(), YMM()
	y := x
	if rows > 1 {
		y = YMM()
	}
	var dst reg.Register
	if packing {
		dst = Load(Param("to"), GP64())
	}
	step := func(s int) {
		VMOVUPS(Mem{Base: b}, b0)
		VMOVUPS(Mem{Base: b, Disp: 32}, b1)
		if packing {
			VMOVUPS(b0, Mem{Base: dst})
			VMOVUPS(b1, Mem{Base: dst, Disp: 32})
			ADDQ(Imm(64), dst)
		}
		for i := 0; i < rows; i += 2 {
			VBROADCASTSS(row(a, a3, rs, i), x)
			if i+1 < rows {
				VBROADCASTSS(row(a, a3, rs, i+1), y)
			}
			VFMADD231PS(b0, x, acc[s][i][0])
			VFMADD231PS(b1, x, acc[s][i][1])
			if i+1 < rows {
				VFMADD231PS(b0, y, acc[s][i+1][0])
				VFMADD231PS(b1, y, acc[s][i+1][1])
			}
		}
		ADDQ(cs, a)
		if rows > 3 {
			ADDQ(cs, a3)
		}
		ADDQ(rsB, b)
	}
	SUBQ(Imm(4), kc)
	JLT(LabelRef("tail"))
	Label("loop4")
	for k := range 4 {
		if k%2 == 0 || packing {
			PREFETCHT0(Mem{Base: b, Index: rsB, Scale: 8})
		}
		step(k % sets)
	}
	SUBQ(Imm(4), kc)
	JGE(LabelRef("loop4"))
	Label("tail")
	ADDQ(Imm(4), kc)
	JZ(LabelRef("done"))
	Label("loop1")
	step(0)
	DECQ(kc)
	JNZ(LabelRef("loop1"))
	Label("done")
	for n := sets; n > 1; n /= 2 {
		for s := range n / 2 {
			for i := range rows {
				for j := range 2 {
					VADDPS(acc[s+n/2][i][j], acc[s][i][j], acc[s][i][j])
				}
			}
		}
	}
	finish(rows, acc[0], func(i int) Mem { return row(c, c3, ldc, i) })
}

// finish applies the flags (1: add C, 2: add bias[row], 4: clip below 0, 8: add bias[column]) and
// stores.
func finish(rows int, acc [6][2]reg.VecVirtual, row func(i int) Mem) {
	flags := Load(Param("flags"), GP64())
	TESTQ(U32(1), flags)
	JZ(LabelRef("fresh"))
	for i := range rows {
		for j := range 2 {
			m := row(i)
			m.Disp = 32 * j
			VADDPS(m, acc[i][j], acc[i][j])
		}
	}
	Label("fresh")
	TESTQ(U32(2), flags)
	JZ(LabelRef("nobias"))
	bias, v := Load(Param("bias"), GP64()), YMM()
	for i := range rows {
		VBROADCASTSS(Mem{Base: bias, Disp: 4 * i}, v)
		for j := range 2 {
			VADDPS(v, acc[i][j], acc[i][j])
		}
	}
	Label("nobias")
	TESTQ(U32(8), flags)
	JZ(LabelRef("noshift"))
	Load(Param("bias"), bias)
	for j := range 2 {
		VMOVUPS(Mem{Base: bias, Disp: 32 * j}, v)
		for i := range rows {
			VADDPS(v, acc[i][j], acc[i][j])
		}
	}
	Label("noshift")
	TESTQ(U32(4), flags)
	JZ(LabelRef("store"))
	VXORPS(v, v, v)
	for i := range rows {
		for j := range 2 {
			VMAXPS(acc[i][j], v, acc[i][j]) // this order keeps NaN
		}
	}
	Label("store")
	for i := range rows {
		for j := range 2 {
			m := row(i)
			m.Disp = 32 * j
			VMOVUPS(acc[i][j], m)
		}
	}
	VZEROUPPER()
	RET()
}

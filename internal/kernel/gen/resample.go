package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// resample generates the kernel of weighted sums of elements of rows: blocks of as many results as a register has lanes,
// each lane of which selects its element from two registers with consecutive elements.
func resample() {
	TEXT("resampleRows", NOSPLIT, "func(rows, n, old int, taps, base *int64, index *int32, weight, src, dst *float32)")
	Doc("resampleRows makes rows ≥ 1 of n ≥ 1 elements of rows of old elements. A block of one register of results has",
		"taps[block] ≥ 0 taps. In lane l, tap t adds weight[t][l] times element base[t] + index[t][l] of the row, 0 where",
		"the weight is. It reads two registers from base[t] on.")
	Pragma("noescape")
	src, dst, stride := Load(Param("src"), GP64()), Load(Param("dst"), GP64()), Load(Param("old"), GP64())
	rows := Load(Param("rows"), GP64())
	bothWidths(func() {
		Label(label("row"))
		n := Load(Param("n"), GP64())
		taps, base := Load(Param("taps"), GP64()), Load(Param("base"), GP64())
		index, weight := Load(Param("index"), GP64()), Load(Param("weight"), GP64())
		blocks(n, 1, func(_ int, k mask) {
			pass = "whole"
			if k != nil {
				pass = "part"
			}
			left, at := GP64(), GP64()
			sum := cleared(1)[0]
			MOVQ(Mem{Base: taps}, left)
			ADDQ(Imm(8), taps)
			TESTQ(left, left)
			JZ(LabelRef(label("summed")))
			Label(label("tap"))
			MOVQ(Mem{Base: base}, at)
			ADDQ(Imm(8), base)
			LEAQ(Mem{Base: src, Index: at, Scale: 4}, at)
			w := vector()
			VMOVUPS(Mem{Base: weight}, w)
			used := compare(w, differsOrUnordered, cleared(1)[0])
			x := chosen(Mem{Base: at}, Mem{Base: at, Disp: current.bytes()}, Mem{Base: index})
			keep(used, x)
			VFMADD231PS(x, w, sum)
			ADDQ(Imm(uint64(current.bytes())), index)
			ADDQ(Imm(uint64(current.bytes())), weight)
			DECQ(left)
			JNZ(LabelRef(label("tap")))
			Label(label("summed"))
			store(sum, k, Mem{Base: dst})
			pass = ""
		}, func(bytes int) { ADDQ(Imm(uint64(bytes)), dst) })
		Load(Param("n"), n) // the masked block did not move on
		ANDQ(Imm(uint64(current.lanes-1)), n)
		LEAQ(Mem{Base: dst, Index: n, Scale: 4}, dst)
		LEAQ(Mem{Base: src, Index: stride, Scale: 4}, src)
		DECQ(rows)
		JNZ(LabelRef(label("row")))
	}, nil)
}

const differsOrUnordered = 0x04

// chosen selects in each lane the element that index addresses in the registers at lower and upper.
func chosen(lower, upper, index Mem) vec {
	i, x, y := vector(), vector(), vector()
	VMOVUPS(index, i)
	VMOVUPS(lower, x)
	if broadly() {
		VPERMT2PS(upper, i, x)
		return x
	}
	VPERMPS(upper, i, y)
	VPERMPS(x, i, x)
	VPSLLD(Imm(28), i, i) // bit 3 becomes the sign bit, at which a blend looks
	VBLENDVPS(i, y, x, x)
	return x
}

package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ahead is how many steps before they are needed elements of the right operand are fetched.
const ahead = 12

// aheadWeights is how many bytes before they are needed weights are fetched: those of a large network lie in a far cache.
const aheadWeights = 2048

// convTile: a block of rows output channels and vecs vectors of neighbouring outputs. The offsets
// take the place of a row stride of the right operand.
func convTile(w width, rows, vecs int) {
	name := fmt.Sprintf("convTile%s%dx%d", w.name, rows, vecs)
	TEXT(name, NOSPLIT, "func(k int, a, b *float32, off *int32, c *float32, ldc int, shift, clip *float32)")
	Doc(fmt.Sprintf("%s computes %d rows of %d floats, ldc bytes apart: c = shift[row] + Σ a[8*k+row] * b[off[k]+column], then clipped to clip[0] … clip[1] unless clip is nil. It reads 12 elements behind the last of off.",
		name, rows, vecs*w.lanes))
	Pragma("noescape")
	n := Load(Param("k"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	off := Load(Param("off"), GP64())
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
	for i := range rows { // it may lie in memory, and is wanted when the sums are there
		for at := 0; at < vecs*w.bytes(); at += 64 {
			PREFETCHT0(Mem{Base: c, Disp: at})
		}
		if i < rows-1 {
			ADDQ(ldc, c)
		}
	}
	acc := make([][]reg.VecVirtual, rows)
	start := Load(Param("shift"), GP64())
	for i := range acc {
		acc[i] = make([]reg.VecVirtual, vecs)
		for v := range acc[i] {
			acc[i][v] = w.vec()
			if v == 0 {
				VBROADCASTSS(Mem{Base: start, Disp: 4 * i}, acc[i][v])
			} else {
				VMOVAPS(acc[i][0], acc[i][v])
			}
		}
	}
	x := make([]reg.VecVirtual, vecs)
	for v := range x {
		x[v] = w.vec()
	}
	spare := []reg.VecVirtual{w.vec()}
	for len(spare) < 4 && (rows+1)*vecs+len(spare) < 2*w.lanes {
		spare = append(spare, w.vec())
	}
	at := GP64()
	unrolled(n, func(n int) {
		for k := range n {
			MOVLQSX(Mem{Base: off, Disp: 4 * k}, at)
			for v := range x {
				VMOVUPS(Mem{Base: b, Index: at, Scale: 4, Disp: v * w.bytes()}, x[v])
			}
			MOVLQSX(Mem{Base: off, Disp: 4 * (k + ahead)}, at)
			for v := 0; v < vecs; v += 16 / w.lanes { // one of each line
				PREFETCHT0(Mem{Base: b, Index: at, Scale: 4, Disp: v * w.bytes()})
			}
			if k%2 == 0 {
				PREFETCHT0(Mem{Base: a, Disp: 32*k + aheadWeights})
			}
			for i := range rows {
				u := spare[i%len(spare)]
				VBROADCASTSS(Mem{Base: a, Disp: 32*k + 4*i}, u)
				for v := range x {
					VFMADD231PS(x[v], u, acc[i][v])
				}
			}
		}
		ADDQ(Imm(uint64(4*n)), off)
		ADDQ(U32(uint32(32*n)), a)
	})
	clip := Load(Param("clip"), GP64())
	TESTQ(clip, clip)
	JZ(LabelRef("store"))
	lo, hi := x[0], spare[0]
	VBROADCASTSS(Mem{Base: clip}, lo)
	VBROADCASTSS(Mem{Base: clip, Disp: 4}, hi)
	for i := range acc {
		for v := range x { // this order keeps NaN
			VMAXPS(acc[i][v], lo, acc[i][v])
			VMINPS(acc[i][v], hi, acc[i][v])
		}
	}
	Label("store")
	Load(Param("c"), c)
	for i := range acc {
		for v := range x {
			VMOVUPS(acc[i][v], Mem{Base: c, Disp: v * w.bytes()})
		}
		if i < rows-1 {
			ADDQ(ldc, c)
		}
	}
	VZEROUPPER()
	RET()
}

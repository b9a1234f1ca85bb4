package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// prefetch is how many steps before their use elements of the right operand are prefetched.
const prefetch = 12

// aheadWeights is how many steps before their use weights are prefetched: those of a large network are in a distant
// cache.
const aheadWeights = 64

// convTile: tiles of rows output channels and vecs vectors of neighbouring outputs. The offsets take the place of a row
// stride of the right operand. What the registers cannot hold together they hold half by half.
func convTile(w width, rows, vecs int) {
	name := fmt.Sprintf("convTile%s%dx%d", w.name, rows, vecs)
	TEXT(name, NOSPLIT, "func(tiles, k int, a *float32, step int, b *float32, off *int32, c *float32, ldc int, shift, clip, next *float32, pace int)")
	Doc(fmt.Sprintf("%s computes tiles ≥ 1 side by side, each %d rows, ldc bytes apart, of %d floats: c = shift[row] + Σ a[k][row] * b[off[k]+column], then clipped to clip[0] … clip[1] unless clip is nil. Rows of a are step bytes apart. It reads 12 elements behind the last of off. With every other k it fetches what lies pace bytes after what it fetched before, next at first, into the second cache level.",
		name, rows, vecs*w.lanes))
	Pragma("noescape")
	height := rows
	if rows*vecs > 3*w.lanes/2 {
		height = rows / 2
	}
	tiles, b, to := Load(Param("tiles"), GP64()), Load(Param("b"), GP64()), Load(Param("c"), GP64())
	ldc, step := Load(Param("ldc"), GP64()), Load(Param("step"), GP64())
	next, pace := Load(Param("next"), GP64()), Load(Param("pace"), GP64())
	n, a, off, at, far, c, half := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	IMUL3Q(U32(aheadWeights), step, far)
	acc := make([][]reg.VecVirtual, height)
	for i := range acc {
		acc[i] = make([]reg.VecVirtual, vecs)
		for v := range acc[i] {
			acc[i][v] = w.vec()
		}
	}
	x := make([]reg.VecVirtual, vecs)
	for v := range x {
		x[v] = w.vec()
	}
	spare := []reg.VecVirtual{w.vec()}
	for len(spare) < 4 && (height+1)*vecs+len(spare) < 2*w.lanes {
		spare = append(spare, w.vec())
	}
	Label("tile")
	MOVQ(to, c)
	XORQ(half, half)
	Label("half")
	MOVQ(c, at)
	for i := range acc { // it may be in memory, and is wanted when the sums are there
		for line := 0; line < vecs*w.bytes(); line += 64 {
			PREFETCHT0(Mem{Base: at, Disp: line})
		}
		if i < height-1 {
			ADDQ(ldc, at)
		}
	}
	Load(Param("shift"), at)
	for i := range acc {
		VBROADCASTSS(Mem{Base: at, Index: half, Scale: 1, Disp: 4 * i}, acc[i][0])
		for _, r := range acc[i][1:] {
			VMOVAPS(acc[i][0], r)
		}
	}
	Load(Param("k"), n)
	Load(Param("a"), a)
	ADDQ(half, a)
	Load(Param("off"), off)
	unrolled(n, func(n int) {
		for k := range n {
			MOVLQSX(Mem{Base: off, Disp: 4 * k}, at)
			for v := range x {
				VMOVUPS(Mem{Base: b, Index: at, Scale: 4, Disp: v * w.bytes()}, x[v])
			}
			MOVLQSX(Mem{Base: off, Disp: 4 * (k + prefetch)}, at)
			for v := 0; v < vecs; v += 16 / w.lanes { // one of each line
				PREFETCHT0(Mem{Base: b, Index: at, Scale: 4, Disp: v * w.bytes()})
			}
			if k%2 == 0 {
				PREFETCHT0(Mem{Base: a, Index: far, Scale: 1})
			} else {
				PREFETCHT1(Mem{Base: next})
				ADDQ(pace, next)
			}
			for i := range acc {
				u := spare[i%len(spare)]
				VBROADCASTSS(Mem{Base: a, Disp: 4 * i}, u)
				for v := range x {
					VFMADD231PS(x[v], u, acc[i][v])
				}
			}
			ADDQ(step, a)
		}
		ADDQ(Imm(uint64(4*n)), off)
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
	for i := range acc {
		for v := range x {
			VMOVUPS(acc[i][v], Mem{Base: c, Disp: v * w.bytes()})
		}
		ADDQ(ldc, c)
	}
	if height < rows {
		ADDQ(Imm(uint64(4*height)), half)
		CMPQ(half, Imm(uint64(4*rows)))
		JLT(LabelRef("half"))
	}
	ADDQ(U32(uint32(vecs*w.bytes())), b)
	ADDQ(U32(uint32(vecs*w.bytes())), to)
	DECQ(tiles)
	JNZ(LabelRef("tile"))
	VZEROUPPER()
	RET()
}

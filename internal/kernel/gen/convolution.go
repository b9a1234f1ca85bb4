package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// width is a size of vector registers.
type width struct {
	name  string // in names of kernels
	lanes int
	vec   func() reg.VecVirtual
}

var (
	narrow = width{"Y", 8, func() reg.VecVirtual { return YMM() }}
	broad  = width{"Z", 16, func() reg.VecVirtual { return ZMM() }}
)

func (w width) bytes() int { return 4 * w.lanes }

// zero clears a register.
func (w width) zero(x reg.VecVirtual) {
	if w.lanes == 16 {
		VPXORQ(x, x, x)
	} else {
		VXORPS(x, x, x)
	}
}

// convolution makes the kernels that read the input of a convolution in place.
func convolution() {
	for _, w := range []width{narrow, broad} {
		for rows := w.lanes / 2; rows > 0; rows /= 2 {
			for vecs := 3; vecs > 0; vecs-- {
				convTile(w, rows, vecs)
			}
		}
		for vecs := w.lanes / 4; vecs > 0; vecs-- {
			convWeight(w, vecs)
		}
		storeRuns(w, false)
		storeRuns(w, true)
		spreadRuns(w)
	}
	movePlane()
	everyOther()
}

// ahead is how many steps before they are needed elements of the right operand are fetched.
const ahead = 12

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
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
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

// convWeight: a block of six rows of the left operand, each with a place of its own, and vecs
// vectors of the packed right operand; the inner dimension goes through rows of points.
func convWeight(w width, vecs int) {
	name := fmt.Sprintf("convWeight%s%d", w.name, vecs)
	TEXT(name, NOSPLIT, "func(images, rows, n int, x *float32, off *int32, jump, imageJump int, b, c *float32, ldc, add int)")
	Doc(fmt.Sprintf("%s computes six rows of %d floats, ldc bytes apart: the sums of x[off[row]+p] * b[%d*q+column] over the points q of images of rows of n points; p counts them, and jump bytes more after each row and imageJump bytes more after each image. They are added to c unless add is 0.",
		name, vecs*w.lanes, vecs*w.lanes))
	Pragma("noescape")
	images := Load(Param("images"), GP64())
	x := Load(Param("x"), GP64())
	off := Load(Param("off"), GP64())
	var from [6]reg.GPVirtual
	for i := range from {
		from[i] = GP64()
		MOVLQSX(Mem{Base: off, Disp: 4 * i}, from[i])
		LEAQ(Mem{Base: x, Index: from[i], Scale: 4}, from[i])
	}
	b := Load(Param("b"), GP64())
	sets := 1
	if vecs == 1 {
		sets = 2 // to hide the latency of the multiply-add
	}
	var acc [2][6][]reg.VecVirtual
	for s := range sets {
		for i := range from {
			for range vecs {
				r := w.vec()
				w.zero(r)
				acc[s][i] = append(acc[s][i], r)
			}
		}
	}
	y := make([]reg.VecVirtual, vecs)
	for v := range y {
		y[v] = w.vec()
	}
	u := []reg.VecVirtual{w.vec(), w.vec()}
	p, n, rows := GP64(), GP64(), GP64()
	XORQ(p, p)
	step := func(s, at int) {
		for v := range y {
			VMOVUPS(Mem{Base: b, Disp: at*vecs*w.bytes() + v*w.bytes()}, y[v])
		}
		for i := range from {
			VBROADCASTSS(Mem{Base: from[i], Index: p, Scale: 1, Disp: 4 * at}, u[i%2])
			for v := range y {
				VFMADD231PS(y[v], u[i%2], acc[s][i][v])
			}
		}
	}
	advance := func(n int) {
		ADDQ(U32(uint32(n*vecs*w.bytes())), b)
		ADDQ(Imm(uint64(4*n)), p)
	}
	Label("image")
	Load(Param("rows"), rows)
	Label("row")
	Load(Param("n"), n)
	SUBQ(Imm(2), n)
	JLT(LabelRef("odd"))
	Label("pair")
	step(0, 0)
	step(sets-1, 1)
	advance(2)
	SUBQ(Imm(2), n)
	JGE(LabelRef("pair"))
	Label("odd")
	ADDQ(Imm(2), n)
	JZ(LabelRef("next"))
	step(0, 0)
	advance(1)
	Label("next")
	ADDQ(NewParamAddr("jump", 40), p)
	DECQ(rows)
	JNZ(LabelRef("row"))
	ADDQ(NewParamAddr("imageJump", 48), p)
	DECQ(images)
	JNZ(LabelRef("image"))
	if sets == 2 {
		for i := range from {
			VADDPS(acc[1][i][0], acc[0][i][0], acc[0][i][0])
		}
	}
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
	add := Load(Param("add"), GP64())
	TESTQ(add, add)
	JZ(LabelRef("store"))
	d := GP64()
	MOVQ(c, d)
	for i := range from {
		for v := range y {
			VADDPS(Mem{Base: d, Disp: v * w.bytes()}, acc[0][i][v], acc[0][i][v])
		}
		if i < 5 {
			ADDQ(ldc, d)
		}
	}
	Label("store")
	for i := range from {
		for v := range y {
			VMOVUPS(acc[0][i][v], Mem{Base: c, Disp: v * w.bytes()})
		}
		if i < 5 {
			ADDQ(ldc, c)
		}
	}
	VZEROUPPER()
	RET()
}

// storeRuns moves a tile to its place, run by run, as it is or with something added.
func storeRuns(w width, added bool) {
	name, extra := "storeRuns"+w.name, ""
	doc := " copies rows of a tile, which are tileRow bytes apart, to y."
	if added {
		name, extra = "addRuns"+w.name, ", add, clip *float32"
		doc = " copies rows of a tile, which are tileRow bytes apart, to y, plus what lies in the same place of add, clipped to clip[0] … clip[1]."
	}
	TEXT(name, NOSPLIT, "func(rows int, tile *float32, tileRow int, run *int, runs int, y *float32, ldy int"+extra+")")
	Doc(name + doc + " A run is three numbers: from which float of the tile, how many (≥ 1), and to where in y. Rows of y are ldy bytes apart.")
	Pragma("noescape")
	tile := Load(Param("tile"), GP64())
	y := Load(Param("y"), GP64())
	s, d, run, left, n := GP64(), GP64(), GP64(), GP64(), GP64()
	x, lo, hi := w.vec(), w.vec(), w.vec()
	var e reg.Register
	if added {
		e = GP64() // from y to add
		Load(Param("add"), e)
		SUBQ(y, e)
		clip := Load(Param("clip"), GP64())
		VBROADCASTSS(Mem{Base: clip}, lo)
		VBROADCASTSS(Mem{Base: clip, Disp: 4}, hi)
	}
	rows, m := GP64(), GP64()
	tr, ldy := GP64(), GP64()
	Load(Param("tileRow"), tr)
	Load(Param("ldy"), ldy)
	Load(Param("run"), run)
	Load(Param("runs"), left)
	ps, pd := GP64(), GP64()
	// Rows are the inner loop, so that its branches can be foreseen.
	column := func(label string, load, store, sum func()) {
		Load(Param("rows"), rows)
		MOVQ(s, ps)
		MOVQ(d, pd)
		Label(label)
		load()
		if added {
			sum()
			VMAXPS(x, lo, x)
			VMINPS(x, hi, x)
		}
		store()
		ADDQ(tr, ps)
		ADDQ(ldy, pd)
		DECQ(rows)
		JNZ(LabelRef(label))
	}
	Label("run")
	MOVQ(Mem{Base: run}, s)
	LEAQ(Mem{Base: tile, Index: s, Scale: 4}, s)
	MOVQ(Mem{Base: run, Disp: 8}, n)
	MOVQ(Mem{Base: run, Disp: 16}, d)
	LEAQ(Mem{Base: y, Index: d, Scale: 4}, d)
	Label("piece")
	CMPQ(n, Imm(uint64(w.lanes)))
	JLT(LabelRef("rest"))
	column("whole", func() { VMOVUPS(Mem{Base: ps}, x) }, func() { VMOVUPS(x, Mem{Base: pd}) },
		func() { VADDPS(Mem{Base: pd, Index: e, Scale: 1}, x, x) })
	ADDQ(Imm(uint64(w.bytes())), s)
	ADDQ(Imm(uint64(w.bytes())), d)
	SUBQ(Imm(uint64(w.lanes)), n)
	JNZ(LabelRef("piece"))
	JMP(LabelRef("next"))
	Label("rest")
	z := w.vec()
	if w.lanes == 16 {
		mask := K()
		MOVL(U32(0xffff), m.As32())
		BZHIL(n.As32(), m.As32(), m.As32())
		KMOVW(m.As32(), mask)
		column("masked", func() { VMOVUPS_Z(Mem{Base: ps}, mask, x) }, func() { VMOVUPS(x, mask, Mem{Base: pd}) },
			func() {
				VMOVUPS_Z(Mem{Base: pd, Index: e, Scale: 1}, mask, z)
				VADDPS(z, x, x)
			})
	} else {
		mask := loadMask(n)
		column("masked", func() { VMOVUPS(Mem{Base: ps}, x) }, func() { VMASKMOVPS(x, mask, Mem{Base: pd}) },
			func() {
				VMASKMOVPS(Mem{Base: pd, Index: e, Scale: 1}, mask, z)
				VADDPS(z, x, x)
			})
	}
	Label("next")
	ADDQ(Imm(24), run)
	DECQ(left)
	JNZ(LabelRef("run"))
	VZEROUPPER()
	RET()
}

// spreadRuns stores the results of a gradient whose convolution had stride 2.
func spreadRuns(w width) {
	name := "spreadRuns" + w.name
	TEXT(name, NOSPLIT, "func(rows int, tile *float32, tileRow int, run *int, runs int, y *float32, ldy int)")
	Doc(name + " is storeRuns" + w.name + " for runs that go to every other float of y; what lies between is left alone.")
	Pragma("noescape")
	tile := Load(Param("tile"), GP64())
	y := Load(Param("y"), GP64())
	run := Load(Param("run"), GP64())
	left := Load(Param("runs"), GP64())
	tr := Load(Param("tileRow"), GP64())
	ldy := Load(Param("ldy"), GP64())
	s, d, n, m, ps, pd, rows := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	x, lo, hi := w.vec(), w.vec(), w.vec()
	ilo, ihi := w.vec(), w.vec()
	for half, index := range []reg.VecVirtual{ilo, ihi} {
		table := GLOBL(fmt.Sprintf("spread%s%d", w.name, half), RODATA|NOPTR)
		for i := range w.lanes {
			DATA(4*i, U32(uint32(half*w.lanes/2+i/2)))
		}
		VMOVUPS(table, index)
	}
	Label("run")
	MOVQ(Mem{Base: run}, s)
	LEAQ(Mem{Base: tile, Index: s, Scale: 4}, s)
	MOVQ(Mem{Base: run, Disp: 8}, n)
	MOVQ(Mem{Base: run, Disp: 16}, d)
	LEAQ(Mem{Base: y, Index: d, Scale: 4}, d)
	Label("piece")
	MOVQ(n, m)
	CMPQ(m, Imm(uint64(w.lanes)))
	JLE(LabelRef("some"))
	MOVQ(U32(uint32(w.lanes)), m)
	Label("some")
	SUBQ(m, n)
	var put func(half int, x reg.VecVirtual)
	if w.lanes == 16 {
		bits, even := GP32(), GP32()
		MOVL(U32(0xffff), bits)
		BZHIL(m.As32(), bits, bits)
		MOVL(U32(0x55555555), even)
		PDEPL(even, bits, bits)
		masks := []reg.Virtual{K(), K()}
		KMOVW(bits, masks[0])
		SHRL(Imm(16), bits)
		KMOVW(bits, masks[1])
		put = func(half int, x reg.VecVirtual) { VMOVUPS(x, masks[half], Mem{Base: pd, Disp: 64 * half}) }
	} else {
		mask, even := loadMask(m), w.vec()
		table := GLOBL("evenlanes", RODATA|NOPTR)
		for i := range 8 {
			DATA(4*i, U32(^uint32(0)*uint32(1-i%2)))
		}
		VMOVUPS(table, even)
		masks := []reg.VecVirtual{w.vec(), w.vec()}
		for half, index := range []reg.VecVirtual{ilo, ihi} {
			VPERMPS(mask, index, masks[half])
			VANDPS(even, masks[half], masks[half])
		}
		put = func(half int, x reg.VecVirtual) { VMASKMOVPS(x, masks[half], Mem{Base: pd, Disp: 32 * half}) }
	}
	Load(Param("rows"), rows)
	MOVQ(s, ps)
	MOVQ(d, pd)
	Label("row")
	VMOVUPS(Mem{Base: ps}, x)
	VPERMPS(x, ilo, lo)
	VPERMPS(x, ihi, hi)
	put(0, lo)
	put(1, hi)
	ADDQ(tr, ps)
	ADDQ(ldy, pd)
	DECQ(rows)
	JNZ(LabelRef("row"))
	ADDQ(Imm(uint64(w.bytes())), s)
	ADDQ(Imm(uint64(2*w.bytes())), d)
	TESTQ(n, n)
	JNZ(LabelRef("piece"))
	ADDQ(Imm(24), run)
	DECQ(left)
	JNZ(LabelRef("run"))
	VZEROUPPER()
	RET()
}

func movePlane() {
	TEXT("movePlane", NOSPLIT, "func(rows, n int, src *float32, srcRow int, dst *float32, dstRow int)")
	Doc("movePlane copies rows ≥ 1 of n ≥ 1 floats, which are srcRow and dstRow bytes apart.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	src := Load(Param("src"), GP64())
	ss := Load(Param("srcRow"), GP64())
	dst := Load(Param("dst"), GP64())
	ds := Load(Param("dstRow"), GP64())
	n, s, d := GP64(), GP64(), GP64()
	var x [4]reg.VecVirtual
	for i := range x {
		x[i] = YMM()
	}
	Label("row")
	Load(Param("n"), n)
	MOVQ(src, s)
	MOVQ(dst, d)
	blocks(n, 4, func(vectors int, k mask) {
		for v := range vectors {
			load(Mem{Base: s, Disp: 32 * v}, k, x[v])
		}
		for v := range vectors {
			store(x[v], k, Mem{Base: d, Disp: 32 * v})
		}
	}, func(bytes int) {
		ADDQ(U32(uint32(bytes)), s)
		ADDQ(U32(uint32(bytes)), d)
	})
	ADDQ(ss, src)
	ADDQ(ds, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

func everyOther() {
	TEXT("everyOther", NOSPLIT, "func(rows, n int, src *float32, srcRow int, dst *float32, dstRow int)")
	Doc("everyOther copies the floats 0, 2, … 2*(n-1) of rows ≥ 1, which are srcRow and dstRow bytes apart; n ≥ 1.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	src := Load(Param("src"), GP64())
	ss := Load(Param("srcRow"), GP64())
	dst := Load(Param("dst"), GP64())
	ds := Load(Param("dstRow"), GP64())
	n, s, d := GP64(), GP64(), GP64()
	x, y := YMM(), YMM()
	Label("row")
	Load(Param("n"), n)
	MOVQ(src, s)
	MOVQ(dst, d)
	SUBQ(Imm(8), n)
	JLE(LabelRef("rest")) // the last eight would need one float too many
	Label("eight")
	VMOVUPS(Mem{Base: s}, x)
	VMOVUPS(Mem{Base: s, Disp: 32}, y)
	VSHUFPS(Imm(0x88), y, x, x)
	VPERMPD(Imm(0xd8), x, x)
	VMOVUPS(x, Mem{Base: d})
	ADDQ(Imm(64), s)
	ADDQ(Imm(32), d)
	SUBQ(Imm(8), n)
	JG(LabelRef("eight"))
	Label("rest")
	ADDQ(Imm(8), n)
	Label("one")
	VMOVSS(Mem{Base: s}, x.AsX())
	VMOVSS(x.AsX(), Mem{Base: d})
	ADDQ(Imm(8), s)
	ADDQ(Imm(4), d)
	DECQ(n)
	JNZ(LabelRef("one"))
	ADDQ(ss, src)
	ADDQ(ds, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

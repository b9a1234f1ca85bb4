package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// square applies f to the columns of a block of from×from vectors and then to the rows of the
// result; column and result load and store them, tmp has space for to×from vectors. row is called at the start of
// each row of results.
func square(v *vectors, from, to int, tmp reg.Register, f line, column func(j int, x []reg.VecVirtual), row func(i int), result func(i, j int, y reg.VecVirtual)) {
	place := func(i, j int) Mem { return Mem{Base: tmp, Disp: v.bytes() * (i*from + j)} }
	for j := range from {
		x := v.several(from)
		column(j, x)
		f(v, x, func(i int, y reg.VecVirtual) { VMOVUPS(y, place(i, j)) })
	}
	for i := range to {
		row(i)
		x := v.several(from)
		for j := range x {
			VMOVUPS(place(i, j), x[j])
		}
		f(v, x, func(j int, y reg.VecVirtual) { result(i, j, y) })
	}
}

// winogradPixels makes a transform from from×from pixels, step of them from tile to tile, to points.
func winogradPixels(t tile, lanes int, name string, from, step int, f line) {
	TEXT(fmt.Sprintf("winograd%s%s%d", t.name, name, lanes), 0,
		"func(rows, n int, src *float32, pitch int, dst *float32, point, step int)")
	Doc(fmt.Sprintf("winograd%s%s%d transforms rows of n tiles of %d lanes: tiles begin %d pixels apart, rows of pixels are pitch bytes apart; dst has the points of a tile point bytes apart, tile after tile step bytes.", t.name, name, lanes, lanes, step))
	Pragma("noescape")
	v := newVectors(lanes, t.pixels...)
	rows := Load(Param("rows"), GP64())
	pitch := Load(Param("pitch"), GP64())
	point := Load(Param("point"), GP64())
	dst := Load(Param("dst"), GP64())
	first := Load(Param("src"), GP64())
	tmp := v.room(t.points * from)
	n, at, out := GP64(), GP64(), GP64()
	Label("row")
	Load(Param("n"), n)
	MOVQ(first, at)
	src := newStridedPlaces(at, pitch, from)
	Label("tile")
	MOVQ(dst, out)
	to := newStridedPlaces(out, point, t.points)
	square(v, from, t.points, tmp, f, func(j int, x []reg.VecVirtual) {
		for i := range x {
			m := src.at(i)
			m.Disp = 64 * j
			VMOVUPS(m, x[i])
		}
	}, func(i int) {
		if i > 0 {
			times(t.points, point, out)
			to.aim()
		}
	}, func(i, j int, y reg.VecVirtual) { VMOVUPS(y, to.at(j)) })
	next := Load(Param("step"), GP64())
	ADDQ(next, dst)
	src.add(U32(uint32(64 * step)))
	DECQ(n)
	JNZ(LabelRef("tile"))
	times(step, pitch, first)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// winogradOutput makes the transform from points to pixels.
func winogradOutput(t tile, lanes int) {
	TEXT(fmt.Sprintf("winograd%sOutput%d", t.name, lanes), 0,
		"func(rows, n int, src *float32, point, step int, dst *float32, pitch int, bad *float32)")
	Doc(fmt.Sprintf("winograd%sOutput%d makes rows of n tiles of %d×%d pixels from points, laid out as in winograd%sInput%d; bad, %d lanes, becomes NaN where a pixel is infinite or NaN, and else stays.", t.name, lanes, t.outs, t.outs, t.name, lanes, lanes))
	Pragma("noescape")
	v := newVectors(lanes, t.sums...)
	src := Load(Param("src"), GP64())
	point := Load(Param("point"), GP64())
	first := Load(Param("dst"), GP64())
	pitch := Load(Param("pitch"), GP64())
	rows := Load(Param("rows"), GP64())
	tmp := v.room(t.outs * t.points)
	bad, p := v.new(), Load(Param("bad"), GP64())
	VMOVUPS(Mem{Base: p}, bad)
	n, at, out, apart := GP64(), GP64(), GP64(), GP64()
	XORQ(apart, apart) // between rows of points
	times(t.points, point, apart)
	Label("row")
	Load(Param("n"), n)
	MOVQ(first, at)
	Label("tile")
	MOVQ(src, out)
	from := newStridedPlaces(out, apart, t.points)
	square(v, t.points, t.outs, tmp, t.output, func(j int, x []reg.VecVirtual) {
		if j > 0 {
			from.add(point)
		}
		for i := range x {
			VMOVUPS(from.at(i), x[i])
		}
	}, func(i int) {
		if i == 0 {
			MOVQ(at, out)
		} else {
			ADDQ(pitch, out)
		}
	}, func(i, j int, y reg.VecVirtual) {
		VMOVUPS(y, Mem{Base: out, Disp: 64 * j})
		v.note(y, bad)
	})
	next := Load(Param("step"), GP64())
	ADDQ(next, src)
	ADDQ(U32(uint32(64*t.outs)), at)
	DECQ(n)
	JNZ(LabelRef("tile"))
	times(t.outs, pitch, first)
	DECQ(rows)
	JNZ(LabelRef("row"))
	Load(Param("bad"), p)
	VMOVUPS(bad, Mem{Base: p})
	VZEROUPPER()
	RET()
}

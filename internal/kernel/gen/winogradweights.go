package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// quarters loads four floats for each lane from its address, so that the quarters of register r are those of lanes
// r, r+4, r+8, r+12.
func (v *vectors) quarters(address func(lane int) Mem) []reg.VecVirtual {
	x := make([]reg.VecVirtual, 4)
	for r := range x {
		first := XMM()
		VMOVUPS(address(r), first)
		if v.lanes == 8 {
			x[r] = YMM()
			VINSERTF128(Imm(1), address(r+4), first.AsY(), x[r])
			continue
		}
		x[r] = ZMM()
		VINSERTF32X4(Imm(1), address(r+4), first.AsZ(), x[r])
		VINSERTF32X4(Imm(2), address(r+8), x[r], x[r])
		VINSERTF32X4(Imm(3), address(r+12), x[r], x[r])
	}
	return x
}

// transpose4 transposes the quarters of four registers: of those that quarters loads it makes vectors
// of lanes in order, and the inverse.
func (v *vectors) transpose4(x []reg.VecVirtual) []reg.VecVirtual {
	t, y := v.several(4), v.several(4)
	VUNPCKLPS(x[1], x[0], t[0])
	VUNPCKHPS(x[1], x[0], t[1])
	VUNPCKLPS(x[3], x[2], t[2])
	VUNPCKHPS(x[3], x[2], t[3])
	VUNPCKLPD(t[2], t[0], y[0])
	VUNPCKHPD(t[2], t[0], y[1])
	VUNPCKLPD(t[3], t[1], y[2])
	VUNPCKHPD(t[3], t[1], y[3])
	return y
}

// scatter is the inverse of quarters.
func (v *vectors) scatter(x []reg.VecVirtual, address func(lane int) Mem) {
	for r, y := range x {
		VMOVUPS(y.AsX(), address(r))
		for q := 1; q < v.lanes/4; q++ {
			if v.lanes == 8 {
				VEXTRACTF128(Imm(1), y, address(r+4))
			} else {
				VEXTRACTF32X4(Imm(uint64(q)), y, address(r+4*q))
			}
		}
	}
}

// channelsPrefetch is how far ahead of the channel that is transformed winogradWeights fetches, and tapsPrefetch how many times as
// many taps as it makes at once winogradGradient does: waiting for the places of the results took most of its time.
const (
	channelsPrefetch = 4
	tapsPrefetch     = 4
)

// winogradWeights: the nine taps of the lanes are loaded in three blocks of four, the last of which begins
// with taps that were loaded before.
func winogradWeights(t tile, lanes int) {
	TEXT(fmt.Sprintf("winograd%sWeights%d", t.name, lanes), 0,
		"func(n int, w *float32, lane, step, flipped int, dst *float32, point int)")
	Doc(fmt.Sprintf("winograd%sWeights%d transforms the 3×3 taps of %d lanes n times: lanes are lane bytes apart, one time to the next step bytes; dst gets %d lanes for each point, 64 bytes apart from time to time. flipped other than 0 turns the taps by 180°.", t.name, lanes, lanes, lanes))
	Pragma("noescape")
	v := newVectors(lanes, t.factors...)
	n := Load(Param("n"), GP64())
	w := Load(Param("w"), GP64())
	lane := Load(Param("lane"), GP64())
	dst := Load(Param("dst"), GP64())
	point := Load(Param("point"), GP64())
	taps := v.room(9 + 3*t.classes)
	prefetch := GP64()
	step := Load(Param("step"), GP64())
	LEAQ(Mem{Base: w, Index: step, Scale: channelsPrefetch}, prefetch)
	from := newStridedPlaces(w, lane, lanes)
	Label("loop")
	for line := range (lanes*9*4 + 63) / 64 { // where lanes are contiguous; the others are not
		PREFETCHT0(Mem{Base: prefetch, Disp: 64 * line})
	}
	x := make([]reg.VecVirtual, 9)
	for _, first := range []int{0, 4, 5} {
		for i, y := range v.transpose4(v.quarters(func(l int) Mem {
			m := from.at(l)
			m.Disp = 4 * first
			return m
		})) {
			x[first+i] = y
		}
	}
	put := func(place func(tap int) int) {
		for tap, y := range x {
			VMOVUPS(y, Mem{Base: taps, Disp: v.bytes() * place(tap)})
		}
	}
	flipped := Load(Param("flipped"), GP64())
	TESTQ(flipped, flipped)
	JNZ(LabelRef("turn"))
	put(func(tap int) int { return tap })
	JMP(LabelRef("there"))
	Label("turn")
	put(func(tap int) int { return 8 - tap })
	Label("there")
	between, out := GP64(), GP64()
	LEAQ(Mem{Base: taps, Disp: 9 * v.bytes()}, between)
	MOVQ(dst, out)
	to := newStridedPlaces(out, point, t.classes)
	square(v, 3, t.classes, between, t.weights, func(j int, x []reg.VecVirtual) {
		for i := range x {
			VMOVUPS(Mem{Base: taps, Disp: v.bytes() * (3*i + j)}, x[i])
		}
	}, func(i int) {
		if i > 0 {
			times(t.classes, point, out)
			to.aim()
		}
	}, func(i, j int, y reg.VecVirtual) { VMOVUPS(y, to.at(j)) })
	next := Load(Param("step"), GP64())
	from.add(next)
	ADDQ(next, prefetch)
	ADDQ(Imm(64), dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// winogradGradient is the inverse way.
func winogradGradient(t tile, lanes int) {
	TEXT(fmt.Sprintf("winograd%sGradient%d", t.name, lanes), 0,
		"func(n int, src *float32, point int, dst, bad *float32)")
	Doc(fmt.Sprintf("winograd%sGradient%d makes %d*n times 3×3 taps, stored one after the other, of %d*n neighbouring lanes of points, which are point bytes apart; bad, %d lanes, becomes NaN where a tap is infinite or NaN, and else stays.", t.name, lanes, lanes, lanes, lanes))
	Pragma("noescape")
	v := newVectors(lanes, t.quotients...)
	n := Load(Param("n"), GP64())
	src := Load(Param("src"), GP64())
	point := Load(Param("point"), GP64())
	dst := Load(Param("dst"), GP64())
	taps := v.room(9 + 3*t.classes)
	bad, p := v.new(), Load(Param("bad"), GP64())
	VMOVUPS(Mem{Base: p}, bad)
	apart, at, between := GP64(), GP64(), GP64()
	XORQ(apart, apart)
	times(t.classes, point, apart)
	LEAQ(Mem{Base: taps, Disp: 9 * v.bytes()}, between)
	Label("loop")
	MOVQ(src, at)
	for line := 0; line < 36*lanes; line += 64 {
		PREFETCHT0(Mem{Base: dst, Disp: tapsPrefetch*36*lanes + line})
	}
	from := newStridedPlaces(at, apart, t.classes)
	square(v, t.classes, 3, between, t.taps, func(j int, x []reg.VecVirtual) {
		if j > 0 {
			from.add(point)
		}
		for i := range x {
			VMOVUPS(from.at(i), x[i])
		}
	}, func(int) {}, func(i, j int, y reg.VecVirtual) {
		VMOVUPS(y, Mem{Base: taps, Disp: v.bytes() * (3*i + j)})
		v.note(y, bad)
	})
	for _, first := range []int{0, 4, 5} {
		x := v.several(4)
		for i := range x {
			VMOVUPS(Mem{Base: taps, Disp: v.bytes() * (first + i)}, x[i])
		}
		v.scatter(v.transpose4(x), func(l int) Mem { return Mem{Base: dst, Disp: 36*l + 4*first} })
	}
	ADDQ(Imm(uint64(4*lanes)), src)
	ADDQ(U32(uint32(36*lanes)), dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VMOVUPS(bad, Mem{Base: p})
	VZEROUPPER()
	RET()
}

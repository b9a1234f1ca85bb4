package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pools are maxima and means over windows of 2×2 that do not overlap: eight results come of sixteen
// neighbours in each of two rows.
func pools() {
	pool2x2("max2x2", "the largest of each 2×2 elements of x, NaN if any is", true, nil)
	pool2x2("max2x2Alone", "the largest of each 2×2 elements of x, NaN if any is", false, largest)
	pool2x2("mean2x2", "the mean of each 2×2 elements of x", false, mean)
	pool2x2Back("max2x2Back", "sets each 2×2 elements of dx to 0, but that of the tap to dy", true)
	pool2x2Back("mean2x2Back", "sets each 2×2 elements of dx to a quarter of dy", false)
}

// halves writes a loop over rows of n results. body gets masks for the first and second eight
// floats of the rows of the input and for the results, nil but for the last results of a row.
func halves(rows, n reg.Register, body func(first, second, result mask), advance func(), next func()) {
	left, c, count := GP64(), GP64(), GP64()
	Label("rowloop")
	MOVQ(n, left)
	Label("eight")
	CMPQ(left, Imm(8))
	JLT(LabelRef("rest"))
	body(nil, nil, nil)
	advance()
	SUBQ(Imm(8), left)
	JMP(LabelRef("eight"))
	Label("rest")
	TESTQ(left, left)
	JZ(LabelRef("rowend"))
	MOVQ(left, c)
	ADDQ(c, c)
	MOVQ(U32(8), count)
	CMPQ(c, count)
	CMOVQLT(c, count)
	SUBQ(count, c)
	first := loadMask(count)
	second := loadMask(c)
	MOVQ(left, count)
	body(first, second, loadMask(count))
	Label("rowend")
	next()
	DECQ(rows)
	JNZ(LabelRef("rowloop"))
	VZEROUPPER()
	RET()
}

// pool2x2 makes a pooling, which combine does by leaving the result in z[0], or one for the largest
// elements and which they are.
func pool2x2(name, what string, tapped bool, combine func(z [4]reg.VecVirtual)) {
	sig := "func(rows, n int, x *float32, xRow int, y *float32"
	doc := name + " sets y, rows of n, to " + what
	if tapped {
		sig += ", taps *uint8"
		doc += ", and taps to the first that is: 0, 1 in the upper row, 2, 3 in the lower; up to 8 bytes after taps are written, too"
	}
	TEXT(name, NOSPLIT, sig+")")
	Doc(doc + ". Rows of x are xRow bytes apart.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	n := Load(Param("n"), GP64())
	x := Load(Param("x"), GP64())
	xRow := Load(Param("xRow"), GP64())
	y := Load(Param("y"), GP64())
	var taps reg.Register
	if tapped {
		taps = Load(Param("taps"), GP64())
	}
	up, low := GP64(), GP64()
	rest := GP64()
	start := func() {
		MOVQ(x, up)
		MOVQ(x, low)
		ADDQ(xRow, low)
	}
	start()
	halves(rows, n, func(first, second, result mask) {
		var z [4]reg.VecVirtual
		for r, p := range []reg.Register{up, low} {
			a, b := YMM(), YMM()
			load(Mem{Base: p}, first, a)
			load(Mem{Base: p, Disp: 32}, second, b)
			z[2*r], z[2*r+1] = YMM(), YMM()
			VSHUFPS(Imm(0x88), b, a, z[2*r])
			VSHUFPS(Imm(0xdd), b, a, z[2*r+1])
		}
		best := z[0]
		if tapped {
			tap := firstLargest(z)
			VPERMQ(Imm(0xd8), tap, tap)
			high := XMM()
			VEXTRACTI128(Imm(1), tap, high)
			VPACKSSDW(high, tap.AsX(), high)
			VPACKUSWB(high, high, high)
			VMOVQ(high, Mem{Base: taps})
		} else {
			combine(z)
		}
		VPERMQ(Imm(0xd8), best, best)
		store(best, result, Mem{Base: y})
		if result != nil { // the number of windows, or of the rest of the row
			MOVQ(n, rest)
			ANDQ(Imm(7), rest)
			if tapped {
				ADDQ(rest, taps)
			}
			SHLQ(Imm(2), rest)
			ADDQ(rest, y)
		}
	}, func() {
		ADDQ(Imm(64), up)
		ADDQ(Imm(64), low)
		ADDQ(Imm(32), y)
		if tapped {
			ADDQ(Imm(8), taps)
		}
	}, func() {
		ADDQ(xRow, x)
		ADDQ(xRow, x)
		start()
	})
}

// firstLargest sets z[0] to the largest of z, NaN if any is, and returns which is the first that is.
func firstLargest(z [4]reg.VecVirtual) (tap reg.VecVirtual) {
	tap = YMM()
	best, c, u := z[0], YMM(), YMM()
	VPXOR(tap, tap, tap)
	for t := 1; t < 4; t++ {
		VCMPPS(Imm(3), z[t], z[t], c)
		VCMPPS(Imm(7), best, best, u)
		VANDPS(u, c, c) // the first NaN
		VCMPPS(Imm(0x1e), best, z[t], u)
		VORPS(u, c, c)
		VBLENDVPS(c, z[t], best, best)
		VBLENDVPS(c, i8(int32(t)), tap, tap)
	}
	return tap
}

// largest sets z[0] to the largest of z, NaN if any is; it spoils z.
func largest(z [4]reg.VecVirtual) {
	nan, u := YMM(), YMM()
	VCMPPS(Imm(unordered), z[1], z[0], nan)
	VCMPPS(Imm(unordered), z[3], z[2], u)
	VORPS(u, nan, nan)
	VMAXPS(z[1], z[0], z[0])
	VMAXPS(z[3], z[2], z[2])
	VMAXPS(z[2], z[0], z[0])
	VORPS(nan, z[0], z[0])
}

// mean sets z[0] to the mean of z.
func mean(z [4]reg.VecVirtual) {
	VADDPS(z[1], z[0], z[0])
	VADDPS(z[3], z[2], z[2])
	VADDPS(z[2], z[0], z[0])
	VMULPS(f8(0.25), z[0], z[0])
}

// pool2x2Back makes the gradient of a pooling.
func pool2x2Back(name, what string, tapped bool) {
	sig, doc := "func(rows, n int, dy *float32, dx *float32, xRow int)", name+" "+what+". Rows of dx are xRow bytes apart"
	if tapped {
		sig = "func(rows, n int, dy *float32, taps *uint8, dx *float32, xRow int)"
		doc += "; up to 8 bytes after taps are read"
	}
	TEXT(name, NOSPLIT, sig)
	Doc(doc + ".")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	n := Load(Param("n"), GP64())
	dy := Load(Param("dy"), GP64())
	var taps reg.Register
	if tapped {
		taps = Load(Param("taps"), GP64())
	}
	x := Load(Param("dx"), GP64())
	xRow := Load(Param("xRow"), GP64())
	up, low, rest := GP64(), GP64(), GP64()
	start := func() {
		MOVQ(x, up)
		MOVQ(x, low)
		ADDQ(xRow, low)
	}
	start()
	halves(rows, n, func(first, second, result mask) {
		d, tap := YMM(), YMM()
		load(Mem{Base: dy}, result, d)
		if tapped {
			VPMOVZXBD(Mem{Base: taps}, tap)
		} else {
			VMULPS(f8(0.25), d, d)
		}
		for r, p := range []reg.Register{up, low} {
			a, b, lo, hi := YMM(), YMM(), YMM(), YMM()
			if tapped {
				VPCMPEQD(i8(int32(2*r)), tap, a)
				VPCMPEQD(i8(int32(2*r+1)), tap, b)
				VANDPS(d, a, a)
				VANDPS(d, b, b)
			} else {
				VMOVAPS(d, a)
				VMOVAPS(d, b)
			}
			VUNPCKLPS(b, a, lo)
			VUNPCKHPS(b, a, hi)
			VPERM2F128(Imm(0x20), hi, lo, a)
			VPERM2F128(Imm(0x31), hi, lo, b)
			store(a, first, Mem{Base: p})
			store(b, second, Mem{Base: p, Disp: 32})
		}
		if result != nil {
			MOVQ(n, rest)
			ANDQ(Imm(7), rest)
			if tapped {
				ADDQ(rest, taps)
			}
			SHLQ(Imm(2), rest)
			ADDQ(rest, dy)
		}
	}, func() {
		ADDQ(Imm(64), up)
		ADDQ(Imm(64), low)
		ADDQ(Imm(32), dy)
		if tapped {
			ADDQ(Imm(8), taps)
		}
	}, func() {
		ADDQ(xRow, x)
		ADDQ(xRow, x)
		start()
	})
}

package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var minusInf = math.Inf(-1)

// combine applies a two-operand operation to vectors; it may spoil x and y.
var combine = []struct {
	name, doc      string
	scalar, vector bool // which forms exist
	f              func(x, y vec) vec
}{
	{"add", "x + y", true, true, func(x, y vec) vec { VADDPS(y, x, x); return x }},
	{"sub", "x - y", false, true, func(x, y vec) vec { VSUBPS(y, x, x); return x }},
	{"mul", "x * y", true, true, func(x, y vec) vec { VMULPS(y, x, x); return x }},
	{"div", "x / y", true, true, func(x, y vec) vec { VDIVPS(y, x, x); return x }},
	{"max", "the larger of x and y, NaN if either is NaN", true, true, func(x, y vec) vec { return pick(x, y, VMAXPS) }},
	{"min", "the smaller of x and y, NaN if either is NaN", true, true, func(x, y vec) vec { return pick(x, y, VMINPS) }},
	{"rsub", "y - x", true, false, func(x, y vec) vec { VSUBPS(x, y, x); return x }},
	{"rdiv", "y / x", true, false, func(x, y vec) vec { VDIVPS(x, y, x); return x }},
	{"relugrad", "x where y > 0, else 0", false, true, func(x, y vec) vec {
		keep(compare(y, greater, cleared(1)[0]), x)
		return x
	}},
	{"sigmoidgrad", "x * y * (1-y)", false, true, func(x, y vec) vec {
		VMULPS(y, x, x)
		VFNMADD231PS(y, x, x)
		return x
	}},
	{"tanhgrad", "x * (1-y*y)", false, true, func(x, y vec) vec {
		z := vector()
		VMULPS(y, y, z)
		VFNMADD231PS(z, x, x)
		return x
	}},
}

func pick(x, y vec, op func(...Op)) vec {
	z := vector()
	nan := compare(x, unordered, y)
	op(y, x, z)
	VADDPS(y, x, x)
	blend(nan, x, z)
	return z
}

// elementwise makes the loops of one and two operands.
func elementwise() {
	for _, c := range combine {
		f := func(x, s []vec) vec { return c.f(x[0], append(x, s...)[1]) }
		if c.vector {
			loop{name: c.name + "VV", doc: "dst[i] = " + c.doc + " with x = a[i], y = b[i]", arrays: "ab", f: f}.write()
		}
		if c.scalar {
			loop{name: c.name + "VS", doc: "dst[i] = " + c.doc + " with x = a[i], y = *s", arrays: "a", scalars: 1, f: f}.write()
		}
	}
	for _, l := range []loop{
		{name: "reluV", doc: "dst[i] = a[i] where that is not below 0, else 0", arrays: "a", f: func(x, _ []vec) vec {
			VMAXPS(x[0], cleared(1)[0], x[0])
			return x[0]
		}},
		{name: "sqrtV", doc: "dst[i] = √a[i]", arrays: "a", f: func(x, _ []vec) vec { VSQRTPS(x[0], x[0]); return x[0] }},
		{name: "clipgradVV", doc: "dst[i] = a[i], 0 where b[i] is below s[0] or above s[1]", arrays: "ab", scalars: 2, f: func(x, s []vec) vec {
			outside := compare(x[1], less, s[0])
			join(compare(x[1], greater, s[1]), outside)
			blend(outside, cleared(1)[0], x[0])
			return x[0]
		}},
	} {
		l.write()
	}
}

// multiples makes the loops that add multiples.
func multiples() {
	for _, l := range []loop{
		{name: "axpyV", doc: "dst[i] += a[i] * s[0]", arrays: "a", scalars: 1, update: true, f: func(x, s []vec) vec {
			VFMADD231PS(x[0], s[0], x[1])
			return x[1]
		}},
		{name: "mulAddVV", doc: "dst[i] += a[i] * b[i]", arrays: "ab", update: true, f: func(x, _ []vec) vec {
			VFMADD231PS(x[0], x[1], x[2])
			return x[2]
		}},
		{name: "affineVS", doc: "dst[i] = a[i]*s[0] + s[1]", arrays: "a", scalars: 2, f: func(x, s []vec) vec {
			VFMADD132PS(s[0], s[1], x[0])
			return x[0]
		}},
		{name: "affineVV", doc: "dst[i] = a[i]*s[0] + b[i]*s[1] + s[2]", arrays: "ab", scalars: 3, f: func(x, s []vec) vec {
			VFMADD132PS(s[0], s[2], x[0])
			VFMADD231PS(s[1], x[1], x[0])
			return x[0]
		}},
	} {
		l.write()
	}
}

// loop is a kernel that computes dst element by element from other arrays and a few scalars.
type loop struct {
	name, doc string
	arrays    string               // a letter for each: "ab"
	scalars   int                  // elements of the argument s, if there are any
	update    bool                 // dst is read, too
	vectors   int                  // handled together; 0 means 4
	f         func(x, s []vec) vec // x are elements of the arrays, then of dst; it may spoil x
}

func (l loop) write() {
	params := "n int, dst"
	for _, a := range l.arrays {
		params += ", " + string(a)
	}
	if l.scalars > 0 {
		params += ", s"
	}
	TEXT(l.name, NOSPLIT, fmt.Sprintf("func(%s *float32)", params))
	Doc(l.name + ": " + l.doc + ".")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	var arrays []reg.Register
	for _, a := range l.arrays {
		arrays = append(arrays, Load(Param(string(a)), GP64()))
	}
	dst := Load(Param("dst"), GP64())
	arrays = append(arrays, dst)
	read := arrays[:len(l.arrays)]
	if l.update {
		read = arrays
	}
	var scalars reg.Register
	if l.scalars > 0 {
		scalars = Load(Param("s"), GP64())
	}
	bothWidths(func() {
		s := broadcast(scalars, l.scalars)
		blocks(n, l.wide(), func(vectors int, k mask) {
			for v := range vectors {
				at := func(base reg.Register) Mem { return Mem{Base: base, Disp: current.bytes() * v} }
				x := make([]vec, len(read))
				for i, base := range read {
					x[i] = vector()
					load(at(base), k, x[i])
				}
				store(l.f(x, s), k, at(dst))
			}
		}, func(bytes int) {
			for _, r := range arrays {
				ADDQ(U32(uint32(bytes)), r)
			}
		})
	}, nil)
}

func (l loop) wide() int {
	if l.vectors == 0 {
		return 4
	}
	return l.vectors
}

// broadcast is n registers of one scalar each.
func broadcast(scalars reg.Register, n int) []vec {
	s := make([]vec, n)
	for i := range s {
		s[i] = vector()
		VBROADCASTSS(Mem{Base: scalars, Disp: 4 * i}, s[i])
	}
	return s
}

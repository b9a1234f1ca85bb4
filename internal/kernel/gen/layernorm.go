package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// layerRows makes the passes of normalizations over one row.
func layerRows() {
	for _, l := range []loop{
		{name: "layerNormV", doc: "dst[i] = (a[i]-s[0])*s[1]*b[i] + c[i]", arrays: "abc", scalars: 2, f: func(x, s []vec) vec {
			normalize(x[0], s)
			VFMADD132PS(x[1], x[2], x[0])
			return x[0]
		}},
		{name: "layerNormMixV", doc: "dst[i] = s[1] * (a[i]*b[i] - s[2] - xhat*s[3]) with xhat = (c[i]-s[0])*s[1]", arrays: "abc", scalars: 4, f: func(x, s []vec) vec {
			normalize(x[2], s)
			VFMSUB132PS(x[1], s[2], x[0])
			VFNMADD231PS(s[3], x[2], x[0])
			VMULPS(s[1], x[0], x[0])
			return x[0]
		}},
	} {
		l.write()
	}
	layerNormDots()
}

// normalize makes x (x-s[0])*s[1].
func normalize(x vec, s []vec) {
	VSUBPS(s[0], x, x)
	VMULPS(s[1], x, x)
}

func layerNormDots() {
	TEXT("layerNormDots", NOSPLIT, "func(n int, dy, x, scale, s, dscale, dbias, out *float32)")
	Doc("layerNormDots adds dy*xhat to dscale and dy to dbias, with xhat = (x-s[0])*s[1], and sets out[0] to the sum of dy*scale, out[1] to that of dy*scale*xhat.")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	p := arguments("dy", "x", "scale", "dscale", "dbias")
	scalars, out := Load(Param("s"), GP64()), Load(Param("out"), GP64())
	bothWidths(func() {
		s := broadcast(scalars, 2)
		sums, products := cleared(2), cleared(2)
		blocks(n, 2, func(vectors int, k mask) {
			for v := range vectors {
				at := func(array int) Mem { return Mem{Base: p[array], Disp: current.bytes() * v} }
				read := func(array int) vec {
					x := vector()
					load(at(array), k, x)
					return x
				}
				dy, xhat := read(0), read(1)
				normalize(xhat, s)
				d := read(3)
				VFMADD231PS(dy, xhat, d)
				store(d, k, at(3))
				d = read(4)
				VADDPS(dy, d, d)
				store(d, k, at(4))
				VMULPS(read(2), dy, dy)
				VADDPS(dy, sums[v], sums[v])
				VFMADD231PS(dy, xhat, products[v])
			}
		}, advanced(p))
		VMOVSS(across(sums, VADDPS), Mem{Base: out})
		VMOVSS(across(products, VADDPS), Mem{Base: out, Disp: 4})
	}, nil)
}

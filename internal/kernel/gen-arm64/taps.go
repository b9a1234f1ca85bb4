package main

import "math"

// taps makes the kernels of depthwise convolution and pooling, which handle all rows of a plane to
// pay for the call once. A tap is an offset in floats from the element at hand.
func taps(p *program) {
	p.kernel("tapsRows", tapsRows)
	p.kernel("tapDots", tapDots)
	p.kernel("tapMax", tapMax)
}

// eachTap writes a loop over the taps; body gets a pointer to the element that the tap names,
// counted from x.
func (f *function) eachTap(count, offset, x reg, body func(from reg)) {
	f.scope(func() {
		n, o, from := f.reg(), f.reg(), f.reg()
		f.line("MOVD %s, %s", count, n)
		f.line("MOVD %s, %s", offset, o)
		f.countdown(n, func() {
			f.line("MOVD.P 8(%s), %s", o, from)
			f.line("ADD %s<<2, %s, %s", from, x, from)
			body(from)
		})
	})
}

// advanceRow moves pointers on by an argument.
func (f *function) advanceRow(step string, pointers ...reg) {
	f.scope(func() {
		r := f.arg(step)
		for _, p := range pointers {
			f.line("ADD %s, %s", r, p)
		}
	})
}

func tapsRows(f *function) {
	rows, x, count, offset := f.arg("rows"), f.arg("x"), f.arg("taps"), f.arg("offset")
	w, y, bias := f.arg("w"), f.arg("y"), f.vec()
	f.spread(bias, f.arg("bias"))
	n, px, py, pw := f.reg(), f.reg(), f.reg(), f.reg()
	f.countdown(rows, func() {
		f.argTo("n", n)
		f.line("MOVD %s, %s", x, px)
		f.line("MOVD %s, %s", y, py)
		f.blocks(n, 4, func(vectors int, single bool) {
			s, weight, z := f.vecsOf(vectors), f.vec(), f.vec()
			for _, v := range s {
				f.copy(v, bias)
			}
			f.line("MOVD %s, %s", w, pw)
			f.eachTap(count, offset, px, func(from reg) {
				f.line("VLD1R.P 4(%s), [V%d.S4]", pw, weight)
				for v := range s {
					f.load(z, from, 16*v, single)
					f.op("FMLA", s[v], z, weight)
				}
			})
			for v := range s {
				f.store(s[v], py, 16*v, single)
			}
		}, px, py)
		f.advanceRow("xRow", x)
		f.advanceRow("yRow", y)
	})
}

func tapDots(f *function) {
	count, offset, w := f.arg("taps"), f.arg("offset"), f.arg("w")
	n, rows, x, y, px, py := f.reg(), f.reg(), f.reg(), f.reg(), f.reg(), f.reg()
	s, z, u := f.vecsOf(4), f.vec(), f.vec()
	f.countdown(count, func() {
		f.argTo("rows", rows)
		f.argTo("x", px)
		f.argTo("y", y)
		f.line("MOVD.P 8(%s), %s", offset, x)
		f.line("ADD %s<<2, %s, %s", x, px, x)
		f.clear(s...)
		f.countdown(rows, func() {
			f.argTo("n", n)
			f.line("MOVD %s, %s", x, px)
			f.line("MOVD %s, %s", y, py)
			f.blocks(n, 4, func(vectors int, single bool) {
				for v := range vectors {
					f.load(z, px, 16*v, single)
					f.load(u, py, 16*v, single)
					f.op("FMLA", s[v], z, u)
				}
			}, px, py)
			f.advanceRow("xRow", x)
			f.advanceRow("yRow", y)
		})
		f.op("FADD", s[0], s[0], s[1])
		f.op("FADD", s[2], s[2], s[3])
		f.op("FADD", s[0], s[0], s[2])
		f.sum(s[0])
		f.load(z, w, 0, true)
		f.op("FADD", z, z, s[0])
		f.store(z, w, 0, true)
		f.add(4, w)
	})
}

func tapMax(f *function) {
	f.constants()
	rows, x, count, offset := f.arg("rows"), f.arg("x"), f.arg("taps"), f.arg("offset")
	y, which := f.arg("y"), f.arg("which")
	n, px, py, pw := f.reg(), f.reg(), f.reg(), f.reg()
	one, minus := f.word4(1), f.word4(math.MaxUint32)
	lowest := f.float(math.Inf(-1))
	f.countdown(rows, func() {
		f.argTo("n", n)
		f.line("MOVD %s, %s", x, px)
		f.line("MOVD %s, %s", y, py)
		f.line("MOVD %s, %s", which, pw)
		f.blocks(n, 3, func(vectors int, single bool) {
			best, tap := f.vecsOf(vectors), f.vecsOf(vectors)
			z, now, ordered, most := f.vec(), f.vec(), f.vec(), f.vec()
			for v := range vectors {
				f.copy(best[v], lowest)
				f.copy(tap[v], minus)
			}
			f.clear(now)
			f.eachTap(count, offset, px, func(from reg) {
				for v := range vectors {
					f.load(z, from, 16*v, single)
					f.op("FCMEQ", ordered, best[v], best[v])
					f.op("FCMGE", most, best[v], z)
					f.op("BIC", most, ordered, most) // a larger one, or the first NaN
					f.op("BIT", best[v], z, most)
					f.op("BIT", tap[v], now, most)
				}
				f.op("ADD", now, now, one)
			})
			for v := range vectors {
				f.store(best[v], py, 16*v, single)
				f.store(tap[v], pw, 16*v, single)
			}
		}, px, py, pw)
		f.advanceRow("xRow", x)
		f.advanceRow("yRow", y, which)
	})
}

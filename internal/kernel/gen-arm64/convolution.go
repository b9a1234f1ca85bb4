package main

import "fmt"

// convolution makes the kernels that read the input of a convolution in place. They take the
// place of those for AVX2, with two vectors where those have one.
func convolution(p *program) {
	for rows := 8; rows > 0; rows /= 2 {
		for vecs := 3; vecs > 0; vecs-- {
			p.kernel(fmt.Sprintf("convTileY%dx%d", rows, vecs), func(f *function) { convTile(f, rows, 2*vecs) })
		}
	}
	for vecs := 2; vecs > 0; vecs-- {
		p.kernel(fmt.Sprintf("convWeightY%d", vecs), func(f *function) { convWeight(f, 2*vecs) })
	}
	p.kernel("storeRunsY", func(f *function) { storeRuns(f, false) })
	p.kernel("addRunsY", func(f *function) { storeRuns(f, true) })
	p.kernel("scatterRunsY", scatterRuns)
	p.kernel("movePlanes", movePlanes)
	p.kernel("everyOther", everyOther)
	p.kernel("stretchRows", stretchRows)
	p.kernel("addStretched", addStretched)
}

// pairs loads or stores an even number of vectors that are contiguous.
func (f *function) pairs(what string, v []vec, p reg) {
	for i := 0; i < len(v); i += 2 {
		f.line("F%sPQ %s", what, pair(what, p, 16*i, v[i], v[i+1]))
	}
}

// convTile: tiles of rows output channels and vecs vectors of adjacent outputs. The rows of the right operand start
// at the offsets of the table. If the registers do not hold a whole tile, it is computed in two halves.
func convTile(f *function, rows, vecs int) {
	height := rows
	if rows*vecs > 24 {
		height = rows / 2
	}
	tiles, b, to, step, ldc := f.arg("tiles"), f.arg("b"), f.arg("c"), f.arg("step"), f.arg("ldc")
	k, a, off, at, c := f.reg(), f.reg(), f.reg(), f.reg(), f.reg()
	acc := make([][]vec, height)
	for i := range acc {
		acc[i] = f.vecsOf(vecs)
	}
	right, left := f.vecsOf(vecs), f.vecsOf((height+3)/4)
	load := map[int]string{8: "FMOVQ", 4: "FMOVQ", 2: "FMOVD", 1: "FMOVS"}[height]
	f.countdown(tiles, func() {
		f.line("MOVD %s, %s", to, c)
		for half := 0; half < rows; half += height {
			f.argTo("shift", at)
			f.add(4*half, at)
			for i := range acc {
				f.line("VLD1R.P 4(%s), [V%d.S4]", at, acc[i][0])
				for _, v := range acc[i][1:] {
					f.copy(v, acc[i][0])
				}
			}
			f.argTo("k", k)
			f.argTo("a", a)
			f.add(4*half, a)
			f.argTo("off", off)
			f.unrolled(k, 4, func(int) {
				f.line("MOVW.P 4(%s), %s", off, at)
				f.line("ADD %s<<2, %s, %s", at, b, at)
				f.pairs("LD", right, at)
				if height > 4 {
					f.line("FMOVQ 16(%s), F%d", a, left[1])
				}
				f.line("%s (%s), F%d", load, a, left[0])
				f.line("ADD %s, %s", step, a)
				for i := range acc {
					for j, v := range acc[i] {
						f.mulAddLane(v, right[j], left[i/4], i%4)
					}
				}
			})
			store := f.label("store")
			f.argTo("clip", at)
			f.line("CBZ %s, %s", at, store)
			f.clip(at, right[0], right[1], acc...)
			f.mark(store)
			for i := range acc {
				f.pairs("ST", acc[i], c)
				f.line("ADD %s, %s", ldc, c)
			}
		}
		f.add(16*vecs, b)
		f.add(16*vecs, to)
	})
}

// bounds loads the two numbers that p points to into all lanes of lo and hi.
func (f *function) bounds(p reg, lo, hi vec) {
	f.line("VLD2R (%s), [V%d.S4, V%d.S4]", p, lo, hi)
}

// clip clips vectors to the bounds that p points to; NaN stays. lo and hi are neighbours.
func (f *function) clip(p reg, lo, hi vec, acc ...[]vec) {
	f.bounds(p, lo, hi)
	for i := range acc {
		for _, v := range acc[i] {
			f.op("FMAX", v, v, lo)
			f.op("FMIN", v, v, hi)
		}
	}
}

// convWeight: a block of six rows of the left operand, each with its own address, and vecs
// vectors of the packed right operand; the inner loop runs over rows of points. Half as
// many vectors get two sets of accumulators, to hide the latency of the multiply-add.
func convWeight(f *function, vecs int) {
	images, x, off, b := f.arg("images"), f.arg("x"), f.arg("off"), f.arg("b")
	jump, imageJump, rows, n := f.arg("jump"), f.arg("imageJump"), f.reg(), f.reg()
	from := make([]reg, 6)
	for i := range from {
		from[i] = f.reg()
		f.line("MOVW.P 4(%s), %s", off, from[i])
		f.line("ADD %s<<2, %s, %s", from[i], x, from[i])
	}
	sets := 4 / vecs
	acc := make([][6][]vec, sets)
	for s := range acc {
		for i := range from {
			acc[s][i] = f.vecsOf(vecs)
			f.clear(acc[s][i]...)
		}
	}
	right, left := f.vecsOf(vecs), f.vecsOf(4)
	onward := func(bytes reg) {
		for _, r := range from {
			f.line("ADD %s, %s", bytes, r)
		}
	}
	f.countdown(images, func() {
		f.argTo("rows", rows)
		f.countdown(rows, func() {
			f.argTo("n", n)
			f.unrolled(n, 2, func(k int) {
				f.pairs("LD", right, b)
				f.add(16*vecs, b)
				for i, r := range from {
					f.line("VLD1R.P 4(%s), [V%d.S4]", r, left[i%4])
					for j, v := range acc[k%sets][i] {
						f.op("FMLA", v, right[j], left[i%4])
					}
				}
			})
			onward(jump)
		})
		onward(imageJump)
	})
	for i := range from {
		for j, v := range acc[0][i] {
			if sets == 2 {
				f.op("FADD", v, v, acc[1][i][j])
			}
		}
	}
	store, c, ldc := f.label("store"), images, jump // which are done with
	f.argTo("ldc", ldc)
	f.argTo("add", n)
	f.line("CBZ %s, %s", n, store)
	f.argTo("c", c)
	for i := range from {
		f.pairs("LD", right, c)
		f.line("ADD %s, %s", ldc, c)
		for j, v := range acc[0][i] {
			f.op("FADD", v, v, right[j])
		}
	}
	f.mark(store)
	f.argTo("c", c)
	for i := range from {
		f.pairs("ST", acc[0][i], c)
		f.line("ADD %s, %s", ldc, c)
	}
}

// eachRun writes a loop over runs and one over their rows: body gets pointers into the tile and
// y, and the length of the run, and may spoil them.
func (f *function) eachRun(body func(s, d, n reg)) {
	tile, y, run, runs := f.arg("tile"), f.arg("y"), f.arg("run"), f.arg("runs")
	tileRow, ldy := f.arg("tileRow"), f.arg("ldy")
	from, to, length, rows := f.reg(), f.reg(), f.reg(), f.reg()
	s, d, n := f.reg(), f.reg(), f.reg()
	f.countdown(runs, func() {
		f.line("MOVD.P 8(%s), %s", run, from)
		f.line("MOVD.P 8(%s), %s", run, length)
		f.line("MOVD.P 8(%s), %s", run, to)
		f.line("ADD %s<<2, %s, %s", from, tile, from)
		f.line("ADD %s<<2, %s, %s", to, y, to)
		f.argTo("rows", rows)
		f.countdown(rows, func() {
			f.line("MOVD %s, %s", from, s)
			f.line("MOVD %s, %s", to, d)
			f.line("MOVD %s, %s", length, n)
			f.scope(func() { body(s, d, n) })
			f.line("ADD %s, %s", tileRow, from)
			f.line("ADD %s, %s", ldy, to)
		})
	})
}

// storeRuns stores a tile run by run, optionally adding other elements.
func storeRuns(f *function, added bool) {
	var apart reg // from y to add
	lo, hi := f.vec(), f.vec()
	if added {
		apart = f.arg("add")
		f.scope(func() {
			f.line("SUB %s, %s", f.arg("y"), apart)
			f.bounds(f.arg("clip"), lo, hi)
		})
	}
	f.eachRun(func(s, d, n reg) {
		other := f.reg()
		f.blocks(n, 4, func(vectors int, single bool) {
			x, z := f.vecsOf(vectors), f.vec()
			if added {
				f.line("ADD %s, %s, %s", apart, d, other)
			}
			for v := range x {
				f.load(x[v], s, 16*v, single)
				if added {
					f.load(z, other, 16*v, single)
					f.op("FADD", x[v], x[v], z)
					f.op("FMAX", x[v], x[v], lo)
					f.op("FMIN", x[v], x[v], hi)
				}
				f.store(x[v], d, 16*v, single)
			}
		}, s, d)
	})
}

// scatterRuns stores the results of a gradient whose convolution had stride 2: the elements between
// them are not written, so there is one store for each.
func scatterRuns(f *function) {
	x := f.vec()
	f.eachRun(func(s, d, n reg) {
		f.countdown(n, func() {
			f.line("FMOVS.P 4(%s), F%d", s, x)
			f.line("FMOVS.P F%d, 8(%s)", x, d)
		})
	})
}

// eachPlaneRow writes a loop over the rows of planes; body gets pointers into a row of src and dst and a
// count.
func (f *function) eachPlaneRow(body func(s, d, n reg)) {
	planes, rows := f.arg("planes"), f.reg()
	src, srcRow, dst, dstRow := f.arg("src"), f.arg("srcRow"), f.arg("dst"), f.arg("dstRow")
	from, to, s, d, n := f.reg(), f.reg(), f.reg(), f.reg(), f.reg()
	f.countdown(planes, func() {
		f.argTo("rows", rows)
		f.line("MOVD %s, %s", src, from)
		f.line("MOVD %s, %s", dst, to)
		f.countdown(rows, func() {
			f.argTo("n", n)
			f.line("MOVD %s, %s", from, s)
			f.line("MOVD %s, %s", to, d)
			f.scope(func() { body(s, d, n) })
			f.line("ADD %s, %s", srcRow, from)
			f.line("ADD %s, %s", dstRow, to)
		})
		f.argTo("srcPlane", s)
		f.line("ADD %s, %s", s, src)
		f.argTo("dstPlane", d)
		f.line("ADD %s, %s", d, dst)
	})
}

func movePlanes(f *function) {
	f.eachPlaneRow(func(s, d, n reg) {
		f.blocks(n, 4, func(vectors int, single bool) {
			x := f.vecsOf(vectors)
			for v := range x {
				f.load(x[v], s, 16*v, single)
			}
			for v := range x {
				f.store(x[v], d, 16*v, single)
			}
		}, s, d)
	})
}

// everyOther: the last four of a row would read one float too many.
func everyOther(f *function) {
	x, y := f.vec(), f.vec()
	f.eachPlaneRow(func(s, d, n reg) {
		four, rest := f.label("four"), f.label("rest")
		f.line("SUBS $4, %s", n)
		f.line("BLE %s", rest)
		f.mark(four)
		f.line("VLD2.P 32(%s), [V%d.S4, V%d.S4]", s, x, y)
		f.line("FMOVQ.P F%d, 16(%s)", x, d)
		f.line("SUBS $4, %s", n)
		f.line("BGT %s", four)
		f.mark(rest)
		f.line("ADD $4, %s", n)
		f.countdown(n, func() {
			f.line("FMOVS.P 8(%s), F%d", s, x)
			f.line("FMOVS.P F%d, 4(%s)", x, d)
		})
	})
}

// stretchRows: a float is loaded with zeros after it.
func stretchRows(f *function) {
	rows, src, dst, left := f.arg("rows"), f.arg("src"), f.arg("dst"), f.reg()
	x, zero := f.vec(), f.vec()
	f.clear(zero)
	f.countdown(rows, func() {
		f.argTo("n", left)
		f.countdown(left, func() {
			f.line("FMOVS.P 4(%s), F%d", src, x)
			f.line("FMOVD.P F%d, 8(%s)", x, dst)
		})
		f.argTo("n", left)
		f.countdown(left, func() { f.line("FMOVD.P F%d, 8(%s)", zero, dst) })
	})
}

// addStretched goes float by float.
func addStretched(f *function) {
	rows, src, dst, n, left := f.arg("rows"), f.arg("src"), f.arg("dst"), f.arg("n"), f.reg()
	x, y := f.vec(), f.vec()
	f.countdown(rows, func() {
		f.argTo("n", left)
		f.countdown(left, func() {
			f.line("FMOVS.P 4(%s), F%d", src, x)
			f.line("FMOVS (%s), F%d", dst, y)
			f.line("FADDS F%d, F%d, F%d", x, y, y)
			f.line("FMOVS.P F%d, 8(%s)", y, dst)
		})
		f.line("ADD %s<<3, %s, %s", n, dst, dst)
	})
}

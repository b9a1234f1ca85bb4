package main

// pack makes the routines that copy operands into the order in which the micro-kernels read them.
func pack(p *program) {
	p.kernel("packB16", packB16)
	p.kernel("packT8", packT8)
	p.kernel("packA6", packA6)
	p.kernel("packA6T", packA6T)
}

// packB16 copies row by row across all column panels, so that memory is read in its order.
func packB16(f *function) {
	kc, b, ldb, dst := f.arg("kc"), f.arg("b"), f.arg("ldb"), f.arg("dst")
	colPanels, apart := f.arg("colPanels"), f.arg("dstPanel")
	n, from, to := f.reg(), f.reg(), f.reg()
	v := f.vecsOf(4)
	f.countdown(kc, func() {
		f.line("MOVD %s, %s", colPanels, n)
		f.line("MOVD %s, %s", b, from)
		f.line("MOVD %s, %s", dst, to)
		f.countdown(n, func() {
			f.line("FLDPQ %s", pair("LD", from, 0, v[0], v[1]))
			f.line("FLDPQ %s", pair("LD", from, 32, v[2], v[3]))
			f.line("FSTPQ %s", pair("ST", to, 0, v[0], v[1]))
			f.line("FSTPQ %s", pair("ST", to, 32, v[2], v[3]))
			f.add(64, from)
			f.line("ADD %s, %s", apart, to)
		})
		f.line("ADD %s, %s", ldb, b)
		f.add(64, dst)
	})
}

// transpose4 transposes a 4×4 block.
func transpose4(f *function, v []vec) []vec {
	t, out := f.vecsOf(4), f.vecsOf(4)
	f.op("ZIP1", t[0], v[0], v[2]) // 0₀ 2₀ 0₁ 2₁
	f.op("ZIP1", t[1], v[1], v[3])
	f.op("ZIP2", t[2], v[0], v[2])
	f.op("ZIP2", t[3], v[1], v[3])
	for h := range 2 {
		f.op("ZIP1", out[2*h], t[2*h], t[2*h+1])
		f.op("ZIP2", out[2*h+1], t[2*h], t[2*h+1])
	}
	return out
}

// rowPointers returns pointers to n rows with the given stride in bytes, the first of which is p itself.
func (f *function) rowPointers(p, stride reg, n int) []reg {
	list := []reg{p}
	for i := 1; i < n; i++ {
		r := f.reg()
		f.line("ADD %s, %s, %s", stride, list[i-1], r)
		list = append(list, r)
	}
	return list
}

// fourOf loads four floats of each row and moves the pointers past them.
func (f *function) fourOf(rows []reg) []vec {
	v := f.vecsOf(len(rows))
	for i, r := range rows {
		f.line("FMOVQ.P 16(%s), F%d", r, v[i])
	}
	return v
}

func packT8(f *function) {
	n, b, ldb, dst := f.arg("k8"), f.arg("b"), f.arg("ldb"), f.arg("dst")
	rows := f.rowPointers(b, ldb, 8)
	f.line("LSL $1, %s", n)
	f.countdown(n, func() {
		f.scope(func() {
			v := f.fourOf(rows)
			lo, hi := transpose4(f, v[:4]), transpose4(f, v[4:])
			for c := range 4 {
				f.line("FSTPQ %s", pair("ST", dst, 64*c, lo[c], hi[c]))
			}
		})
		f.add(256, dst)
	})
}

func packA6(f *function) {
	n, a, lda, dst := f.arg("k8"), f.arg("a"), f.arg("lda"), f.arg("dst")
	rows := f.rowPointers(a, lda, 6)
	high := f.reg()
	f.line("LSL $1, %s", n)
	f.countdown(n, func() {
		f.scope(func() {
			v := f.fourOf(rows)
			top := transpose4(f, v[:4])
			lo, hi := f.vec(), f.vec() // rows 4 and 5 of two columns each
			f.op("ZIP1", lo, v[4], v[5])
			f.op("ZIP2", hi, v[4], v[5])
			for c := range 4 {
				f.line("FMOVQ F%d, %d(%s)", top[c], 24*c, dst)
			}
			f.line("FMOVD F%d, 16(%s)", lo, dst)
			f.line("ADD $40, %s, %s", dst, high)
			f.line("VST1 V%d.D[1], (%s)", lo, high)
			f.line("FMOVD F%d, 64(%s)", hi, dst)
			f.line("ADD $88, %s, %s", dst, high)
			f.line("VST1 V%d.D[1], (%s)", hi, high)
		})
		f.add(96, dst)
	})
}

func packA6T(f *function) {
	n, a, lda, dst := f.arg("kc"), f.arg("a"), f.arg("lda"), f.arg("dst")
	x, y := f.vec(), f.vec()
	f.countdown(n, func() {
		f.line("FMOVQ (%s), F%d", a, x)
		f.line("FMOVD 16(%s), F%d", a, y)
		f.line("ADD %s, %s", lda, a)
		f.line("FMOVQ F%d, (%s)", x, dst)
		f.line("FMOVD F%d, 16(%s)", y, dst)
		f.add(24, dst)
	})
}

func split(p *program) { p.kernel("split2", split2) }

func split2(f *function) {
	n, src, even, odd := f.arg("n16"), f.arg("src"), f.arg("even"), f.arg("odd")
	x, y := f.vecsOf(4), f.vecsOf(4)
	f.countdown(n, func() {
		f.line("FLDPQ %s", pair("LD", src, 0, x[0], x[1]))
		f.line("FLDPQ %s", pair("LD", src, 32, x[2], x[3]))
		for h := range 2 {
			f.op("UZP1", y[h], x[2*h], x[2*h+1])
			f.op("UZP2", y[2+h], x[2*h], x[2*h+1])
		}
		f.line("FSTPQ %s", pair("ST", even, 0, y[0], y[1]))
		f.line("FSTPQ %s", pair("ST", odd, 0, y[2], y[3]))
		f.add(64, src)
		f.add(32, even, odd)
	})
}

// transpose generates the transposition of blocks of 32-bit values of any type.
func transpose(p *program) {
	p.kernel("transposeRows8", func(f *function) {
		n, src, srcStride := f.arg("n8"), f.arg("src"), f.arg("srcStride")
		dst, dstStride := f.arg("dst"), f.arg("dstStride")
		rows := f.rowPointers(src, srcStride, 8)
		f.line("LSL $1, %s", n)
		f.countdown(n, func() {
			f.scope(func() {
				v := f.fourOf(rows)
				lo, hi := transpose4(f, v[:4]), transpose4(f, v[4:])
				for c := range 4 {
					f.line("FSTPQ %s", pair("ST", dst, 0, lo[c], hi[c]))
					f.line("ADD %s, %s", dstStride, dst)
				}
			})
		})
	})
}

package main

// rows makes kernels that combine a few rows: products of one or two rows.
func rows(p *program) {
	p.kernel("axpy4", axpy4)
	p.kernel("dot4", dot4)
}

func axpy4(f *function) {
	n, a, b, ldb, y := f.arg("n"), f.arg("a"), f.arg("b"), f.arg("ldb"), f.arg("y")
	from := f.rowPointers(b, ldb, 4)
	w := f.vec()
	f.line("FMOVQ (%s), F%d", a, w)
	f.blocks(n, 2, func(vectors int, single bool) {
		for v := range vectors {
			s, x := f.vec(), f.vec()
			f.load(s, y, 16*v, single)
			for i, r := range from {
				f.load(x, r, 16*v, single)
				f.mulAddLane(s, x, w, i)
			}
			f.store(s, y, 16*v, single)
		}
	}, append(from, y)...)
}

func dot4(f *function) {
	n, a, b, ldb, y := f.arg("n"), f.arg("a"), f.arg("b"), f.arg("ldb"), f.arg("y")
	from := f.rowPointers(b, ldb, 4)
	s := [2][]vec{f.vecsOf(4), f.vecsOf(4)}
	f.clear(s[0]...)
	f.clear(s[1]...)
	f.blocks(n, 2, func(vectors int, single bool) {
		for v := range vectors {
			x, z := f.vec(), f.vec()
			f.load(x, a, 16*v, single)
			for i, r := range from {
				f.load(z, r, 16*v, single)
				f.op("FMLA", s[v][i], x, z)
			}
		}
	}, append(from, a)...)
	for i := range 4 {
		f.op("FADD", s[0][i], s[0][i], s[1][i])
	}
	f.op("FADDP", s[0][0], s[0][0], s[0][1])
	f.op("FADDP", s[0][2], s[0][2], s[0][3])
	f.op("FADDP", s[0][0], s[0][0], s[0][2])
	f.store(s[0][0], y, 0, false)
}

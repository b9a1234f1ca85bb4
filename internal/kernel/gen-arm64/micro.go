package main

import "fmt"

// micro makes the micro-kernels for blocks of 1 to 6 rows and 16 columns: with six rows, 24
// accumulators and four vectors of B leave four registers for A.
func micro(p *program) {
	for r := 1; r <= 6; r++ {
		p.kernel(fmt.Sprintf("micro%dx16", r), func(f *function) { block(f, r) })
	}
}

// block: where six elements of a column of A are contiguous, two loads take them and the
// multiply-adds name a lane; otherwise every element is loaded into all lanes of a register.
// Blocks of few rows spread the inner dimension over several sets of accumulators to hide the
// latency of the multiply-add.
func block(f *function, rows int) {
	kc, a, rsA, csA := f.arg("kc"), f.arg("a"), f.arg("rsA"), f.arg("csA")
	b, rsB := f.arg("b"), f.arg("rsB")
	sets := [...]int{1, 4, 2, 2, 1, 1, 1}[rows]
	acc := make([][][]vec, sets)
	for s := range acc {
		acc[s] = make([][]vec, rows)
		for i := range rows {
			acc[s][i] = f.vecsOf(4)
			f.clear(acc[s][i]...)
		}
	}
	right := f.vecsOf(4)
	row := func() { // of B
		f.line("FLDPQ (%s), (F%d, F%d)", b, right[0], right[1])
		f.line("FLDPQ 32(%s), (F%d, F%d)", b, right[2], right[3])
		f.line("ADD %s, %s", rsB, b)
	}
	done, strided := f.label("done"), f.label("strided")
	if rows == 6 {
		f.line("CMP $4, %s", rsA)
		f.line("BNE %s", strided)
		f.scope(func() { columns6(f, kc, a, csA, acc[0], right, row) })
		f.line("B %s", done)
		f.mark(strided)
	}
	f.scope(func() { scattered(f, kc, a, rsA, csA, acc, right, row) })
	f.mark(done)
	for n := sets; n > 1; n /= 2 {
		for s := range n / 2 {
			for i := range rows {
				for j, v := range acc[s][i] {
					f.op("FADD", v, v, acc[s+n/2][i][j])
				}
			}
		}
	}
	finish(f, acc[0], right)
}

// columns6 multiplies where the six elements of a column of A are neighbours.
func columns6(f *function, kc, a, csA reg, acc [][]vec, right []vec, row func()) {
	lo, hi := f.vec(), f.vec()
	f.unrolled(kc, 4, func(int) {
		row()
		f.line("FMOVQ (%s), F%d", a, lo)
		f.line("FMOVD 16(%s), F%d", a, hi)
		f.line("ADD %s, %s", csA, a)
		for i := range acc {
			x, lane := lo, i
			if i >= 4 {
				x, lane = hi, i-4
			}
			for j, v := range acc[i] {
				f.mulAddLane(v, right[j], x, lane)
			}
		}
	})
}

// scattered multiplies with a pointer for each row of A.
func scattered(f *function, kc, a, rsA, csA reg, acc [][][]vec, right []vec, row func()) {
	rows := len(acc[0])
	from := []reg{a}
	for i := 1; i < rows; i++ {
		r := f.reg()
		f.line("ADD %s, %s, %s", rsA, from[i-1], r)
		from = append(from, r)
	}
	left := f.vecsOf(min(rows, 32-f.vecs))
	f.unrolled(kc, 4, func(k int) {
		row()
		for i := range rows {
			x := left[i%len(left)]
			f.line("VLD1R.P (%s)(%s), [V%d.S4]", from[i], csA, x)
			for j, v := range acc[k%len(acc)][i] {
				f.op("FMLA", v, right[j], x)
			}
		}
	})
}

// unrolled runs body n ≥ 0 times, unrolled by the given factor while possible; body receives its index
// within the unrolled block. It clobbers n.
func (f *function) unrolled(n reg, by int, body func(k int)) {
	many, rest, end := f.label("many"), f.label("rest"), f.label("end")
	f.line("SUBS $%d, %s", by, n)
	f.line("BLT %s", rest)
	f.mark(many)
	for k := range by {
		body(k)
	}
	f.line("SUBS $%d, %s", by, n)
	f.line("BGE %s", many)
	f.mark(rest)
	f.line("ADDS $%d, %s", by, n)
	f.line("BEQ %s", end)
	f.countdown(n, func() { body(0) })
	f.mark(end)
}

// finish applies the flags (1: add C, 2: add bias[row], 4: clip below 0, 8: add bias[column]) and
// stores. spare are four registers to spoil.
func finish(f *function, acc [][]vec, spare []vec) {
	flags, c, ldc, at := f.arg("flags"), f.arg("c"), f.arg("ldc"), f.reg()
	each := func(what string, v []vec) {
		f.line("F%sPQ %s", what, pair(what, at, 0, v[0], v[1]))
		f.line("F%sPQ %s", what, pair(what, at, 32, v[2], v[3]))
		f.line("ADD %s, %s", ldc, at)
	}
	fresh, nobias, noshift, store := f.label("fresh"), f.label("nobias"), f.label("noshift"), f.label("store")
	f.line("TBZ $0, %s, %s", flags, fresh)
	f.line("MOVD %s, %s", c, at)
	for i := range acc {
		each("LD", spare)
		for j, v := range acc[i] {
			f.op("FADD", v, v, spare[j])
		}
	}
	f.mark(fresh)
	f.line("TBZ $1, %s, %s", flags, nobias)
	f.argTo("bias", at)
	for i := range acc {
		f.line("VLD1R.P 4(%s), [V%d.S4]", at, spare[i%4])
		for _, v := range acc[i] {
			f.op("FADD", v, v, spare[i%4])
		}
	}
	f.mark(nobias)
	f.line("TBZ $3, %s, %s", flags, noshift)
	f.argTo("bias", at)
	f.line("FLDPQ %s", pair("LD", at, 0, spare[0], spare[1]))
	f.line("FLDPQ %s", pair("LD", at, 32, spare[2], spare[3]))
	for i := range acc {
		for j, v := range acc[i] {
			f.op("FADD", v, v, spare[j])
		}
	}
	f.mark(noshift)
	f.line("TBZ $2, %s, %s", flags, store)
	f.clear(spare[0])
	for i := range acc {
		for _, v := range acc[i] {
			f.op("FMAX", v, v, spare[0])
		}
	}
	f.mark(store)
	f.line("MOVD %s, %s", c, at)
	for i := range acc {
		each("ST", acc[i])
	}
}

// pair returns the operands of a load or store of two registers.
func pair(what string, p reg, offset int, x, y vec) string {
	if what == "LD" {
		return fmt.Sprintf("%d(%s), (F%d, F%d)", offset, p, x, y)
	}
	return fmt.Sprintf("(F%d, F%d), %d(%s)", x, y, offset, p)
}

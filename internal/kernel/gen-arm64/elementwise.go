package main

// combine applies an operation to x and y, into x.
var combine = []struct {
	name           string
	scalar, vector bool // which forms exist
	f              func(f *function, x, y vec)
}{
	{"add", true, true, same("FADD")},
	{"sub", false, true, same("FSUB")},
	{"mul", true, true, same("FMUL")},
	{"div", true, true, same("FDIV")},
	{"max", true, true, same("FMAX")},
	{"min", true, true, same("FMIN")},
	{"rsub", true, false, func(f *function, x, y vec) { f.op("FSUB", x, y, x) }},
	{"rdiv", true, false, func(f *function, x, y vec) { f.op("FDIV", x, y, x) }},
	{"relugrad", false, true, func(f *function, x, y vec) {
		z := f.vec()
		f.clear(z)
		f.op("FCMGT", z, y, z)
		f.op("AND", x, x, z)
	}},
	{"sigmoidgrad", false, true, func(f *function, x, y vec) {
		f.op("FMUL", x, x, y)
		f.op("FMLS", x, x, y)
	}},
	{"tanhgrad", false, true, func(f *function, x, y vec) {
		f.op("FMUL", y, y, y)
		f.op("FMLS", x, x, y)
	}},
}

func same(op string) func(f *function, x, y vec) {
	return func(f *function, x, y vec) { f.op(op, x, x, y) }
}

// elementwise makes the loops of one or two operands.
func elementwise(p *program) {
	for _, c := range combine {
		if c.vector {
			p.kernel(c.name+"VV", func(f *function) {
				loop(f, 4, "dst", []string{"a", "b"}, 0, func(x, _ []vec) { c.f(f, x[0], x[1]) })
			})
		}
		if c.scalar {
			p.kernel(c.name+"VS", func(f *function) {
				loop(f, 4, "dst", []string{"a"}, 1, func(x, s []vec) { c.f(f, x[0], s[0]) })
			})
		}
	}
	p.kernel("reluV", func(f *function) {
		zero := f.vec()
		f.clear(zero)
		loop(f, 4, "dst", []string{"a"}, 0, func(x, _ []vec) { f.op("FMAX", x[0], x[0], zero) })
	})
	p.kernel("sqrtV", func(f *function) {
		loop(f, 4, "dst", []string{"a"}, 0, func(x, _ []vec) { f.op1("FSQRT", x[0], x[0]) })
	})
	p.kernel("clipgradVV", func(f *function) {
		loop(f, 4, "dst", []string{"a", "b"}, 2, func(x, s []vec) {
			below, above := f.vec(), f.vec()
			f.op("FCMGT", below, s[0], x[1])
			f.op("FCMGT", above, x[1], s[1])
			f.op("ORR", below, below, above)
			f.op("BIC", x[0], x[0], below)
		})
	})
}

// multiples makes the loops that add multiples.
func multiples(p *program) {
	p.kernel("axpyV", func(f *function) {
		loop(f, 4, "dst", []string{"dst", "a"}, 1, func(x, s []vec) { f.op("FMLA", x[0], x[1], s[0]) })
	})
	p.kernel("mulAddVV", func(f *function) {
		loop(f, 4, "dst", []string{"dst", "a", "b"}, 0, func(x, _ []vec) { f.op("FMLA", x[0], x[1], x[2]) })
	})
	p.kernel("affineVS", func(f *function) {
		loop(f, 4, "dst", []string{"a"}, 2, func(x, s []vec) {
			t := f.vec()
			f.copy(t, s[1])
			f.op("FMLA", t, x[0], s[0])
			x[0] = t
		})
	})
	p.kernel("affineVV", func(f *function) {
		loop(f, 4, "dst", []string{"a", "b"}, 3, func(x, s []vec) {
			t := f.vec()
			f.copy(t, s[2])
			f.op("FMLA", t, x[0], s[0])
			f.op("FMLA", t, x[1], s[1])
			x[0] = t
		})
	})
}

// loop writes dst[i] = body(operands[i]…, s[0]…) for n floats, wide vectors at a time. The
// operands and dst are arguments; an operand may be dst. body leaves its result in x[0]; the
// scalars are those that the argument s points to, in all lanes.
func loop(f *function, wide int, dst string, operands []string, scalars int, body func(x, s []vec)) {
	pointers := map[string]reg{dst: f.arg(dst)}
	advance := []reg{pointers[dst]}
	for _, name := range operands {
		if _, ok := pointers[name]; !ok {
			pointers[name] = f.arg(name)
			advance = append(advance, pointers[name])
		}
	}
	s := f.vecsOf(scalars)
	if scalars > 0 {
		from := f.arg("s")
		for _, v := range s {
			f.line("VLD1R.P 4(%s), [V%d.S4]", from, v)
		}
	}
	f.blocks(f.arg("n"), wide, func(vectors int, single bool) {
		for v := range vectors {
			f.scope(func() {
				x := f.vecsOf(len(operands))
				for i, name := range operands {
					f.load(x[i], pointers[name], 16*v, single)
				}
				body(x, s)
				f.store(x[0], pointers[dst], 16*v, single)
			})
		}
	}, advance...)
}

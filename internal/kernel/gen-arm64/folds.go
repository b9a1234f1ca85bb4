package main

import "math"

// folds makes the reductions of whole arrays to one number, with four vector accumulators.
func folds(p *program) {
	fold(p, "sumV", false, "", func(f *function, s, x, _ vec) { f.op("FADD", s, s, x) })
	fold(p, "sumSqV", false, "", func(f *function, s, x, _ vec) { f.op("FMLA", s, x, x) })
	fold(p, "sumAbsV", false, "", func(f *function, s, x, _ vec) {
		f.op1("FABS", x, x)
		f.op("FADD", s, s, x)
	})
	fold(p, "dotV", true, "", func(f *function, s, x, y vec) { f.op("FMLA", s, x, y) })
	fold(p, "sumSqDiffV", false, "m", func(f *function, s, x, _ vec) { f.op("FMLA", s, x, x) })
	fold(p, "dotDiffV", true, "m", func(f *function, s, x, y vec) { f.op("FMLA", s, x, y) })
	p.kernel("maxV", largest)
}

// fold makes one sum over x and, if two is set, y; minus names an argument that points to a
// number to subtract from x before.
func fold(p *program, name string, two bool, minus string, add func(f *function, s, x, y vec)) {
	p.kernel(name, func(f *function) {
		n, xs := f.arg("n"), f.arg("x")
		advance := []reg{xs}
		if two {
			advance = append(advance, f.arg("y"))
		}
		all, first := vec(-1), vec(-1) // the operand to subtract, in all lanes or in the first
		if minus != "" {
			all, first = f.vec(), f.vec()
			from := f.arg(minus)
			f.spread(all, from)
			f.load(first, from, 0, true)
		}
		s := f.vecsOf(4)
		f.clear(s...)
		f.blocks(n, 4, func(vectors int, single bool) {
			for v := range vectors {
				x, y := f.vec(), f.vec()
				f.load(x, xs, 16*v, single)
				if two {
					f.load(y, advance[1], 16*v, single)
				}
				switch {
				case minus != "" && single:
					f.op("FSUB", x, x, first)
				case minus != "":
					f.op("FSUB", x, x, all)
				}
				add(f, s[v], x, y)
			}
		}, advance...)
		f.op("FADD", s[0], s[0], s[1])
		f.op("FADD", s[2], s[2], s[3])
		f.op("FADD", s[0], s[0], s[2])
		f.sum(s[0])
		f.result(s[0])
	})
}

func largest(f *function) {
	f.constants()
	n, xs := f.arg("n"), f.arg("x")
	s := f.vecsOf(4)
	for _, v := range s {
		f.constant(v, math.Inf(-1))
	}
	f.blocks(n, 4, func(vectors int, single bool) {
		for v := range vectors {
			x := f.vec()
			if single {
				f.spread(x, xs)
			} else {
				f.load(x, xs, 16*v, false)
			}
			f.op("FMAX", s[v], s[v], x)
		}
	}, xs)
	f.op("FMAX", s[0], s[0], s[1])
	f.op("FMAX", s[2], s[2], s[3])
	f.op("FMAX", s[0], s[0], s[2])
	f.op1("FMAXV", s[0], s[0])
	f.result(s[0])
}

package main

import (
	"fmt"
	"math"
	"strings"
)

// program is the assembly file being written.
type program struct {
	file   string // with the declarations
	decls  []*decl
	made   map[string]bool
	consts []uint32 // four equal lanes each
	text   strings.Builder
	err    error
}

// kernel writes the body of a declared function. A body that uses an undeclared argument ends the
// program with the first such error.
func (p *program) kernel(name string, body func(f *function)) {
	if p.err != nil {
		return
	}
	for _, d := range p.decls {
		if d.name != name {
			continue
		}
		f := &function{program: p, decl: d}
		body(f)
		f.line("RET")
		fmt.Fprintf(&p.text, "%s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n%s\n", strings.TrimSuffix(d.doc, "\n//\n//go:noescape\n"), name, frame(d), f.body.String())
		p.made[name] = true
		return
	}
	p.fail(fmt.Errorf("%s does not declare %s: without a form for amd64 there is none for arm64", p.file, name))
}

// frame returns the size of arguments and result.
func frame(d *decl) int {
	if d.result {
		return d.size + 4
	}
	return d.size
}

func (p *program) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// lanes is where the table holds four equal floats.
func (p *program) lanes(bits uint32) int {
	for i, c := range p.consts {
		if c == bits {
			return 16 * i
		}
	}
	p.consts = append(p.consts, bits)
	return 16 * (len(p.consts) - 1)
}

// table returns the constants used.
func (p *program) table() string {
	if len(p.consts) == 0 {
		return ""
	}
	var b strings.Builder
	for i, c := range p.consts {
		fmt.Fprintf(&b, "DATA neonConstants<>+%d(SB)/8, $0x%08x%08x // %v\n", 16*i, c, c, math.Float32frombits(c))
		fmt.Fprintf(&b, "DATA neonConstants<>+%d(SB)/8, $0x%08x%08x\n", 16*i+8, c, c)
	}
	fmt.Fprintf(&b, "GLOBL neonConstants<>(SB), RODATA|NOPTR, $%d\n", 16*len(p.consts))
	return b.String()
}

// reg is a general register, vec one of the 32 vector registers.
type (
	reg string
	vec int
)

// function is a kernel being written. Registers are handed out in order and given back at the
// end of a scope.
type function struct {
	*program
	*decl
	body       strings.Builder
	regs, vecs int
	labels     int
	base       reg // of the table of constants
}

func (f *function) line(format string, args ...any) {
	fmt.Fprintf(&f.body, "\t"+format+"\n", args...)
}

// label makes a new label; mark puts it here.
func (f *function) label(name string) string {
	f.labels++
	return fmt.Sprintf("%s%d", name, f.labels)
}

func (f *function) mark(label string) { fmt.Fprintf(&f.body, "%s:\n", label) }

// reg returns a register that is free: neither one of the platform's nor one of Go's.
func (f *function) reg() reg {
	r := f.regs
	f.regs++
	if r > 15 {
		r += 3
	}
	if r > 26 {
		f.fail(fmt.Errorf("%s needs too many registers", f.name))
	}
	return reg(fmt.Sprintf("R%d", r))
}

// vec returns a free vector register.
func (f *function) vec() vec {
	v := vec(f.vecs)
	f.vecs++
	if v > 31 {
		f.fail(fmt.Errorf("%s needs too many vector registers", f.name))
	}
	return v
}

func (f *function) vecsOf(n int) []vec {
	list := make([]vec, n)
	for i := range list {
		list[i] = f.vec()
	}
	return list
}

// scope releases the registers that body allocates.
func (f *function) scope(body func()) {
	regs, vecs := f.regs, f.vecs
	body()
	f.regs, f.vecs = regs, vecs
}

// arg loads an argument.
func (f *function) arg(name string) reg {
	r := f.reg()
	f.argTo(name, r)
	return r
}

func (f *function) argTo(name string, r reg) {
	at, ok := f.offset[name]
	if !ok {
		f.fail(fmt.Errorf("%s has no argument %s", f.name, name))
	}
	f.line("MOVD %s+%d(FP), %s", name, at, r)
}

// result stores lane 0 of v.
func (f *function) result(v vec) { f.line("FMOVS F%d, ret+%d(FP)", v, f.size) }

// constant loads four equal floats.
func (f *function) constant(v vec, c float64) { f.bits(v, math.Float32bits(float32(c))) }

// bits loads four equal words.
func (f *function) bits(v vec, c uint32) {
	if f.base == "" {
		f.fail(fmt.Errorf("%s uses constants but has not called constants", f.name))
	}
	f.line("FMOVQ %d(%s), F%d", f.lanes(c), f.base, v)
}

// constants prepares the use of constants; it must come before the first loop.
func (f *function) constants() {
	f.base = f.reg()
	f.line("MOVD $neonConstants<>(SB), %s", f.base)
}

// load reads four floats, or a single one and zeros above it.
func (f *function) load(v vec, p reg, offset int, single bool) {
	if single {
		f.line("FMOVS %d(%s), F%d", offset, p, v)
	} else {
		f.line("FMOVQ %d(%s), F%d", offset, p, v)
	}
}

// store writes four floats, or the first.
func (f *function) store(v vec, p reg, offset int, single bool) {
	if single {
		f.line("FMOVS F%d, %d(%s)", v, offset, p)
	} else {
		f.line("FMOVQ F%d, %d(%s)", v, offset, p)
	}
}

// spread reads one float into all lanes.
func (f *function) spread(v vec, p reg) { f.line("VLD1R (%s), [V%d.S4]", p, v) }

// clear makes a vector zero.
func (f *function) clear(v ...vec) {
	for _, x := range v {
		f.line("VEOR V%d.B16, V%d.B16, V%d.B16", x, x, x)
	}
}

func (f *function) copy(to, from vec) { f.line("VMOV V%d.B16, V%d.B16", from, to) }

// add adds a constant number of bytes to pointers.
func (f *function) add(bytes int, pointers ...reg) {
	for _, p := range pointers {
		f.line("ADD $%d, %s", bytes, p)
	}
}

// countdown writes a loop of n ≥ 1 iterations; it clobbers n.
func (f *function) countdown(n reg, body func()) {
	loop := f.label("loop")
	f.mark(loop)
	body()
	f.line("SUBS $1, %s", n)
	f.line("BNE %s", loop)
}

// blocks writes a loop over n floats, in blocks of 4*wide, of 4 and of one; it clobbers n. body
// receives the number of vectors, of which the only one has a single lane in the last case.
func (f *function) blocks(n reg, wide int, body func(vectors int, single bool), advance ...reg) {
	end := f.label("end")
	for _, piece := range []struct {
		floats, vectors int
	}{{4 * wide, wide}, {4, 1}, {1, 1}} {
		if piece.floats == 4 && wide == 1 {
			continue
		}
		loop, next := f.label("loop"), f.label("next")
		f.line("SUBS $%d, %s", piece.floats, n)
		f.line("BLT %s", next)
		f.mark(loop)
		f.scope(func() { body(piece.vectors, piece.floats == 1) })
		f.add(4*piece.floats, advance...)
		f.line("SUBS $%d, %s", piece.floats, n)
		f.line("BGE %s", loop)
		f.mark(next)
		f.line("ADDS $%d, %s", piece.floats, n)
		if piece.floats > 1 {
			f.line("BEQ %s", end)
		}
	}
	f.mark(end)
}

package main

import "fmt"

// Go's assembler supports few of the floating-point vector instructions: they are written
// as words. The encodings are those of the Arm Architecture Reference Manual for A-profile,
// section C7.2, for vectors of four 32-bit lanes (.4S) unless the name says otherwise.

// threeSame are instructions d = n op m; those that end in + read d as well.
var threeSame = map[string]uint32{
	"FADD":    0x4e20d400,
	"FSUB":    0x4ea0d400,
	"FMUL":    0x6e20dc00,
	"FDIV":    0x6e20fc00,
	"FMAX":    0x4e20f400, // NaN if either is NaN
	"FMIN":    0x4ea0f400, // NaN if either is NaN
	"FMLA":    0x4e20cc00, // d += n*m
	"FMLS":    0x4ea0cc00, // d -= n*m
	"FADDP":   0x6e20d400, // sums of neighbours: n's, then m's
	"FCMEQ":   0x4e20e400, // all ones where n == m
	"FCMGE":   0x6e20e400,
	"FCMGT":   0x6ea0e400,
	"ADD":     0x4ea08400,
	"SUB":     0x6ea08400,
	"AND":     0x4e201c00,
	"BIC":     0x4e601c00, // n and not m
	"ORR":     0x4ea01c00,
	"EOR":     0x6e201c00,
	"BSL":     0x6e601c00, // n where d has ones, else m
	"BIT":     0x6ea01c00, // d becomes n where m has ones
	"ZIP1":    0x4e803800,
	"ZIP2":    0x4e807800,
	"UZP1":    0x4e801800,
	"UZP2":    0x4e805800,
	"ZIP1.2D": 0x4ec03800,
	"ZIP2.2D": 0x4ec07800,
}

// twoRegister are instructions d = op n.
var twoRegister = map[string]uint32{
	"FRINTN": 0x4e218800, // to the nearest integer, ties to even
	"FCVTNS": 0x4e21a800, // the same, as an int32
	"SCVTF":  0x4e21d800, // from int32
	"FSQRT":  0x6ea1f800,
	"FABS":   0x4ea0f800,
	"FNEG":   0x6ea0f800,
	"FMAXV":  0x6e30f800, // the largest lane, NaN if any is NaN, into lane 0
}

func (f *function) word(w uint32, format string, args ...any) {
	f.line("WORD $0x%08x // %s", w, fmt.Sprintf(format, args...))
}

// op writes d = n op m.
func (f *function) op(name string, d, n, m vec) {
	w, ok := threeSame[name]
	if !ok {
		f.fail(fmt.Errorf("no instruction %s of three vectors", name))
	}
	f.word(w|uint32(m)<<16|uint32(n)<<5|uint32(d), "%s V%d, V%d, V%d", name, d, n, m)
}

// op1 writes d = op n.
func (f *function) op1(name string, d, n vec) {
	w, ok := twoRegister[name]
	if !ok {
		f.fail(fmt.Errorf("no instruction %s of two vectors", name))
	}
	f.word(w|uint32(n)<<5|uint32(d), "%s V%d, V%d", name, d, n)
}

// mulAddLane writes d += n*m[lane].
func (f *function) mulAddLane(d, n, m vec, lane int) {
	w := 0x4f801000 | uint32(lane&1)<<21 | uint32(lane>>1)<<11
	f.word(w|uint32(m)<<16|uint32(n)<<5|uint32(d), "FMLA V%d, V%d, V%d.S[%d]", d, n, m, lane)
}

// shiftLeft and shiftRight shift lanes by a constant; right fills with zeros, or the sign.
func (f *function) shiftLeft(d, n vec, by int) {
	f.word(0x4f005400|uint32(32+by)<<16|uint32(n)<<5|uint32(d), "SHL V%d, V%d, $%d", d, n, by)
}

func (f *function) shiftRight(d, n vec, by int, signed bool) {
	w, name := uint32(0x6f000400), "USHR"
	if signed {
		w, name = 0x4f000400, "SSHR"
	}
	f.word(w|uint32(64-by)<<16|uint32(n)<<5|uint32(d), "%s V%d, V%d, $%d", name, d, n, by)
}

// sum adds up the lanes of v, into all of its lanes.
func (f *function) sum(v vec) {
	f.op("FADDP", v, v, v)
	f.op("FADDP", v, v, v)
}

// Command gen writes the amd64 assembly of package optim. It is run by go generate.
//
// The kernels perform the same operations in the same order as the Go code,
// without fused multiply-adds, so that both have the same bits. That costs no
// time: updates are bound by memory, not by arithmetic.
package main

import (
	"encoding/binary"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego")
	sgd()
	adam()
	Generate()
}

// loop emits a loop over n elements, a multiple of 8. load reads the vector at
// the current position of an argument, store writes it. Lines that are written
// are prefetched for writing: other processors have read the weights, and to
// acquire ownership of a cache line at the first write takes long.
func loop(args, written []string, body func(load func(string) reg.VecVirtual, store func(reg.VecVirtual, string))) {
	n := Load(Param("n"), GP64())
	registers := []reg.GPPhysical{reg.RAX, reg.RCX, reg.RDX, reg.RBX}
	at := map[string]reg.GPPhysical{}
	for q, a := range args {
		at[a] = registers[q]
		Load(Param(a), at[a])
	}
	i := reg.RDI
	XORQ(i, i)
	place := func(a string) Mem { return Mem{Base: at[a], Index: i, Scale: 4} }
	JMP(LabelRef("test"))
	Label("next")
	for _, a := range written {
		prefetchForWriting(at[a], i, 1024)
	}
	body(func(a string) reg.VecVirtual {
		v := YMM()
		VMOVUPS(place(a), v)
		return v
	}, func(v reg.VecVirtual, a string) { VMOVUPS(v, place(a)) })
	ADDQ(Imm(8), i)
	Label("test")
	CMPQ(i, n)
	JLT(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// prefetchForWriting emits PREFETCHW disp(base)(index*4), which Go's assembler lacks.
// base and index must be among the first eight registers, base neither RSP nor RBP and
// index not RSP. Processors without the instruction ignore it.
func prefetchForWriting(base, index reg.GPPhysical, disp uint32) {
	const (
		withDisp32 = 0b10_001_100 // ModRM: operand with SIB byte and 32-bit displacement; reg 1 is PREFETCHW
		times4     = 0b10_000_000
	)
	code := []byte{0x0f, 0x0d, withDisp32, times4 | byte(index.PhysicalIndex())<<3 | byte(base.PhysicalIndex())}
	for _, b := range binary.LittleEndian.AppendUint32(code, disp) {
		Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []Op{Imm(uint64(b))}})
	}
}

// factors broadcasts the numbers of argument k to registers.
func factors(count int) []reg.VecVirtual {
	k := Load(Param("k"), GP64())
	out := make([]reg.VecVirtual, count)
	for i := range out {
		out[i] = YMM()
		VBROADCASTSS(Mem{Base: k, Disp: 4 * i}, out[i])
	}
	return out
}

func mul(x, y reg.VecVirtual) reg.VecVirtual { z := YMM(); VMULPS(y, x, z); return z }
func add(x, y reg.VecVirtual) reg.VecVirtual { z := YMM(); VADDPS(y, x, z); return z }
func sub(x, y reg.VecVirtual) reg.VecVirtual { z := YMM(); VSUBPS(y, x, z); return z }
func div(x, y reg.VecVirtual) reg.VecVirtual { z := YMM(); VDIVPS(y, x, z); return z }
func sqrt(x reg.VecVirtual) reg.VecVirtual   { z := YMM(); VSQRTPS(x, z); return z }

func sgd() {
	TEXT("sgdVec", NOSPLIT, "func(n int, w, grad, b *float32, k *[4]float32)")
	Pragma("noescape")
	Doc("sgdVec is SGD with momentum; k is lr, decay, momentum, take; n is a multiple of 8.")
	k := factors(4)
	lr, decay, momentum, take := k[0], k[1], k[2], k[3]
	loop([]string{"w", "grad", "b"}, []string{"w", "b"}, func(load func(string) reg.VecVirtual, store func(reg.VecVirtual, string)) {
		x := load("w")
		d := add(load("grad"), mul(decay, x))
		v := add(mul(momentum, load("b")), mul(take, d))
		store(v, "b")
		store(sub(x, mul(lr, v)), "w")
	})
}

func adam() {
	TEXT("adamVec", NOSPLIT, "func(n int, w, grad, m, v *float32, k *[9]float32)")
	Pragma("noescape")
	Doc("adamVec is Adam; k is keep, l2, beta1, take1, beta2, take2, rate, unbias, eps; n is a multiple of 8.")
	k := factors(9)
	keep, l2, beta1, take1, beta2, take2, rate, unbias, eps := k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8]
	loop([]string{"w", "grad", "m", "v"}, []string{"w", "m", "v"}, func(load func(string) reg.VecVirtual, store func(reg.VecVirtual, string)) {
		x := load("w")
		d := add(load("grad"), mul(l2, x))
		m := add(mul(beta1, load("m")), mul(take1, d))
		store(m, "m")
		v := add(mul(beta2, load("v")), mul(mul(take2, d), d))
		store(v, "v")
		u := div(mul(rate, m), add(mul(sqrt(v), unbias), eps))
		store(sub(mul(x, keep), u), "w")
	})
}

// Command gen writes the amd64 assembly of package kernel. It is run by go generate.
package main

import (
	"flag"
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// part selects another file to write than that of the general kernels.
var part = flag.String("part", "", "empty, blocks, conv, depth, fused, norm, pool, strides or winograd")

func main() {
	flag.Parse()
	ConstraintExpr("!purego")
	tailMask()
	if *part == "depth" {
		depthwise()
		Generate()
		portable("depthasm_portable.go", "!amd64 || purego")
		return
	}
	if *part == "fused" {
		activations()
		bentLines()
		steps()
		waves()
		casts()
		powers()
		lstm()
		gru()
		layerRows()
		softmaxes()
		Generate()
		portable("fusedasm_portable.go", "!amd64 || purego")
		return
	}
	if *part == "norm" {
		normalization()
		shortRows()
		resample()
		otherFolds()
		Generate()
		portable("normasm_portable.go", "!amd64 || purego")
		return
	}
	if *part == "blocks" {
		packingGemm()
		packBlocks(6)
		packBlocks(12)
		wide()
		peak()
		Generate()
		portable("blockasm_portable.go", "!amd64 || purego")
		return
	}
	if *part == "conv" {
		convolution()
		Generate()
		portable("convasm_portable.go", "(!amd64 && !arm64) || purego")
		return
	}
	if *part == "pool" {
		pools()
		Generate()
		portable("poolasm_portable.go", "!amd64 || purego")
		return
	}
	if *part == "strides" {
		strides()
		Generate()
		portable("stridesasm_portable.go", "!amd64 || purego")
		return
	}
	if *part == "winograd" {
		winograd()
		Generate()
		portable("winograd_portable.go", "!amd64 || purego")
		return
	}
	gemm()
	pack()
	latticeRows()
	rows()
	elementwise()
	transcendental()
	folds()
	spin()
	Generate()
	portable("asm_portable.go", "(!amd64 && !arm64) || purego")
}

// spin is the body of a busy-waiting loop.
func spin() {
	TEXT("pauseAsm", NOSPLIT, "func()")
	Doc("pauseAsm tells the processor that this is a spin loop.")
	for range 4 {
		PAUSE()
	}
	RET()
}

// lanes holds the constants made so far: eight equal float32 or int32 each, so
// that they can be memory operands of vector instructions.
var lanes = map[uint32]Mem{}

func lanesOf(bits uint32) Mem {
	if m, ok := lanes[bits]; ok {
		return m
	}
	m := GLOBL(fmt.Sprintf("c%08x", bits), RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(bits))
	}
	lanes[bits] = m
	return m
}

// f8 is a vector constant of eight equal floats.
func f8(v float64) Mem { return lanesOf(math.Float32bits(float32(v))) }

// i8 is a vector constant of eight equal 32-bit integers.
func i8(v int32) Mem { return lanesOf(uint32(v)) }

var maskTable Mem

// tailMask makes the table whose eight entries from index 8-r on select the first r lanes.
func tailMask() {
	maskTable = GLOBL("tailmask", RODATA|NOPTR)
	for i := range 16 {
		v := uint32(0xffffffff)
		if i >= 8 {
			v = 0
		}
		DATA(4*i, U32(v))
	}
}

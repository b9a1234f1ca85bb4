// Command gen writes the amd64 assembly of the kernels, one file for each subject. It is run by go generate.
package main

import (
	"flag"
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// part selects the file to write.
var part = flag.String("part", "", "a name in parts")

// parts are the assembly files, by the family of their kernels.
var parts = map[string]struct {
	make func()
	neon bool // gen-arm64 writes some of the kernels, too
}{
	"pause":       {spin, true},
	"vector":      {func() { multiples(); folds(); otherFolds() }, true},
	"elementwise": {func() { elementwise(); transcendental() }, true},
	"functions": {func() {
		activations()
		piecewise()
		steps()
		trigonometric()
		casts()
		powers()
		scaleRowsBy()
	}, false},
	"gemm":      {func() { gemm(); pack(); axpy4(); dot4() }, true},
	"gemmwide":  {func() { packingGemm(); packBlocks(6); packBlocks(12); wide() }, false},
	"peak":      {peak, false},
	"transpose": {transposeRows8, true},
	"im2col":    {im2colRows, false},
	"taps":      {func() { split2(); taps(); tapDots(); tapMax() }, true},
	"convtile":  {convolution, true},
	"depthwise": {depthwise, false},
	"winograd":  {winograd, false},
	"strides":   {strides, false},
	"pooling":   {pools, false},
	"norm":      {func() { normalization(); layerRows() }, false},
	"softmax":   {softmaxes, false},
	"recurrent": {func() { lstm(); gru() }, false},
	"reduce":    {meanRows, false},
	"resample":  {resample, false},
}

func main() {
	flag.Parse()
	p, ok := parts[*part]
	if !ok {
		fatal(fmt.Errorf("gen: no part %q", *part))
	}
	ConstraintExpr("!purego")
	tailMask()
	p.make()
	Generate()
	builds := "!amd64 || purego"
	if p.neon {
		builds = "(!amd64 && !arm64) || purego"
	}
	portable(*part+"_portable.go", builds)
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

// f8 returns a vector constant of eight equal floats.
func f8(v float64) Mem { return lanesOf(math.Float32bits(float32(v))) }

// i8 returns a vector constant of eight equal 32-bit integers.
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

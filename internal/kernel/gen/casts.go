package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// castBlock is the number of elements that the loops of casts process at a time.
const castBlock = 16

// cast is a kernel that changes the element type. It stops at the first block in which f finds a number
// that it cannot convert, and before the last elements that do not fill a block.
type cast struct {
	name     string
	from, to element
	f        func(src, dst Mem) // converts eight elements, or jumps to the label stop
}

// element is a type as Go names it.
type element struct {
	name string
	size int
}

var (
	byteElement   = element{"uint8", 1}
	wordElement   = element{"uint16", 2}
	singleElement = element{"float32", 4}
	doubleElement = element{"float64", 8}
	longElement   = element{"int64", 8}
)

// casts generates the conversions between element types. They are limited by memory: wider registers than
// those of AVX2 do not make them faster.
func casts() {
	current = narrow
	for _, c := range []cast{
		{"float16ToFloat32", wordElement, singleElement, func(src, dst Mem) {
			x := vector()
			VCVTPH2PS(src, x)
			VMOVUPS(x, dst)
		}},
		{"float32ToFloat16", singleElement, wordElement, func(src, dst Mem) {
			x := vector()
			VMOVUPS(src, x)
			plainNaN(x)
			VCVTPS2PH(Imm(0), x, dst) // to the nearest, ties to even
		}},
		{"bfloat16ToFloat32", wordElement, singleElement, func(src, dst Mem) {
			x := vector()
			VPMOVZXWD(src, x)
			VPSLLD(Imm(16), x, x)
			VMOVUPS(x, dst)
		}},
		{"float32ToBFloat16", singleElement, wordElement, func(src, dst Mem) {
			x := vector()
			VMOVUPS(src, x)
			storeUpperHalves(x, dst)
		}},
		{"float64ToFloat32", doubleElement, singleElement, func(src, dst Mem) {
			for range 2 {
				x, y := YMM(), XMM()
				VMOVUPS(src, x)
				VCVTPD2PSY(x, y)
				VMOVUPS(y, dst)
				src, dst = src.Offset(32), dst.Offset(16)
			}
		}},
		{"float32ToFloat64", singleElement, doubleElement, func(src, dst Mem) {
			for range 2 {
				x := YMM()
				VCVTPS2PD(src, x)
				VMOVUPS(x, dst)
				src, dst = src.Offset(16), dst.Offset(32)
			}
		}},
		{"int64ToFloat32", longElement, singleElement, func(src, dst Mem) {
			x := loadShort(src)
			VCVTDQ2PS(x, x)
			VMOVUPS(x, dst)
		}},
		{"float32ToInt64", singleElement, longElement, func(src, dst Mem) {
			x, none := YMM(), YMM()
			VCVTTPS2DQ(src, x)
			VPCMPEQD(i8(signBit), x, none) // the result for numbers out of range
			VPTEST(none, none)
			JNZ(LabelRef("stop"))
			storeLong(x, dst)
		}},
		{"uint8ToFloat32", byteElement, singleElement, func(src, dst Mem) {
			x := vector()
			VPMOVZXBD(src, x)
			VCVTDQ2PS(x, x)
			VMOVUPS(x, dst)
		}},
		{"uint8ToInt64", byteElement, longElement, func(src, dst Mem) {
			for range 2 {
				x := YMM()
				VPMOVZXBQ(src, x)
				VMOVUPS(x, dst)
				src, dst = src.Offset(4), dst.Offset(32)
			}
		}},
	} {
		c.write()
	}
}

func (c cast) write() {
	TEXT(c.name, NOSPLIT, fmt.Sprintf("func(n int, dst *%s, src *%s) (done int)", c.to.name, c.from.name))
	Doc(fmt.Sprintf("%s converts elements in blocks of %d, as long as it can, and tells how many it has converted.", c.name, castBlock))
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	done := GP64()
	XORQ(done, done)
	SUBQ(Imm(castBlock), n)
	Label("block")
	CMPQ(done, n)
	JGT(LabelRef("stop"))
	for i := range castBlock / 8 {
		c.f(Mem{Base: src, Disp: 8 * i * c.from.size}, Mem{Base: dst, Disp: 8 * i * c.to.size})
	}
	ADDQ(Imm(uint64(castBlock*c.from.size)), src)
	ADDQ(Imm(uint64(castBlock*c.to.size)), dst)
	ADDQ(Imm(castBlock), done)
	JMP(LabelRef("block"))
	Label("stop")
	VZEROUPPER()
	Store(done, ReturnIndex(0))
	RET()
}

// plainNaN sets all bits of NaN to those of the usual one, but for the sign.
func plainNaN(x vec) {
	sign := vector()
	andC(i8(signBit), x, sign)
	orC(i8(0x7fc00000), sign, sign)
	blend(compare(x, unordered, x), sign, x)
}

// storeUpperHalves rounds the bits of eight floats to the upper sixteen, ties to even.
func storeUpperHalves(x vec, dst Mem) {
	odd := vector()
	plainNaN(x)
	nan := compare(x, unordered, x)
	VPSRLD(Imm(16), x, odd)
	andC(i8(1), odd, odd)
	VPADDD(i8(0x7fff), odd, odd)
	VPANDN(odd, nan, odd)
	VPADDD(odd, x, x)
	VPSRLD(Imm(16), x, x)
	VPACKUSDW(x, x, x)
	VPERMQ(Imm(0xd8), x, x)
	VMOVUPS(x.AsX(), dst)
}

// loadShort reads eight int64 as int32; it jumps to stop where one is too large.
func loadShort(src Mem) vec {
	x, upper, rest, sign := YMM(), YMM(), YMM(), YMM()
	VMOVUPS(src, x)
	VMOVUPS(src.Offset(32), rest)
	VSHUFPS(Imm(0xdd), rest, x, upper)
	VSHUFPS(Imm(0x88), rest, x, x)
	VPSRAD(Imm(31), x, sign)
	VPXOR(sign, upper, upper)
	VPTEST(upper, upper)
	JNZ(LabelRef("stop"))
	VPERMQ(Imm(0xd8), x, x)
	return x
}

// storeLong writes eight int32 as int64.
func storeLong(x reg.VecVirtual, dst Mem) {
	low, high := YMM(), XMM()
	VPMOVSXDQ(x.AsX(), low)
	VMOVUPS(low, dst)
	VEXTRACTI128(Imm(1), x, high)
	VPMOVSXDQ(high, low)
	VMOVUPS(low, dst.Offset(32))
}

package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// winogradProducts makes the matrix products of points. Unlike the general micro-kernels they go on
// to the next rows by themselves, and know one stride of the left operand.
func winogradProducts() {
	for _, transposed := range []bool{false, true} {
		for _, rows := range []int{12, 8, 4} {
			winogradProduct(16, rows, 2, transposed)
			winogradProduct(16, rows, 1, transposed)
		}
		for _, rows := range []int{6, 4} {
			winogradProduct(8, rows, 1, transposed)
		}
	}
}

// winogradProduct: a column panel is 16 columns. Of the left operand, rows are a stride apart and columns are
// together or, if transposed, rows are contiguous and columns are a stride apart.
func winogradProduct(lanes, rows, colPanels int, transposed bool) {
	name, left := "Rows", "a[i*stride+k]"
	if transposed {
		name, left = "Columns", "a[i+k*stride]"
	}
	if lanes == 16 {
		name += "Wide"
	}
	width := 16 / lanes * colPanels // in vectors
	TEXT(fmt.Sprintf("winograd%s%dx%d", name, rows, 16*colPanels), NOSPLIT,
		"func(blocks, kc int, a *float32, stride int, b, b2 *float32, rsB int, c *float32, ldc int, add, nextA, nextB int)")
	Doc(fmt.Sprintf("winograd%s%dx%d sets %d*blocks rows of column panels of c, or adds to them if add is not 0: Σ %s*b[k*rsB+j]; strides are in bytes. What is stored nextA and nextB bytes after the operands is fetched for the next product.", name, rows, 16*colPanels, rows, left))
	Pragma("noescape")
	v := newVectors(lanes)
	first := Load(Param("a"), GP64())
	stride := Load(Param("stride"), GP64())
	rsB := Load(Param("rsB"), GP64())
	c := Load(Param("c"), GP64())
	kc, b, apart := GP64(), GP64(), GP64()
	nextA, nextB := Load(Param("nextA"), GP64()), Load(Param("nextB"), GP64())
	if colPanels == 2 {
		Load(Param("b2"), apart)
		Load(Param("b"), b)
		SUBQ(b, apart)
	}
	bases := []reg.Register{GP64()}
	if !transposed {
		for range (rows - 1) / 3 {
			bases = append(bases, GP64())
		}
	}
	acc := make([][4]reg.VecVirtual, rows)
	var right [4]reg.VecVirtual
	for j := range width {
		right[j] = v.new()
		for i := range acc {
			acc[i][j] = v.new()
		}
	}
	factors := []reg.VecVirtual{v.new(), v.new()}
	at := func(i, k int) Mem {
		if transposed {
			return Mem{Base: bases[0], Disp: 4 * i}
		}
		m := Mem{Base: bases[i/3], Disp: 4 * k}
		if i%3 > 0 {
			m.Index, m.Scale = stride, uint8(i%3)
		}
		return m
	}
	// fetch asks for rows of the next left operand, which are as those at hand do.
	fetch := func() {
		for i := 0; i < rows; i += 3 {
			next := GP64()
			LEAQ(Mem{Base: bases[i/3], Index: nextA, Scale: 1}, next)
			for q := range min(3, rows-i) {
				m := Mem{Base: next}
				if q > 0 {
					m.Index, m.Scale = stride, uint8(q)
				}
				PREFETCHT0(m)
			}
		}
	}
	steps := func(n int) {
		if n > 1 && !transposed {
			fetch()
		}
		for k := range n {
			for j := range width {
				m := Mem{Base: b, Disp: 4 * lanes * j}
				if j*lanes >= 16 {
					m = Mem{Base: b, Index: apart, Scale: 1}
				}
				VMOVUPS(m, right[j])
			}
			if transposed {
				PREFETCHT0(Mem{Base: bases[0], Index: nextA, Scale: 1})
			}
			next := GP64()
			LEAQ(Mem{Base: b, Index: nextB, Scale: 1}, next)
			PREFETCHT0(Mem{Base: next})
			if colPanels == 2 {
				PREFETCHT0(Mem{Base: next, Index: apart, Scale: 1})
			}
			for i := range rows {
				VBROADCASTSS(at(i, k), factors[i%2])
				for j := range width {
					VFMADD231PS(right[j], factors[i%2], acc[i][j])
				}
			}
			if transposed {
				ADDQ(stride, bases[0])
			}
			ADDQ(rsB, b)
		}
		if !transposed {
			for _, r := range bases {
				ADDQ(Imm(uint64(4*n)), r)
			}
		}
	}
	Label("block")
	Load(Param("kc"), kc)
	Load(Param("b"), b)
	MOVQ(first, bases[0])
	if len(bases) > 1 {
		three := GP64()
		LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
		for i := range bases[1:] {
			LEAQ(Mem{Base: bases[i], Index: three, Scale: 1}, bases[i+1])
		}
	}
	for i := range acc {
		for j := range width {
			v.clear(acc[i][j])
		}
	}
	unrolled(kc, steps)
	add, row, ldc := GP64(), GP64(), GP64()
	Load(Param("add"), add)
	Load(Param("ldc"), ldc)
	place := func(j int) Mem { return Mem{Base: row, Disp: 4 * lanes * j} }
	MOVQ(c, row)
	TESTQ(add, add)
	JZ(LabelRef("store"))
	for i := range acc {
		for j := range width {
			VADDPS(place(j), acc[i][j], acc[i][j])
		}
		ADDQ(ldc, row)
	}
	MOVQ(c, row)
	Label("store")
	for i := range acc {
		for j := range width {
			VMOVUPS(acc[i][j], place(j))
		}
		ADDQ(ldc, row)
	}
	MOVQ(row, c)
	if transposed {
		ADDQ(Imm(uint64(4*rows)), first)
	} else {
		for range rows {
			ADDQ(stride, first)
		}
	}
	blocks, err := Param("blocks").Resolve()
	if err != nil {
		panic(err)
	}
	DECQ(blocks.Addr)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}

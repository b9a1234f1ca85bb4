package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// softmaxes makes softmax and its gradient, a row at a time.
func softmaxes() {
	softmaxRow()
	softmaxRowGrad()
	logSoftmaxRow()
	logSoftmaxRowGrad()
	expSubSum()
}

// over writes a pass over rows of n elements. body gets each vector, and at is where that is in an array.
func over(name string, n reg.Register, body func(v int, k mask, at func(array reg.Register) Mem)) {
	pass = name
	defer func() { pass = "" }()
	left, offset := GP64(), GP64()
	MOVQ(n, left)
	XORQ(offset, offset)
	blocks(left, 2, func(vectors int, k mask) {
		for v := range vectors {
			body(v, k, func(array reg.Register) Mem {
				return Mem{Base: array, Index: offset, Scale: 1, Disp: current.bytes() * v}
			})
		}
	}, func(bytes int) { ADDQ(U32(uint32(bytes)), offset) })
}

// spread returns a register with the lowest number of x in all lanes.
func spread(x reg.VecVirtual) vec {
	y := vector()
	VBROADCASTSS(x, y)
	return y
}

// smallest is where exp ends being a normal number. What is below, as all that a mask hides does, counts as
// 0: the processor takes a hundred times as long for subnormal numbers.
const smallest = -87

// softmaxRow goes over the row three times: it is in the first cache level.
func softmaxRow() {
	TEXT("softmaxRowV", NOSPLIT, "func(n int, dst, a, mask, scale *float32)")
	Doc("softmaxRowV sets dst[i] to exp(x[i] - max x) / Σ exp(x - max x) with x[i] = *scale*a[i] + mask[i]; mask may be nil.")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	p := arguments("dst", "a", "mask", "scale")
	dst, a, added, scale := p[0], p[1], p[2], p[3]
	bothWidths(func() {
		s := broadcast(scale, 1)[0]
		top := []vec{constant(minusInf), constant(minusInf)}
		scores := func(name string, masked bool) {
			over(name, n, func(v int, k mask, at func(array reg.Register) Mem) {
				x := vector()
				load(at(a), k, x)
				VMULPS(s, x, x)
				if masked {
					y := vector()
					load(at(added), k, y)
					VADDPS(y, x, x)
				}
				store(x, k, at(dst))
				if k != nil {
					y := constant(minusInf)
					blend(k, x, y)
					x = y
				}
				VMAXPS(x, top[v], top[v])
			})
		}
		TESTQ(added, added)
		JZ(LabelRef(label("plain")))
		scores("Masked", true)
		JMP(LabelRef(label("scored")))
		Label(label("plain"))
		scores("Plain", false)
		Label(label("scored"))
		most, sums := spread(across(top, VMAXPS)), cleared(2)
		over("Exp", n, func(v int, k mask, at func(array reg.Register) Mem) {
			x := vector()
			load(at(dst), k, x)
			VSUBPS(most, x, x)
			seen := compare(x, greaterOrUnordered, constant(smallest))
			VMAXPS(x, constant(smallest), x) // in this order NaN stays
			e := exp(x)
			keep(seen, e)
			store(e, k, at(dst))
			if k != nil {
				keep(k, e)
			}
			VADDPS(e, sums[v], sums[v])
		})
		total := across(sums, VADDPS)
		VDIVSS(total, constant(1).AsX(), total)
		inverse := spread(total)
		over("Divide", n, func(_ int, k mask, at func(array reg.Register) Mem) {
			x := vector()
			load(at(dst), k, x)
			VMULPS(inverse, x, x)
			store(x, k, at(dst))
		})
	}, nil)
}

func softmaxRowGrad() {
	TEXT("softmaxRowGradV", NOSPLIT, "func(n int, dst, dy, y, scale *float32)")
	Doc("softmaxRowGradV sets dst[i] = *scale * y[i]*(dy[i] - Σ dy*y).")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	p := arguments("dst", "dy", "y", "scale")
	dst, dy, y, scale := p[0], p[1], p[2], p[3]
	bothWidths(func() {
		sums := cleared(2)
		over("Dot", n, func(v int, k mask, at func(array reg.Register) Mem) {
			d, x := vector(), vector()
			load(at(dy), k, d)
			load(at(y), k, x)
			VFMADD231PS(d, x, sums[v])
		})
		sum, s := spread(across(sums, VADDPS)), broadcast(scale, 1)[0]
		over("Mix", n, func(_ int, k mask, at func(array reg.Register) Mem) {
			d, x := vector(), vector()
			load(at(dy), k, d)
			load(at(y), k, x)
			VSUBPS(sum, d, d)
			VMULPS(x, d, d)
			VMULPS(s, d, d)
			store(d, k, at(dst))
		})
	}, nil)
}

func logSoftmaxRow() {
	TEXT("logSoftmaxRowV", NOSPLIT, "func(n int, dst, a *float32)")
	Doc("logSoftmaxRowV sets dst[i] to a[i] - max a - log Σ exp(a - max a).")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	p := arguments("dst", "a")
	dst, a := p[0], p[1]
	bothWidths(func() {
		top := []vec{constant(minusInf), constant(minusInf)}
		over("Max", n, func(v int, k mask, at func(array reg.Register) Mem) {
			x := vector()
			load(at(a), k, x)
			if k != nil {
				y := constant(minusInf)
				blend(k, x, y)
				x = y
			}
			VMAXPS(x, top[v], top[v])
		})
		most, sums := spread(across(top, VMAXPS)), cleared(2)
		over("Sum", n, func(v int, k mask, at func(array reg.Register) Mem) {
			x := vector()
			load(at(a), k, x)
			VSUBPS(most, x, x)
			e := exp(x)
			if k != nil {
				keep(k, e)
			}
			VADDPS(e, sums[v], sums[v])
		})
		total := log(spread(across(sums, VADDPS)))
		over("Log", n, func(_ int, k mask, at func(array reg.Register) Mem) {
			x := vector()
			load(at(a), k, x)
			VSUBPS(most, x, x) // in two steps: their sum could lose the logarithm's digits
			VSUBPS(total, x, x)
			store(x, k, at(dst))
		})
	}, nil)
}

func logSoftmaxRowGrad() {
	TEXT("logSoftmaxRowGradV", NOSPLIT, "func(n int, dst, dy, y *float32)")
	Doc("logSoftmaxRowGradV sets dst[i] = dy[i] - exp(y[i]) * Σ dy.")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	p := arguments("dst", "dy", "y")
	dst, dy, y := p[0], p[1], p[2]
	bothWidths(func() {
		sums := cleared(2)
		over("Sum", n, func(v int, k mask, at func(array reg.Register) Mem) {
			d := vector()
			load(at(dy), k, d)
			VADDPS(d, sums[v], sums[v])
		})
		sum := spread(across(sums, VADDPS))
		over("Mix", n, func(_ int, k mask, at func(array reg.Register) Mem) {
			d, x := vector(), vector()
			load(at(dy), k, d)
			load(at(y), k, x)
			VFNMADD231PS(exp(x), sum, d)
			store(d, k, at(dst))
		})
	}, nil)
}

func expSubSum() {
	TEXT("expSubSum", NOSPLIT, "func(n int, dst, a, s *float32) float32")
	Doc("expSubSum sets dst[i] = exp(a[i] - *s) and returns the sum of dst.")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	p := arguments("dst", "a")
	scalar := Load(Param("s"), GP64())
	result := XMM()
	bothWidths(func() {
		s := broadcast(scalar, 1)[0]
		sums := cleared(2)
		blocks(n, 2, func(vectors int, k mask) {
			for v := range vectors {
				x := vector()
				load(Mem{Base: p[1], Disp: current.bytes() * v}, k, x)
				VSUBPS(s, x, x)
				e := exp(x)
				store(e, k, Mem{Base: p[0], Disp: current.bytes() * v})
				if k != nil {
					keep(k, e)
				}
				VADDPS(e, sums[v], sums[v])
			}
		}, advanced(p))
		VMOVAPS(across(sums, VADDPS), result)
	}, func() { Store(result, ReturnIndex(0)) })
}

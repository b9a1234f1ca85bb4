package matmul

import "github.com/graft-ml/graft/internal/kernel"

// Operations of the micro-kernel after multiplication, in this order.
const (
	FlagAdd   = 1 << iota // add C
	flagBias              // add bias[row]
	flagRelu              // clip below 0, which comes last
	flagShift             // add bias[column]; not together with flagBias
)

// Micro computes a block of rows×nr results from kc columns of a and kc rows of b. Rows from mr on,
// which only processors with wide registers support, are in a2.
func Micro[T kernel.Float](rows, kc int, a, a2 []T, rsA, csA int, b []T, rsB int, c []T, ldc, flags int, bias []T) {
	_ = a[(min(rows, MR)-1)*rsA+(kc-1)*csA]
	_ = b[(kc-1)*rsB+NR-1]
	_ = c[(rows-1)*ldc+NR-1]
	if !kernel.Has(kernel.BlockGroup) || !kernel.IsFloat32[T]() {
		microGo(rows, kc, a, rsA, csA, b, rsB, c, ldc, flags, bias)
		return
	}
	pa, pb, pc := &kernel.Float32s(a)[0], &kernel.Float32s(b)[0], &kernel.Float32s(c)[0]
	pbias := pa
	if flags&(flagBias|flagShift) != 0 {
		pbias = &kernel.Float32s(bias)[:biasLen(rows, NR, flags)][0]
	}
	rsA, csA, rsB, ldc = rsA*4, csA*4, rsB*4, ldc*4
	if rows > MR {
		_ = a2[((rows-MR-1)*rsA+(kc-1)*csA)/4]
		tallKernels[rows](kc, pa, &kernel.Float32s(a2)[0], rsA, csA, pb, rsB, pc, ldc, flags, pbias)
		return
	}
	switch rows {
	case 1:
		micro1x16(kc, pa, rsA, csA, pb, rsB, pc, ldc, flags, pbias)
	case 2:
		micro2x16(kc, pa, rsA, csA, pb, rsB, pc, ldc, flags, pbias)
	case 3:
		micro3x16(kc, pa, rsA, csA, pb, rsB, pc, ldc, flags, pbias)
	case 4:
		micro4x16(kc, pa, rsA, csA, pb, rsB, pc, ldc, flags, pbias)
	case 5:
		micro5x16(kc, pa, rsA, csA, pb, rsB, pc, ldc, flags, pbias)
	default:
		micro6x16(kc, pa, rsA, csA, pb, rsB, pc, ldc, flags, pbias)
	}
}

// biasLen returns the number of elements of its bias that a micro-kernel reads.
func biasLen(rows, cols, flags int) int {
	if flags&flagShift != 0 {
		return cols
	}
	return rows
}

// packingRows are the AVX2 kernels that also pack the rows of B.
var packingRows = [...]func(kc int, a *float32, rsA, csA int, b *float32, rsB int, c *float32, ldc, flags int, bias, to *float32){
	1: micro1x16p, micro2x16p, micro3x16p, micro4x16p, micro5x16p, micro6x16p,
}

// microPacking is micro for up to mr rows, and copies the rows of b to the column panel to, of nr*kc
// elements. Only AVX2 has it.
func microPacking[T kernel.Float](rows, kc int, a []T, rsA, csA int, b []T, rsB int, c []T, ldc, flags int, bias, to []T) {
	_ = a[(rows-1)*rsA+(kc-1)*csA]
	_ = b[(kc-1)*rsB+NR-1]
	_ = c[(rows-1)*ldc+NR-1]
	pa := &kernel.Float32s(a)[0]
	pbias := pa
	if flags&(flagBias|flagShift) != 0 {
		pbias = &kernel.Float32s(bias)[:biasLen(rows, NR, flags)][0]
	}
	packingRows[rows](kc, pa, rsA*4, csA*4, &kernel.Float32s(b)[0], rsB*4, &kernel.Float32s(c)[0], ldc*4, flags, pbias, &kernel.Float32s(to)[:NR*kc][0])
}

// microGo is micro in Go: sub-blocks of 2×4, which the scalar registers can hold.
func microGo[T kernel.Float](rows, kc int, a []T, rsA, csA int, b []T, rsB int, c []T, ldc, flags int, bias []T) {
	for i := 0; i < rows; i += 2 {
		two := i+1 < rows
		a0, a1 := a[i*rsA:], a[i*rsA:]
		if two {
			a1 = a[(i+1)*rsA:]
		}
		for j := 0; j < NR; j += 4 {
			var s00, s01, s02, s03, s10, s11, s12, s13 T
			for l, ka, kb := 0, 0, j; l < kc; l, ka, kb = l+1, ka+csA, kb+rsB {
				x, y, v := a0[ka], a1[ka], b[kb:kb+4]
				s00 += x * v[0]
				s01 += x * v[1]
				s02 += x * v[2]
				s03 += x * v[3]
				s10 += y * v[0]
				s11 += y * v[1]
				s12 += y * v[2]
				s13 += y * v[3]
			}
			finish4(c[i*ldc+j:], flags, bias, i, j, s00, s01, s02, s03)
			if two {
				finish4(c[(i+1)*ldc+j:], flags, bias, i+1, j, s10, s11, s12, s13)
			}
		}
	}
}

// finish4 applies the flags to four sums, of columns col to col+4 of a row, and stores them in c.
func finish4[T kernel.Float](c []T, flags int, bias []T, row, col int, s ...T) {
	for q, v := range s {
		if flags&FlagAdd != 0 {
			v += c[q]
		}
		if flags&flagBias != 0 {
			v += bias[row]
		}
		if flags&flagShift != 0 {
			v += bias[col+q]
		}
		if flags&flagRelu != 0 && v < 0 {
			v = 0
		}
		c[q] = v
	}
}

package matmul

import "github.com/graft-ml/graft/internal/kernel"

// Processors with AVX-512 take blocks of up to 2*mr rows and two column panels. The rows from the seventh
// on are in a second panel.

// tallKernel computes 7 to 12 rows of one column panel, pairKernel and packingKernel 1 to 12 rows of two.
type (
	tallKernel    func(kc int, a, a2 *float32, rsA, csA int, b *float32, rsB int, c *float32, ldc, flags int, bias *float32)
	pairKernel    func(kc int, a, a2 *float32, rsA, csA int, b, b2 *float32, rsB int, c *float32, ldc int, c2 *float32, ldc2, flags int, bias *float32)
	packingKernel func(kc int, a, a2 *float32, rsA, csA int, b, b2 *float32, rsB int, c *float32, ldc int, c2 *float32, ldc2, flags int, bias, to *float32)
)

var (
	tallKernels = [...]tallKernel{7: micro7x16, micro8x16, micro9x16, micro10x16, micro11x16, micro12x16}
	pairKernels = [...]pairKernel{1: micro1x32, micro2x32, micro3x32, micro4x32, micro5x32, micro6x32,
		micro7x32, micro8x32, micro9x32, micro10x32, micro11x32, micro12x32}
	packingKernels = [...]packingKernel{1: micro1x32p, micro2x32p, micro3x32p, micro4x32p, micro5x32p, micro6x32p,
		micro7x32p, micro8x32p, micro9x32p, micro10x32p, micro11x32p, micro12x32p}
)

// microWide is micro for up to 2*mr rows and two column panels. With to, which holds 2*nr*kc elements, it
// copies the rows of b and b2 there as column panels.
func microWide[T kernel.Float](rows, kc int, a, a2 []T, rsA, csA int, b, b2 []T, rsB int, c []T, ldc int, c2 []T, ldc2, flags int, bias, to []T) {
	_ = a[(min(rows, MR)-1)*rsA+(kc-1)*csA]
	last := (kc-1)*rsB + NR - 1
	_, _ = b[last], b2[last]
	_, _ = c[(rows-1)*ldc+NR-1], c2[(rows-1)*ldc2+NR-1]
	pa := &kernel.Float32s(a)[0]
	pa2, pbias := pa, pa
	if rows > MR {
		_ = a2[(rows-MR-1)*rsA+(kc-1)*csA]
		pa2 = &kernel.Float32s(a2)[0]
	}
	if flags&(flagBias|flagShift) != 0 {
		pbias = &kernel.Float32s(bias)[:biasLen(rows, 2*NR, flags)][0]
	}
	if to != nil {
		packingKernels[rows](kc, pa, pa2, rsA*4, csA*4, &kernel.Float32s(b)[0], &kernel.Float32s(b2)[0], rsB*4,
			&kernel.Float32s(c)[0], ldc*4, &kernel.Float32s(c2)[0], ldc2*4, flags, pbias, &kernel.Float32s(to)[:2*NR*kc][0])
		return
	}
	pairKernels[rows](kc, pa, pa2, rsA*4, csA*4, &kernel.Float32s(b)[0], &kernel.Float32s(b2)[0], rsB*4,
		&kernel.Float32s(c)[0], ldc*4, &kernel.Float32s(c2)[0], ldc2*4, flags, pbias)
}

package convolution

import "github.com/graft-ml/graft/internal/kernel"

// interleave stores the first count elements [column][phase] of each channel, read from t [phase][channel][column]
// with row stride ld, contiguously to y with stride ldy between channels. It may read up to a vector after a row
// of t, without using it.
func interleave[T kernel.Float](channels, phases, count int, t []T, ld int, y []T, ldy int) {
	n := kernel.CeilDiv(count, phases)
	_, _ = t[(phases*channels-1)*ld+n-1], y[(channels-1)*ldy+count-1]
	switch {
	case phases == 1:
		for c := range channels {
			copy(y[c*ldy:][:count], t[c*ld:])
		}
	case phases == 2 && kernel.SIMD && kernel.IsFloat32[T]():
		interleave2(channels, count, &kernel.Float32s(t)[0], channels*ld*4, ld*4, &kernel.Float32s(y)[0], ldy*4)
	default:
		for c := range channels {
			interleaveChannel(phases, t[c*ld:], channels*ld, y[c*ldy:][:count])
		}
	}
}

// interleaveChannel is interleave for one channel whose phases have stride ld. It stores four phases
// at a time; a remainder of fewer phases is stored first, so that the excess is overwritten by the
// next ones.
func interleaveChannel[T kernel.Float](phases int, t []T, ld int, y []T) {
	whole := len(y) / phases // number of columns
	for first := (phases - 1) / 4 * 4; first >= 0; first -= 4 {
		some := min(4, phases-first)
		q := 0
		if kernel.SIMD && kernel.IsFloat32[T]() {
			safe := whole
			if some < 4 {
				safe--
			}
			if q = max(0, safe/4*4); q > 0 {
				_ = t[(first+some-1)*ld+q-1]
				interleave4(q/4, &kernel.Float32s(t)[first*ld], ld*4*min(1, some-1), ld*4*min(2, some-1), ld*4*min(3, some-1), &kernel.Float32s(y)[first], phases*4)
			}
		}
		for ; q*phases+first < len(y); q++ {
			to := y[q*phases+first:]
			for i := range min(some, len(to)) {
				to[i] = t[(first+i)*ld+q]
			}
		}
	}
}

package convolution

import "github.com/graft-ml/graft/internal/kernel"

// winogradTaps describes weights, 3×3 after blockTaps: those of output lane l and input channel k begin at l*lane + k*step.
type winogradTaps[T kernel.Float] struct {
	w          []T
	lane, step int
	flipped    bool // rotated by 180°
	lanes      int  // number of output lanes
}

// weights writes the transformed taps G·g·Gᵀ of winogradLanes lanes from lane on and n channels from k0 on to dst: a
// column panel [channel][winogradLanes] for each point, with stride point.
func (s *winogradTaps[T]) weights(t *winogradTile, lane, k0, n int, dst []T, point int) {
	_ = dst[(t.weightPoints()-1)*point+n*winogradLanes-1]
	flipped := 0
	if s.flipped {
		flipped = 1
	}
	for half := 0; half < winogradLanes; half += 8 {
		live := max(0, min(8, s.lanes-lane-half))
		if live == 8 && kernel.SIMD && kernel.IsFloat32[T]() {
			wide := kernel.AVX512 && half == 0 && lane+winogradLanes <= s.lanes
			k, last := &t.narrow, 7
			if wide {
				k, last = &t.wide, 15
			}
			w := s.w[(lane+half)*s.lane+k0*s.step:]
			_ = w[last*s.lane+(n-1)*s.step+8]
			k.weights(n, &kernel.Float32s(w)[0], s.lane*4, s.step*4, flipped, &kernel.Float32s(dst)[half], point*4)
			if wide {
				break
			}
			continue
		}
		for i := range n {
			var g [9 * 8]T // [tap][lane]
			for l := range live {
				for tap, v := range s.w[(lane+half+l)*s.lane+(k0+i)*s.step:][:9] {
					if s.flipped {
						tap = 8 - tap
					}
					g[tap*8+l] = v
				}
			}
			sandwich(t.g, false, 3, t.kinds, 8, g[:], 3*8, 8, dst[i*winogradLanes+half:], t.kinds*point, point)
		}
	}
}

// gradients computes the gradients of the taps of n lanes from products M: Gᵀ·M·G, nine for each lane.
func gradients[T kernel.Float](t *winogradTile, n int, src []T, point int, dst, marks []T) {
	_, _, _ = src[(t.weightPoints()-1)*point+n-1], dst[9*n-1], marks[winogradLanes-1]
	done := 0
	if kernel.SIMD && kernel.IsFloat32[T]() {
		not := &kernel.Float32s(marks)[0]
		if kernel.AVX512 && n >= 16 {
			done = n &^ 15
			t.wide.gradient(n/16, &kernel.Float32s(src)[0], point*4, &kernel.Float32s(dst)[0], not)
		}
		if n8 := (n - done) / 8; n8 > 0 {
			t.narrow.gradient(n8, &kernel.Float32s(src)[done], point*4, &kernel.Float32s(dst)[9*done], not)
			done += 8 * n8
		}
	}
	for l := done; l < n; l++ {
		taps := dst[9*l:][:9]
		sandwich(t.g, true, t.kinds, 3, 1, src[l:], t.kinds*point, point, taps, 3, 1)
		for _, v := range taps {
			marks[0] += v - v
		}
	}
}

package convolution

import "github.com/graft-ml/graft/internal/kernel"

// Taps are the kernel points from First to End, exclusive, of each axis.
type Taps struct{ First, End Triple }

// LiveTaps returns the kernel points of s without the first and last ones of each axis that read nothing but padding,
// whatever the output point. They differ from the whole kernel where the dilation exceeds the image, as in atrous
// pyramids, and where the image is one point that a padded kernel surrounds.
func LiveTaps(s *Shape) Taps {
	g := s.geometry()
	t := Taps{End: g.ker}
	if g.planar() || g.empty() {
		return t
	}
	for i := range t.End {
		position := func(tap, out int) int { return out*g.stride[i] + tap*g.dil[i] - g.pad[i] } // of the input point
		for t.End[i]-t.First[i] > 1 && position(t.End[i]-1, 0) >= g.in[i] {
			t.End[i]--
		}
		for t.End[i]-t.First[i] > 1 && position(t.First[i], g.out[i]-1) < 0 && (t.First[i]+1)*g.dil[i] <= g.pad[i] {
			t.First[i]++
		}
	}
	return t
}

// trim returns the convolution of the live taps of s, which has the same result, if there are others.
func (s *Shape) trim() (Shape, Taps, bool) {
	t := LiveTaps(s)
	g := s.geometry()
	if t == (Taps{End: g.ker}) {
		return Shape{}, t, false
	}
	for i := range t.End {
		g.pad[i] -= t.First[i] * g.dil[i]
		g.ker[i] = t.End[i] - t.First[i]
		if g.ker[i] == 1 {
			g.dil[i] = 1
		}
	}
	u := *s
	u.In, u.Kernel, u.Out, u.Stride, u.Dilation, u.PadBegin, u.PadEnd = g.in[:], g.ker[:], g.out[:], g.stride[:], g.dil[:], g.pad[:], nil
	return u, t, true
}

// live returns the weights [OC, C/Group, …] of the taps t of a convolution.
func live[T kernel.Float](p *kernel.Pool, s *Shape, t Taps, w []T, scratch kernel.Scratch[T]) []T {
	g := s.geometry()
	live := kernel.Take(scratch, g.oc*g.cg*t.size())
	gather(p, t, g.ker, w[:g.oc*g.k()], live)
	return live
}

// gather copies the weights of the taps t of a kernel.
func gather[T kernel.Float](p *kernel.Pool, t Taps, ker Triple, w, live []T) {
	whole, n := ker.Size(), t.size()
	p.Range(len(w)/whole, max(1, kernel.ElementGrain/whole), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			t.rows(ker, func(from, to, length int) { copy(live[i*n+to:][:length], w[i*whole+from:]) })
		}
	})
}

// scatter is the way back from gather; the other taps become 0.
func scatter[T kernel.Float](p *kernel.Pool, t Taps, ker Triple, live, w []T) {
	whole, n := ker.Size(), t.size()
	p.Range(len(w)/whole, max(1, kernel.ElementGrain/whole), func(lo, hi int) {
		clear(w[lo*whole : hi*whole])
		for i := lo; i < hi; i++ {
			t.rows(ker, func(from, to, length int) { copy(w[i*whole+from:][:length], live[i*n+to:]) })
		}
	})
}

// rows calls f for each row of taps of a kernel: its index among all points, that among the taps, and its length.
func (t Taps) rows(ker Triple, f func(from, to, length int)) {
	length, to := t.End[2]-t.First[2], 0
	for z := t.First[0]; z < t.End[0]; z++ {
		for y := t.First[1]; y < t.End[1]; y++ {
			f((z*ker[1]+y)*ker[2]+t.First[2], to, length)
			to += length
		}
	}
}

// of lists the taps t of a kernel, in order, as indices of its points.
func (t Taps) of(ker Triple) []int {
	var list []int
	for z := t.First[0]; z < t.End[0]; z++ {
		for y := t.First[1]; y < t.End[1]; y++ {
			for x := t.First[2]; x < t.End[2]; x++ {
				list = append(list, (z*ker[1]+y)*ker[2]+x)
			}
		}
	}
	return list
}

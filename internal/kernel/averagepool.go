package kernel

// AveragePool computes the means of the windows, 0 where a window is empty.
func AveragePool[T Float](p *Pool, s *PoolShape, x, y []T) {
	w := s.window()
	in, out, ker := w.in.size(), w.out.size(), w.ker.size()
	if w.whole() {
		p.Range(s.N*s.C, planeGrain(4*in), func(lo, hi int) { rowMeans(hi-lo, in, x[lo*in:], y[lo:]) })
		return
	}
	if single[T]() && out > 0 && w.quarters() {
		meanQuarters(p, s, &w, as32(x), as32(y))
		return
	}
	if w.tiles() {
		meanTiles(p, s, &w, x, y)
		return
	}
	buffer := Borrow[T](out + s.C*ker)
	defer GiveBack(buffer)
	n, ones := (*buffer)[:out], (*buffer)[out:][:s.C*ker]
	divisors(s, &w, n)
	Fill(nil, ones, 1)
	ConvForward(p, s.convolution(), x, ones, Epilogue[T]{}, y, nil)
	BinaryRow(p, OpDiv, s.N*s.C, out, y, y, n)
}

// whole tells whether there is one window, which is the whole plane.
func (w *window) whole() bool { return w.out.size() == 1 && w.ker == w.in && w.pad == triple{} }

// AveragePoolGrad computes dx from dy, overwriting it.
func AveragePoolGrad[T Float](p *Pool, s *PoolShape, dy, dx []T) {
	w := s.window()
	in, out, ker, planes := w.in.size(), w.out.size(), w.ker.size(), s.N*s.C
	if w.whole() {
		s.planes(p, &w, func(i int) { Fill(nil, dx[i*in:][:in], dy[i]/T(in)) })
		return
	}
	if single[T]() && out > 0 && w.quarters() {
		meanQuartersBack(p, s, &w, as32(dy), as32(dx))
		return
	}
	if w.tiles() {
		meanTilesBack(p, s, &w, dy, dx)
		return
	}
	buffer := Borrow[T](out + s.C*ker + planes*out)
	defer GiveBack(buffer)
	n, ones, share := (*buffer)[:out], (*buffer)[out:][:s.C*ker], (*buffer)[out+s.C*ker:][:planes*out]
	divisors(s, &w, n)
	Fill(nil, ones, 1)
	BinaryRow(p, OpDiv, planes, out, share, dy, n)
	ConvBackwardData(p, s.convolution(), share, ones, dx, nil)
}

// meanQuarters is AveragePool for windows of 2×2 side by side.
func meanQuarters(p *Pool, s *PoolShape, w *window, x, y []float32) {
	in, out := w.in[1]*w.in[2], w.out[1]*w.out[2]
	p.Range(s.N*s.C*w.in[0], planeGrain(4*out), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			mean2x2(w.out[1], w.out[2], &x[i*in], w.in[2]*4, &y[i*out])
		}
	})
}

// meanQuartersBack is AveragePoolGrad for such windows.
func meanQuartersBack(p *Pool, s *PoolShape, w *window, dy, dx []float32) {
	in, out := w.in[1]*w.in[2], w.out[1]*w.out[2]
	complete := 4*out == in
	p.Range(s.N*s.C*w.in[0], planeGrain(4*out), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if !complete {
				clear(dx[i*in:][:in])
			}
			mean2x2Back(w.out[1], w.out[2], &dy[i*out], &dx[i*in], w.in[2]*4)
		}
	})
}

// divisors sets n to what AveragePool divides each point of a plane by.
func divisors[T Float](s *PoolShape, w *window, n []T) {
	clear(n)
	padded := *w
	if s.CountIncludePad {
		for d := range 3 {
			padded.in[d] += w.pad[d] + w.padEnd[d]
			padded.pad[d] = 0
		}
	}
	padded.each(func(o, _, count int) { n[o] += T(count) })
	for o, v := range n {
		n[o] = max(v, 1)
	}
}

package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// Forward computes y = conv(x, w) and applies the epilogue e. scratch may be nil.
func Forward[T kernel.Float](p *kernel.Pool, s *Shape, x, w []T, e elementwise.Epilogue[T], y []T, scratch func(n int) []T) {
	if u, taps, ok := s.trim(); ok {
		Forward(p, &u, x, live(p, s, taps, w, scratch), e, y, scratch)
		return
	}
	g := s.geometry()
	if g.swaps() {
		forwardSwapped(p, s, x, w, e, y, scratch)
		return
	}
	if list := regionsFor[T](s, &g, winogradY); list != nil {
		forwardRegions(p, &g, list, x, w, e, y, scratch)
		return
	}
	if winogradForward(p, s, x, w, e, y, scratch) {
		return
	}
	if directForward(p, s, x, w, e, y, scratch) {
		return
	}
	if e.IsPlain() {
		convForward(p, s, x, w, e.Shift, e.Act.Kind == elementwise.ActRelu, y)
		return
	}
	convForward(p, s, x, w, nil, false, y)
	e.Planes(p, g.oc, g.out.Size(), y[:g.n*g.oc*g.out.Size()])
}

func convForward[T kernel.Float](p *kernel.Pool, s *Shape, x, w, bias []T, relu bool, y []T) {
	g := s.geometry()
	in, out := g.in.Size(), g.out.Size()
	y, x = y[:g.n*g.oc*out], x[:g.n*g.c*in]
	taps := g.taps()
	k := g.cg * len(taps)
	if len(y) == 0 {
		return
	}
	if k == 0 || len(x) == 0 {
		fillBias(p, g.n, g.oc, out, bias, relu, y)
		return
	}
	if g.planar() {
		depthwiseForward(p, &g, x, w, bias, relu, y)
		return
	}
	eachGroup(p, g.groups, func(p *kernel.Pool, i int) {
		m := matmul.Product[T]{
			M: g.og, N: g.n * out, K: k, Alpha: 1,
			A: w[i*g.og*k:][:g.og*k], RsA: k, CsA: 1,
			B: &im2col[T]{
				x: x[i*g.cg*in:], channel: in, image: g.c * in,
				in: g.in, grid: g.out, stride: g.stride, taps: taps, columns: g.n * out,
			},
			C: y[i*g.og*out:], LDC: out, Span: out, Image: g.oc * out,
			Relu: relu, WeightB: 60,
		}
		if bias != nil {
			m.Bias = bias[i*g.og:][:g.og]
		}
		m.Run(p)
	})
}

// eachGroup calls f for each group: with at least as many groups as threads on one thread each,
// otherwise one after the other on all threads.
func eachGroup(p *kernel.Pool, groups int, f func(p *kernel.Pool, i int)) {
	if groups < p.Threads() {
		for i := range groups {
			f(p, i)
		}
		return
	}
	p.Run(groups, func(_, i int) { f(p.Serial(), i) })
}

// fillBias is Forward for a convolution without products: y [N, C, space] is the bias of its channel, with the epilogue.
func fillBias[T kernel.Float](p *kernel.Pool, n, c, space int, bias []T, relu bool, y []T) {
	p.Range(n*c, max(1, 1<<14/max(space, 1)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			var v T
			if bias != nil {
				v = bias[i%c]
			}
			if relu && v < 0 {
				v = 0
			}
			row := y[i*space:][:space]
			for q := range row {
				row[q] = v
			}
		}
	})
}

package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// winogradPass is one of the three computations of a convolution.
type winogradPass int

const (
	winogradY winogradPass = iota
	winogradDX
	winogradDW
)

// winogradFor returns the algorithm for a pass of a convolution, or nil for none; it depends on the shape only. Costs
// are in multiplications per pair of input and output channels: the transforms of a tile cost as much as 40
// output channels, those of the weights as much as 10 tiles, or 30 if the weights are the result (measured by
// BenchmarkWinograd). A convolution with dilation is treated as that of its smaller images, see undilated.
func winogradFor[T kernel.Float](s *Shape, g *geometry, pass winogradPass) *winogradTile {
	t, _ := cheapest[T](s, g, pass)
	return t
}

// cheapest returns the algorithm and its cost, or that of the direct way.
func cheapest[T kernel.Float](s *Shape, g *geometry, pass winogradPass) (best *winogradTile, lowest float64) {
	lowest = float64(g.ker.Size() * (g.n*g.out.Size() + 4))
	if u, ok := g.undilated(); ok {
		g = &u
	}
	if s.exact || !kernel.IsFloat32[T]() || !winogradFits(g) {
		return nil, lowest
	}
	if kernel.Has(kernel.BlockGroup) && !kernel.SIMD {
		return nil, lowest // assembly for the products, but none for the transforms
	}
	least := 16
	if g.c%8 != 0 || g.oc%8 != 0 {
		least = 32 // remaining channels are stored one by one
	}
	if g.c < least || g.oc < least {
		return nil, lowest
	}
	const transforms = 40
	weights, result := 10.0, g.out
	from, to := g.c, g.oc // channels that are divided into blocks, and the others
	switch pass {
	case winogradDX:
		result = g.in
		from, to = to, from
	case winogradDW:
		weights = 30
	}
	b := g.blocks(from)
	all, in, out := float64(b.all()), float64(from), float64(to)
	cost := func(t *winogradTile) float64 {
		tiles := float64(g.n * kernel.CeilDiv(result[1], t.m) * kernel.CeilDiv(result[2], t.m))
		return float64(t.points())*tiles*(all/in+transforms*(all+out)/(in*out)) + float64(t.weightPoints())*weights*all/in
	}
	if g.stride[1] == 2 {
		lowest *= 2 // direct tiles are slow then, most of all for the gradient with respect to the input
	}
	for _, t := range winogradWays(g, pass) {
		if v := cost(t); v < lowest {
			best, lowest = t, v
		}
	}
	return best, lowest
}

// winogradWays returns the algorithms that can compute a pass of a convolution for which winogradFits is true.
func winogradWays(g *geometry, pass winogradPass) []*winogradTile {
	ones := g.pad == Triple{0, 1, 1}
	two := Triple{1, 2, 2}
	switch {
	case g.whole() && g.stride[1] == 1 && ones && g.in == two && g.out == two:
		return []*winogradTile{winogradQuad}
	case g.stride[1] == 1:
		return []*winogradTile{winograd4, winograd2}
	case pass == winogradDX && ones:
		return []*winogradTile{winogradDoubling}
	case pass != winogradDX:
		return []*winogradTile{winogradHalving}
	}
	return nil
}

// winogradFits reports whether Winograd's algorithm can compute a convolution.
func winogradFits(g *geometry) bool {
	ones := Triple{1, 1, 1}
	if g.groups != 1 || g.ker[0] != 1 || g.ker[1] < 3 || g.ker[2] < 3 || g.blockCount() > mostBlocks || g.dil != ones || g.pad[0] != 0 || g.in[0] != 1 || g.out[0] != 1 {
		return false
	}
	if g.stride != ones && (g.stride != Triple{1, 2, 2} || !g.whole()) {
		return false
	}
	for d := 1; d < 3; d++ {
		if g.pad[d] < 0 || g.pad[d] >= g.ker[d] || g.out[d] < 1 || g.out[d] > (g.in[d]+2*g.pad[d]-1)/g.stride[d]+1 {
			return false
		}
	}
	return g.n > 0
}

// winogradForward is Forward by Winograd's algorithm. It reports whether it applies to the shape and
// the result is finite; otherwise the caller must use another algorithm, which keeps infinities.
func winogradForward[T kernel.Float](p *kernel.Pool, s *Shape, x, w []T, e elementwise.Epilogue[T], y []T, scratch kernel.Scratch[T]) bool {
	g := s.geometry()
	t := winogradFor[T](s, &g, winogradY)
	if t != nil && g.dil.Size() > 1 {
		return dilatedForward(p, t, &g, x, w, e, y, scratch)
	}
	return t != nil && forwardWinograd(p, t, &g, x, w, e, y, scratch)
}

func forwardWinograd[T kernel.Float](p *kernel.Pool, t *winogradTile, g *geometry, x, w []T, e elementwise.Epilogue[T], y []T, scratch kernel.Scratch[T]) bool {
	ker, b := g.ker.Size(), g.blocks(g.c)
	a := winograd[T]{
		winogradTile: t,
		in: winogradPlanes[T]{
			x: x, winogradChannels: b, high: g.in[1], wide: g.in[2], pad: t.padding(g),
			down: kernel.CeilDiv(g.out[1], t.m), across: kernel.CeilDiv(g.out[2], t.m),
		},
		taps: blockTaps(p, g, b, winogradTaps[T]{w: w, lane: ker * g.c, step: ker, lanes: g.oc}, scratch),
		n:    g.n, oc: g.oc, high: g.out[1], wide: g.out[2], imageY: g.imageY, y: y, e: e,
	}
	return a.run(p, scratch)
}

// padding returns the number of rows and columns by which the first tile begins before the input; for the gradient with
// respect to the input, paddingBack returns it for dy.
func (t *winogradTile) padding(g *geometry) [2]int {
	if t == winogradQuad {
		return [2]int{} // the algorithm includes its border of zeros
	}
	return [2]int{g.pad[1], g.pad[2]}
}

func (t *winogradTile) paddingBack(g *geometry) [2]int {
	if t == winogradQuad || t == winogradDoubling {
		return [2]int{}
	}
	return [2]int{g.ker[1] - 1 - g.pad[1], g.ker[2] - 1 - g.pad[2]}
}

// winogradBackwardData is BackwardData by Winograd's algorithm; see winogradForward.
func winogradBackwardData[T kernel.Float](p *kernel.Pool, s *Shape, dy, w, dx []T, scratch kernel.Scratch[T]) bool {
	g := s.geometry()
	t := winogradFor[T](s, &g, winogradDX)
	if t != nil && g.dil.Size() > 1 {
		return dilatedData(p, t, &g, dy, w, dx, scratch)
	}
	return t != nil && dataWinograd(p, t, &g, dy, w, dx, scratch)
}

func dataWinograd[T kernel.Float](p *kernel.Pool, t *winogradTile, g *geometry, dy, w, dx []T, scratch kernel.Scratch[T]) bool {
	ker, b := g.ker.Size(), g.blocks(g.oc)
	a := winograd[T]{
		winogradTile: t,
		in: winogradPlanes[T]{
			x: dy, winogradChannels: b, high: g.out[1], wide: g.out[2], pad: t.paddingBack(g),
			down: kernel.CeilDiv(g.in[1], t.m), across: kernel.CeilDiv(g.in[2], t.m),
		},
		taps: blockTaps(p, g, b, winogradTaps[T]{w: w, lane: ker, step: ker * g.c, lanes: g.c, flipped: true}, scratch),
		n:    g.n, oc: g.c, high: g.in[1], wide: g.in[2], imageY: g.c * g.in.Size(), y: dx,
	}
	return a.run(p, scratch)
}

// winogradBackwardWeight is BackwardWeight by Winograd's algorithm; see winogradForward.
func winogradBackwardWeight[T kernel.Float](p *kernel.Pool, s *Shape, x, dy, dw []T, scratch kernel.Scratch[T]) bool {
	g := s.geometry()
	t := winogradFor[T](s, &g, winogradDW)
	if t != nil && g.dil.Size() > 1 {
		return dilatedWeight(p, t, &g, x, dy, dw, scratch)
	}
	return t != nil && weightWinograd(p, t, &g, x, dy, dw, scratch)
}

func weightWinograd[T kernel.Float](p *kernel.Pool, t *winogradTile, g *geometry, x, dy, dw []T, scratch kernel.Scratch[T]) bool {
	down, across := kernel.CeilDiv(g.out[1], t.m), kernel.CeilDiv(g.out[2], t.m)
	b := g.blocks(g.c)
	a := winogradGradient[T]{
		winogradTile: t,
		x: winogradPlanes[T]{
			x: x, winogradChannels: b, high: g.in[1], wide: g.in[2], pad: t.padding(g),
			down: down, across: across,
		},
		dy: winogradPlanes[T]{
			x: dy, winogradChannels: winogradChannels{g.oc, g.oc, 1, 1}, high: g.out[1], wide: g.out[2], down: down, across: across, delta: true,
		},
		n: g.n, dw: dw,
	}
	if g.whole() {
		return a.run(p, scratch)
	}
	a.dw = kernel.Take(scratch, g.oc*9*b.all())
	finite := a.run(p, scratch)
	joinTaps(p, g, b, a.dw, dw)
	return finite
}

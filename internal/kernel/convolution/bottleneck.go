package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// Bottleneck is a depthwise convolution of 3×3 or 5×5 fused with a pointwise one before it, after it, or both: the block of
// MobileNets. The first convolution computes a few channels at a time, which the second reads from the L1 cache; the third
// reads its input from the L2 cache.
//
// It processes groups of images, whose points are concatenated so that tiles are full. A thread computes whole
// groups; the channels of the remaining groups are divided among threads.
type Bottleneck struct {
	n, images int // images in all, and images of a group
	expand    *pointwise
	steps     *planeSteps
	project   *pointwise
	channels  int // of the depthwise convolution
	in, out   int // points of a plane of its input, and of its output
	work      int // multiply-adds
}

// pointwise is a 1×1 convolution of the columns of a group; nil: none.
type pointwise struct {
	inputs, outputs int
	from            int        // stride between channels of its input
	plan            directPlan // tiles of a group
	inPlace         bool       // it reads its input in place; otherwise the images of a group are concatenated in a copy
}

// bottleneckColumns is the desired minimum number of columns of a group.
const bottleneckColumns = 144

// NewBottleneck fuses consecutive convolutions; it returns nil if they are not such a block.
func NewBottleneck(layers ...*Shape) *Bottleneck {
	var expand, project *geometry
	all := make([]geometry, len(layers))
	for i, s := range layers {
		all[i] = s.geometry()
		if all[i].empty() || i > 0 && (all[i].n != all[i-1].n || all[i].c != all[i-1].oc || all[i].in != all[i-1].out) {
			return nil
		}
	}
	if len(all) > 1 && all[0].pointwise() {
		expand, all = &all[0], all[1:]
	}
	if len(all) == 2 && all[1].pointwise() {
		project, all = &all[1], all[:1]
	}
	if expand == nil && project == nil || len(all) != 1 || all[0].og != 1 || !windowsFit(&all[0]) {
		return nil
	}
	g := &all[0]
	b := &Bottleneck{n: g.n, steps: planSteps(g, false), channels: g.oc, in: g.in.Size(), out: g.out.Size(), work: g.ker.Size() * g.n * g.oc * g.out.Size()}
	groups := kernel.CeilDiv(b.n, kernel.CeilDiv(bottleneckColumns, b.out))
	b.images = kernel.CeilDiv(b.n, groups)
	if expand != nil {
		from := b.room(b.in)
		inPlace := b.images == 1 && b.in >= 3*tileLanes()
		if inPlace {
			from = b.in
		}
		b.expand = newPointwise(expand, from, inPlace)
		b.work += b.n * expand.c * expand.oc * b.in
	}
	if project != nil {
		b.project = newPointwise(project, b.room(b.out), true)
		b.work += b.n * project.c * project.oc * b.out
	}
	return b
}

// pointwise reports whether every output depends only on the inputs at its own position. A single input channel is not
// supported, since such weights are not packed.
func (g *geometry) pointwise() bool {
	return g.groups == 1 && !g.planar() && g.ker.Size() == 1 && g.stride.Size() == 1 && g.pad == Triple{} && g.in == g.out
}

func newPointwise(g *geometry, from int, inPlace bool) *pointwise {
	off := make([]int32, g.c, g.c+tilePrefetch)
	for c := range off {
		off[c] = int32(c * from)
	}
	return &pointwise{inputs: g.c, outputs: g.oc, from: from, plan: directPlan{off: off}, inPlace: inPlace}
}

// room returns the stride between channels of a group for the given number of points per plane. It has space for the elements
// that kernels write after the last one, and avoids mapping channels to the same cache sets.
func (b *Bottleneck) room(points int) int {
	n := kernel.CeilDiv(b.images*points+15, 16)
	return 16 * (n + 1 - n%2)
}

// Forward computes y. w and e have the weights and epilogues of the convolutions in order; the epilogues have neither scale
// nor shift, and only the last may have Add.
func (b *Bottleneck) Forward(p *kernel.Pool, x []float32, w []*Weights[float32], e []elementwise.Epilogue[float32], y []float32, scratch kernel.Scratch[float32]) {
	r := bottleneckRun{Bottleneck: b, x: x, y: y}
	if b.expand != nil {
		r.widen = w[0]
		r.clip, r.wide = e[0].Bounds()
		w, e = w[1:], e[1:]
	}
	r.depth, r.deep = newDepthPlanes(b.steps, b.channels, b.channels, w[0].weights, w[0].shift, e[0])
	r.depth.y = y
	if l := b.project; l != nil {
		r.product = direct[float32]{
			groups: 1, inputs: l.inputs, outputs: l.outputs, taps: make([]Triple, 1), a: w[1].weights, shift: w[1].shift,
			y: y, planeY: b.out, imageY: l.outputs * b.out, step: Triple{b.out, b.out, 1}, add: e[1].Add,
		}
		r.product.clip, r.product.act = e[1].Bounds()
	}
	if b.work < matmul.SmallProduct {
		p = nil
	}
	t, groups, panels := p.Threads(), kernel.CeilDiv(b.n, b.images), kernel.CeilDiv(b.channels, tileRows)
	alone := groups - groups%t
	p.Run(alone, func(_, i int) {
		d := kernel.Borrow[float32](b.between())
		r.deepen(i, 0, panels, *d)
		r.narrow(i, 0, 1, *d)
		kernel.GiveBack(d)
	})
	if alone == groups {
		return
	}
	d := kernel.Take(scratch, b.between())
	for i := alone; i < groups; i++ {
		p.Run(t, func(_, q int) { r.deepen(i, q*panels/t, (q+1)*panels/t, d) })
		p.Run(t, func(_, q int) { r.narrow(i, q, t, d) })
	}
}

// between returns the number of elements of the depthwise convolution's results for a group.
func (b *Bottleneck) between() int {
	if b.project == nil {
		return 0
	}
	return b.channels * b.project.from
}

package op

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// joined is a Concat, of which convolutions can compute their parts in place. It is what Core.Does holds for a Concat.
type joined struct {
	dtype DType
	whole interleaved
	parts []joinedPart
}

// joinedPart is one of the tensors that are joined.
type joinedPart struct {
	in     []int  // where the kernel finds the part, or the inputs of what computes it
	kernel Kernel // computes it, in its place in output 0; nil: it is copied
}

func newJoined(c *Call) (*joined, error) {
	axis, err := concatAxis(c)
	if err != nil {
		return nil, err
	}
	outer, inner := around(c.Out[0].Sizes(), axis)
	inner *= c.In[0].DType.Size()
	j := &joined{dtype: c.In[0].DType, parts: make([]joinedPart, len(c.In))}
	sizes := make([]int, len(c.In))
	for i, t := range c.In {
		sizes[i] = t.Shape[axis].Size * inner
		j.parts[i].in = []int{i}
	}
	j.whole = newInterleaved(outer, sizes)
	return j, nil
}

func concatKernel(c *Call) (Kernel, error) {
	j, err := newJoined(c)
	if err != nil {
		return nil, err
	}
	return j.run, nil
}

func concatDoes(c *Call) any {
	j, err := newJoined(c)
	if err != nil {
		return nil
	}
	return j
}

func (j *joined) run(x *Exec, out, in []*tensor.Dense) error {
	for _, p := range j.parts {
		if p.kernel == nil {
			continue
		}
		own := make([]*tensor.Dense, len(p.in))
		for i, k := range p.in {
			own[i] = in[k]
		}
		if err := p.kernel(x, out, own); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(j.parts, func(p joinedPart) bool { return p.kernel == nil }) {
		j.whole.each(pool(x), func(part, at, to, n int) {
			if p := &j.parts[part]; p.kernel == nil {
				copy(out[0].Raw[to:to+n], in[p.in[0]].Raw[at:])
			}
		})
	}
	return nil
}

// absorbed is the core that computes j with the part in the given slot made by a convolution, which is that of self;
// nil: it cannot write it in place.
func (j *joined) absorbed(l *convLink, self *engine.Core, slot int) *engine.Core {
	const size = 4 // bytes of an element
	part := slices.IndexFunc(j.parts, func(p joinedPart) bool { return p.kernel == nil && p.in[0] == slot })
	if part < 0 || j.dtype != dtype.Float32 || l.dtype != j.dtype || l.end.adds() || !kernel.ConvApart[float32](&l.shape) {
		return nil
	}
	if j.whole.rows > 1 && j.whole.rows != l.shape.N {
		return nil
	}
	apart := *l
	for _, n := range j.whole.parts[:part] {
		apart.at += n / size
	}
	if j.whole.rows > 1 {
		apart.shape.ImageY = j.whole.row / size
	}
	more := *j
	more.parts = slices.Clone(j.parts)
	for i, p := range more.parts {
		p.in = slices.Clone(p.in)
		for k, at := range p.in { // the inputs of self come first, that of slot is gone
			p.in[k] = self.Inputs + at
			if at > slot {
				p.in[k]--
			}
		}
		more.parts[i] = p
	}
	own := make([]int, self.Inputs)
	for i := range own {
		own[i] = i
	}
	more.parts[part] = joinedPart{own, convEnding(&apart)}
	return &engine.Core{Kernel: Kernel(more.run).engine(), Does: &more, Sides: true}
}

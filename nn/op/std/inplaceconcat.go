package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel/convolution"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// concatInPlace is the pattern of a Concat, of which convolutions can compute their parts in place.
type concatInPlace struct {
	dtype op.DType
	whole interleaved
	parts []concatPart
}

// concatPart is one of the joined tensors.
type concatPart struct {
	in     []int     // the kernel inputs that are the part, or from which it is computed
	kernel op.Kernel // computes it, in its place in output 0; nil: it is copied
}

func newConcatInPlace(c *op.Call) (*concatInPlace, error) {
	axis, err := concatAxis(c)
	if err != nil {
		return nil, err
	}
	outer, inner := around(c.Out[0].Sizes(), axis)
	inner *= c.In[0].DType.Size()
	j := &concatInPlace{dtype: c.In[0].DType, parts: make([]concatPart, len(c.In))}
	sizes := make([]int, len(c.In))
	for i, t := range c.In {
		sizes[i] = t.Shape[axis].Size * inner
		j.parts[i].in = []int{i}
	}
	j.whole = newInterleaved(outer, sizes)
	return j, nil
}

func concatKernel(c *op.Call) (op.Kernel, error) {
	j, err := newConcatInPlace(c)
	if err != nil {
		return nil, err
	}
	return j.run, nil
}

func (*concatInPlace) PatternName() string { return "concatenation" }

func concatPatterns(c *op.Call) []op.Pattern {
	j, err := newConcatInPlace(c)
	if err != nil {
		return nil
	}
	return []op.Pattern{j}
}

func (j *concatInPlace) run(x *op.Exec, out, in []*tensor.Dense) error {
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
	if slices.ContainsFunc(j.parts, func(p concatPart) bool { return p.kernel == nil }) {
		j.whole.each(pool(x), func(part, at, to, n int) {
			if p := &j.parts[part]; p.kernel == nil {
				copy(out[0].Raw[to:to+n], in[p.in[0]].Raw[at:])
			}
		})
	}
	return nil
}

// fuseConcat lets a convolution write its part of a Concat in place.
func fuseConcat(first convStages, j *concatInPlace, m op.Meeting) *op.Fused {
	const size = 4 // bytes of an element
	l := first[0]
	part := slices.IndexFunc(j.parts, func(p concatPart) bool { return p.kernel == nil && p.in[0] == m.Slot })
	if part < 0 || len(first) > 1 || j.dtype != dtype.Float32 || l.dtype != j.dtype || l.end.Adds() || !convolution.Apart[float32](&l.shape) {
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
		for k, at := range p.in { // the inputs of the first come first, that of the slot is gone
			p.in[k] = m.FirstInputs + at
			if at > m.Slot {
				p.in[k]--
			}
		}
		more.parts[i] = p
	}
	own := make([]int, m.FirstInputs)
	for i := range own {
		own[i] = i
	}
	more.parts[part] = concatPart{own, convWithEpilogue(&apart)}
	return &op.Fused{Kernel: more.run, Patterns: []op.Pattern{&more}, KeepsSides: true}
}

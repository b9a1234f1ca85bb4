package std

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// The gradients of operators that move elements, spelled in operators of files.

// constantOf returns the value of a constant that was added.
func (n formula) constantOf(x *op.Operand) (*tensor.Dense, error) {
	d, ok := x.Known.Value.(*tensor.Dense)
	if !ok {
		return nil, errors.New("a constant has no value")
	}
	return d, nil
}

func setFloat(d *tensor.Dense, i int, x float64) {
	if dtype.Of(d.Dtype()) == dtype.Float64 {
		dtype.Slice[float64](d)[i] = x
	} else {
		dtype.Slice[float32](d)[i] = float32(x)
	}
}

// spellGatherGrad adds rows up where they came from; the axes of the indices go to the front for that.
func spellGatherGrad(n formula) error {
	axis, rank, q := n.Config.(gatherGradConfig).Axis, len(n.Call.Out[0].Shape), n.rank(1)
	dy, index := n.In[0], n.unsqueeze(n.In[1], q)
	perm := append(upTo(axis, axis+q), append(upTo(0, axis), upTo(axis+q, axis+q+rank-1-axis)...)...)
	shape := func(c *op.Call) []op.Dim {
		s := c.Out[0].Shape
		return slices.Concat([]op.Dim{s[axis]}, s[:axis], s[axis+1:])
	}
	zeros := n.zeros(dy.Type.DType, n.ShapeOf(shape))
	if axis > 0 {
		dy = n.transpose(dy, perm...)
	}
	if index.Type.DType != dtype.Int64 {
		index = n.cast(index, dtype.Int64)
	}
	d := n.do(ScatterNDConfig{Reduction: "add"}, zeros, index, dy)
	if axis > 0 {
		d = n.transpose(d, slices.Concat(upTo(1, axis+1), []int{0}, upTo(axis+1, rank))...)
	}
	n.Give(0, d)
	return nil
}

// spellBlockSum is the same for GatherElements and GatherND.
func spellBlockSum(n formula) error {
	cfg := n.Config.(blockSumConfig)
	zeros := n.zeros(n.In[0].Type.DType, n.OutShape(0))
	index := n.In[1]
	if index.Type.DType != dtype.Int64 {
		index = n.cast(index, dtype.Int64)
	}
	switch {
	case !cfg.Tuple:
		n.Give(0, n.do(ScatterElementsConfig{Axis: cfg.Axis, Reduction: "add"}, zeros, index, n.In[0]))
	case cfg.Batch == 0:
		n.Give(0, n.do(ScatterNDConfig{Reduction: "add"}, zeros, index, n.In[0]))
	default:
		return fmt.Errorf("its batch_dims is %d", cfg.Batch)
	}
	return nil
}

// spellScatterGrad reads the gradient of updates where they went.
func spellScatterGrad(n formula) error {
	cfg := n.Config.(scatterGradConfig)
	if cfg.Reduction != "none" && cfg.Reduction != "add" {
		return fmt.Errorf("its reduction is %s", cfg.Reduction)
	}
	index, dy := n.In[1], n.In[4]
	d := dy
	if n.Wants(0) && cfg.Reduction == "none" {
		zeros := n.zeros(dy.Type.DType, n.OutShape(1))
		if !n.Wants(1) {
			zeros = n.mul(n.In[2], n.num(dy, 0))
		}
		if cfg.Tuple {
			d = n.do(ScatterNDConfig{}, dy, index, zeros)
		} else {
			d = n.do(ScatterElementsConfig{Axis: cfg.Axis}, dy, index, zeros)
		}
	}
	if n.Wants(1) {
		if cfg.Tuple {
			n.Give(1, n.do(GatherNDConfig{}, dy, index))
		} else {
			n.Give(1, n.do(GatherElementsConfig{Axis: cfg.Axis}, dy, index))
		}
	}
	n.Give(0, n.through(d))
	return nil
}

// spellSliceGrad puts the cut back into zeros.
func spellSliceGrad(n formula) error {
	cfg, y := n.Config.(sliceGradConfig), n.In[0]
	rank := len(cfg.Cuts)
	n.Fixed("the step", func(c *op.Call) []int {
		var steps []int
		for _, k := range c.Config.(sliceGradConfig).Cuts {
			steps = append(steps, k.step)
		}
		return steps
	})
	for a, k := range cfg.Cuts {
		if k.step < 0 {
			y = n.do(SliceConfig{}, y, n.Vector("starts", -1), n.Vector("ends", -farEnd), n.Vector("axes", a), n.Vector("steps", -1))
		}
		step := max(k.step, -k.step)
		if step <= 1 || k.count.Size <= 1 {
			continue
		}
		pads := make([]int, 2*(rank+1)) // step − 1 zeros after each element
		pads[rank+1+a+1] = step - 1
		y = n.do(PadConfig{}, n.unsqueeze(y, a+1), n.Vector("pads", pads...))
		y = n.do(ReshapeConfig{}, y, n.ShapeOf(func(c *op.Call) []op.Dim {
			s := make([]op.Dim, rank)
			for i, k := range c.Config.(sliceGradConfig).Cuts {
				if s[i] = k.count; i <= a && max(k.step, -k.step) > 1 && k.count.Size > 1 {
					s[i] = op.D(k.count.Size * max(k.step, -k.step))
				}
			}
			return s
		}))
	}
	begins := func(c *op.Call) []int {
		b := make([]int, rank)
		for i, k := range c.Config.(sliceGradConfig).Cuts {
			if b[i] = k.start.Size; k.step < 0 {
				b[i] = k.start.Size + (k.count.Size-1)*k.step
			}
			if k.count.Size == 0 {
				b[i] = 0
			}
		}
		return b
	}
	n.Give(0, n.placed(y, begins))
	return nil
}

// placed places x in zeros of the shape of output 0 at the given position, and crops what exceeds them.
func (n formula) placed(x *op.Operand, begins func(c *op.Call) []int) *op.Operand {
	begin := n.ShapeOf(func(c *op.Call) []op.Dim { return op.Dims(begins(c)...) })
	end := n.sub(n.sub(n.OutShape(0), n.do(ShapeConfig{}, x)), begin)
	return n.do(PadConfig{}, x, n.concat(0, begin, end))
}

// spellPadGrad crops the padding, or adds its gradient to the elements that it repeats.
func spellPadGrad(n formula) error {
	cfg, y := n.Config.(padGradConfig), n.In[0]
	for a, source := range cfg.From.sources {
		old := n.Out[0].Type.Shape[a]
		begin := n.Fixed("the padding", func(c *op.Call) []int {
			k := c.Config.(padGradConfig)
			at := slices.Index(k.From.sources[a], 0)
			return []int{at, len(k.From.sources[a]) - k.Shape[a].Size - at}
		})[0]
		run := begin >= 0 && begin+old.Size <= len(source)
		for i, k := range source {
			switch {
			case !run:
			case i < begin || i >= begin+old.Size:
				run = k == -1
			default:
				run = k == i-begin
			}
		}
		switch {
		case run && len(source) == old.Size:
		case run:
			end := -(len(source) - old.Size - begin)
			if end == 0 {
				end = farEnd
			}
			y = n.do(SliceConfig{}, y, n.Vector("starts", begin), n.Vector("ends", end), n.Vector("axes", a))
		case old.Symbolic():
			return fmt.Errorf("the size of axis %d is a symbol: fix it in the type of the model's input", a)
		default:
			y = n.along(y, a, len(cfg.From.sources), len(source), old.Size, func(set func(now, old int, w float64)) {
				for i, k := range source {
					if k >= 0 {
						set(i, k, 1)
					}
				}
			})
		}
	}
	n.Give(0, n.through(y))
	return nil
}

// mostWeights is the maximum number of elements of the matrix of an axis.
const mostWeights = 1 << 24

// along multiplies an axis of x by a constant matrix [now, old] that weights fills.
func (n formula) along(x *op.Operand, axis, rank, now, old int, weights func(set func(now, old int, w float64))) *op.Operand {
	if now > mostWeights/max(old, 1) {
		n.Err = errors.Join(n.Err, fmt.Errorf("axis %d is too long for a matrix of %d × %d", axis, now, old))
		return x
	}
	m, err := n.Filled("weights", n.In[0].Type.DType, 0, now, old)
	if err != nil {
		n.Err = errors.Join(n.Err, err)
		return x
	}
	d, err := n.constantOf(m)
	if err != nil {
		n.Err = errors.Join(n.Err, err)
		return x
	}
	v, _ := dtype.Float64s(d)
	weights(func(i, k int, w float64) {
		v[i*old+k] += w
		setFloat(d, i*old+k, v[i*old+k])
	})
	perm := upTo(0, rank)
	perm[axis], perm[rank-1] = rank-1, axis
	if axis != rank-1 {
		x = n.transpose(x, perm...)
	}
	x = n.do(op.Plain("MatMul"), x, m)
	if axis != rank-1 {
		x = n.transpose(x, perm...)
	}
	return x
}

// spellResampleGrad multiplies each axis by the transposed resampling.
func spellResampleGrad(n formula) error {
	cfg, y := n.Config.(resampleGradConfig), n.In[0]
	rank := len(cfg.Shape)
	taps, err := cfg.Of.taps(nil)
	if err != nil {
		return err
	}
	for _, t := range taps {
		if t.N == 0 {
			continue
		}
		old := n.Out[0].Type.Shape[t.Axis]
		if old.Symbolic() || n.In[0].Type.Shape[t.Axis].Symbolic() {
			return fmt.Errorf("the size of axis %d is a symbol: fix it in the type of the model's input", t.Axis)
		}
		now := len(t.Index) / t.N
		y = n.along(y, t.Axis, rank, now, old.Size, func(set func(now, old int, w float64)) {
			for i := range now {
				for k := range t.N {
					if t.Outside == nil || !t.Outside[i] {
						w := 1.0
						if t.Weight != nil {
							w = t.Weight[i*t.N+k]
						}
						set(i, t.Index[i*t.N+k], w)
					}
				}
			}
		})
	}
	n.Give(0, n.through(y))
	return nil
}

// spellEinsumGrad writes an Einsum over the labels of the operands, with axes that they lack repeated.
func spellEinsumGrad(n formula) error {
	k := n.Config.(contraction)
	letter := func(l int) string { return string(rune('a' + l)) }
	if len(k.Size) > 26 {
		return errors.New("it has more than 26 labels")
	}
	held := map[int]bool{}
	var terms []string
	var in []*op.Operand
	for i, labels := range k.In {
		x, term := n.In[i], ""
		var ones []int
		for a, l := range labels {
			if l < 0 {
				ones = append(ones, a)
				continue
			}
			if strings.Contains(term, letter(l)) {
				return errors.New("a label occurs twice in one operand")
			}
			term += letter(l)
			held[l] = true
		}
		if ones != nil {
			x = n.do(SqueezeConfig{}, x, n.Vector("axes", ones...))
		}
		terms, in = append(terms, term), append(in, x)
	}
	out, lacking := "", []int(nil)
	for a, l := range k.Out {
		if l < 0 || !held[l] {
			lacking = append(lacking, a)
			continue
		}
		if strings.Contains(out, letter(l)) {
			return errors.New("a label occurs twice in one operand")
		}
		out += letter(l)
	}
	y := n.do(EinsumConfig{Equation: strings.Join(terms, ",") + "->" + out}, in...)
	if lacking != nil {
		y = n.expand(n.unsqueeze(y, lacking...), n.OutShape(0))
	}
	n.Give(0, y)
	return nil
}

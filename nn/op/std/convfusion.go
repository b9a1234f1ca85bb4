package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel/convolution"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/pooling"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"gorgonia.org/tensor"
)

// convStage is a convolution with its fused epilogues.
type convStage struct {
	dtype  op.DType
	shape  convolution.Shape
	end    epilogue.List
	weight int // index of the kernel's input; the bias is the next one
	at     int // offset of the first element of the output
}

func newConvStage(c *op.Call) (*convStage, error) {
	s, err := convShape(c)
	return &convStage{dtype: c.In[0].DType, shape: s, end: epilogue.List{Affine: true}, weight: 1}, err
}

// convStages is the pattern of a convolution, or of several that run as one, each the input of the next.
type convStages []*convStage

func (convStages) PatternName() string { return "convolution" }

func convPatterns(c *op.Call) []op.Pattern {
	l, err := newConvStage(c)
	if err != nil || l.dtype != dtype.Float32 && l.dtype != dtype.Float64 {
		return nil // the steps between are rounded to a narrower type
	}
	return []op.Pattern{convStages{l}}
}

// fuseConv runs a depthwise convolution together with the pointwise ones before and after it.
func fuseConv(first, second convStages, m op.Meeting) *op.Fused {
	last, next := first[len(first)-1], second[0]
	if len(second) > 1 || len(next.end.Parts) > 0 || m.Slot != 0 || next.dtype != last.dtype || last.end.Adds() {
		return nil
	}
	more := *next
	more.weight = m.FirstInputs
	return append(slices.Clip(first), &more).fused()
}

// fuseConvEpilogue: normalizations by constants, residuals and activations end a convolution.
func fuseConvEpilogue(first convStages, second *epilogue.Step, m op.Meeting) *op.Fused {
	longer := slices.Clone(first)
	last := *first[len(first)-1]
	var ok bool
	if last.end, ok = last.end.With(second, last.dtype, last.shape.OC, m); !ok {
		return nil
	}
	longer[len(longer)-1] = &last
	return longer.fused()
}

// fused returns the kernel for the convolutions, nil if there is none.
func (list convStages) fused() *op.Fused {
	run := convChain(list)
	if run == nil {
		return nil
	}
	return &op.Fused{Kernel: run, Patterns: []op.Pattern{list}, KeepsSides: true}
}

// poolWindows is the pattern of a MaxPool.
type poolWindows pooling.Shape

func (*poolWindows) PatternName() string { return "pooling windows" }

// fusePool computes the maxima of the windows of a convolution's result, which itself is not stored.
func fusePool(first convStages, second *poolWindows, m op.Meeting) *op.Fused {
	l := first[0]
	if len(first) > 1 || m.Sides || l.dtype != dtype.Float32 || l.end.Adds() {
		return nil
	}
	b := convolution.NewConvPool(&l.shape, (*pooling.Shape)(second).Windows())
	if b == nil {
		return nil
	}
	return &op.Fused{Kernel: func(x *op.Exec, out, in []*tensor.Dense) error {
		w := packedConv[float32](x, l, in)
		b.Forward(pool(x), dtype.Elems[float32](in[0]), w, epilogue.AfterAffine[float32](l.end, in), dtype.Elems[float32](out[0]))
		return nil
	}}
}

// convChain returns the kernel of a chain; nil if there is none for it.
func convChain(chain []*convStage) op.Kernel {
	if len(chain) == 1 {
		return convWithEpilogue(chain[0])
	}
	shapes := make([]*convolution.Shape, len(chain))
	for i, l := range chain {
		shapes[i] = &l.shape
	}
	b := convolution.NewBottleneck(shapes...)
	if b == nil || chain[0].dtype != dtype.Float32 {
		return nil
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		scratch := scratch[float32](x)
		weights, ends := make([]*convolution.Weights[float32], len(chain)), make([]elementwise.Epilogue[float32], len(chain))
		for i, l := range chain {
			weights[i] = packedConv[float32](x, l, in)
			ends[i] = epilogue.AfterAffine[float32](l.end, in)
		}
		b.Forward(pool(x), dtype.Elems[float32](in[0]), weights, ends, dtype.Elems[float32](out[0]), scratch)
		return nil
	}
}

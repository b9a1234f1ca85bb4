package layers

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op/trait"
)

// Fitting is a Conv with kernel size 3 after a value that a convolution computes or that has more than three axes, and a
// Linear elsewhere.
type Fitting struct {
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (f Fitting) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	if e.Err() != nil {
		return nil
	}
	return f.At(x).Build(e, in...)
}

// At returns the Conv or Linear to insert after v, which must not be nil.
func (f Fitting) At(v *nn.Value) nn.Layer {
	if v == nil {
		panic("layers: the value that a layer is to fit is nil")
	}
	if at := v.Layout(); at == trait.ChannelsFirst || at == trait.AnyLayout && v.Type().Rank() > 3 {
		return Conv{Kernel: []int{3}, Name: f.Name}
	}
	return Linear{Name: f.Name}
}

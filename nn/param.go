package nn

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Param is a tensor that belongs to the model: a weight, a running statistic or a constant.
type Param struct {
	data   *tensor.Dense // shared by every lowering; nil for a tensor of strings
	text   *dtype.Strings
	frozen bool

	role  *Role // set by hand; nil: see Role
	value *Value
	kept  *engine.WeightCache // what kernels derived from Data; forks share it as they share Data
}

// Name is the name of the parameter's value.
func (p *Param) Name() string {
	if p == nil {
		return ""
	}
	return p.value.Name()
}

// Value is the graph's value that the parameter stands behind.
func (p *Param) Value() *Value {
	if p == nil {
		return nil
	}
	return p.value
}

// Data is the parameter's tensor, which every lowering shares; nil where it is one of strings. Edit.SetData puts another in
// its place. A program that writes elements calls Changed afterwards.
func (p *Param) Data() *tensor.Dense { return p.data }

// Text is the parameter's tensor of strings, nil where it is one of numbers.
func (p *Param) Text() *dtype.Strings { return p.text }

// Frozen reports whether training leaves the parameter as it is, see Edit.Freeze.
func (p *Param) Frozen() bool { return p.frozen }

// Tensor is the parameter's tensor, of numbers or strings.
func (p *Param) Tensor() dtype.Value {
	if p.text != nil {
		return p.text
	}
	return p.data
}

// Trainable reports whether training changes the parameter.
func (p *Param) Trainable() bool { return !p.frozen && p.Role() == Weight }

// Changed says that elements of Data were written in place. Runs keep weights in the order in which
// kernels read them best, and what was computed of constants, and make it anew after this. SetData, edits
// and trainers call it by themselves; who writes into Data calls it before the next run. Of parameters that
// Lower has handed out, which Gorgonia's solvers change, nothing is kept.
func (p *Param) Changed() { p.kept.Changed() }

// Size is the number of elements.
func (p *Param) Size() int {
	if p.text != nil {
		return p.text.Size()
	}
	if p.data == nil {
		return 0
	}
	n := 1
	for _, d := range p.data.Shape() {
		n *= d
	}
	return n
}

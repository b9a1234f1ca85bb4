package nn

import (
	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Param is a tensor that belongs to the model: a weight, a running statistic or a constant.
type Param struct {
	data   *tensor.Dense // shared by every lowering; nil for a tensor of strings
	text   *dtype.Strings
	frozen bool

	role  *Role // set by SetRole; nil: see Role
	mask  bool  // loaded as an attention mask: never a weight
	value *Value
	kept  *engine.WeightCache // what kernels derived from Data; shared by forks, like Data
}

// Name returns the name of the parameter's value.
func (p *Param) Name() string {
	defer p.locked().unlock()
	return p.id()
}

func (p *Param) id() string {
	if p == nil {
		return ""
	}
	return p.value.id()
}

// String returns the name and the type: "conv1.weight float32[8,3,3,3]".
func (p *Param) String() string { return p.Value().String() }

// Value returns the value whose contents the parameter holds.
func (p *Param) Value() *Value {
	if p == nil {
		return nil
	}
	return p.value
}

// Data returns the parameter's tensor, which is shared by all lowerings; nil for strings. Edit.SetData replaces it. A
// program may write to its elements, but not during a run: from now on, each run compares a hash of the elements, which
// takes about as long as reading them.
func (p *Param) Data() *tensor.Dense {
	defer p.locked().unlock()
	p = there(p)
	p.kept.Lend()
	return p.data
}

// Text returns the parameter's tensor of strings, nil if it holds numbers. What holds for Data does for it.
func (p *Param) Text() *dtype.Strings {
	p = there(p)
	p.kept.Lend()
	return p.text
}

// Frozen reports whether training leaves the parameter unchanged, see Edit.Freeze.
func (p *Param) Frozen() bool {
	defer p.locked().unlock()
	return there(p).frozen
}

// Tensor returns the parameter's tensor, of numbers or of strings. What holds for Data does for it.
func (p *Param) Tensor() dtype.Value {
	defer p.locked().unlock()
	p = there(p)
	p.kept.Lend()
	return p.tensor()
}

func init() {
	direct.Provide(func(x direct.Param) dtype.Value {
		p := x.(*Param)
		defer p.locked().unlock()
		return there(p).tensor()
	}, func(e, v any, d *tensor.Dense) { e.(*Edit).replaceData(v.(*Value), d) })
}

func (p *Param) tensor() dtype.Value {
	if p.text != nil {
		return p.text
	}
	return p.data
}

// Trainable reports whether training changes the parameter.
func (p *Param) Trainable() bool {
	defer p.locked().unlock()
	return there(p).trainable()
}

func (p *Param) trainable() bool { return !p.frozen && p.purpose() == Weight }

// Changed says that elements of the parameter were written. Runs keep copies of weights in the order in which kernels read
// them, and results computed from constants, and create them again after Changed. A program need not call it: edits and
// trainers do, and runs notice what is written to the results of Data, and by Gorgonia's solvers to nodes of a Lowered.
func (p *Param) Changed() { there(p).kept.Changed() }

// Size returns the number of elements.
func (p *Param) Size() int {
	defer p.locked().unlock()
	return there(p).size()
}

func (p *Param) size() int {
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

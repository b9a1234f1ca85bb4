package op

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Operand is a value that nodes read and compute while they are rewritten for another version. Equal pointers are the
// same value.
type Operand struct {
	Type  Type   // as far as known
	Known Known  // as far as known; Known.Value is set if an adapter may turn the value into an attribute
	Name  string // suffix of the name of a value that an adapter adds, after that of the node
	fixed bool   // a constant that was added
}

// Constant reports whether the operand is a constant that an adapter added; its value is Known.Value.
func (x *Operand) Constant() bool { return x.fixed }

// Part is one node: a configuration, what it reads and what it computes. nil stands for a value that is absent.
type Part struct {
	Config  Config     // operator and attributes
	In, Out []*Operand // nil: absent, or not read by anything
	Scan    *Scan      // the subgraph of a part that Spelling.Scan added
}

// Spelling is a node that is being rewritten from one version of its operator to another. Steps and decompositions change
// its configuration and operands and add nodes around it, which are written in the newest version and rewritten in turn.
type Spelling struct {
	*Part
	set           Set
	before, after []*Part
	gone          bool  // the parts before replace it
	Err           error // the first error, after which methods do nothing

	Call  *Call   // the call of a lowering that is being written (Set.Spell), nil otherwise
	calls []*Call // the same call at all sizes
	sizes sizesOf // see Spell
}

const zeroSpelling = "op: a Spelling is what the steps of a version are given: this one is zero"

// made panics for a zero Spelling.
func (n *Spelling) made() {
	if n.Part == nil {
		panic(zeroSpelling)
	}
}

// SlotName returns the formal name of an input or output.
func (n *Spelling) SlotName(formal func(o *Op) Slots, i int) string {
	n.made()
	o, err := n.set.Of(n.Config)
	if err != nil {
		return ""
	}
	s, _ := At(formal(o).List(), i)
	return s.Name
}

// Has reports whether input i is present.
func (n *Spelling) Has(i int) bool {
	n.made()
	return i < len(n.In) && n.In[i] != nil
}

// Rank returns the rank of input i. It is an error if the rank is not known.
func (n *Spelling) Rank(i int) (int, error) {
	if n.Has(i) {
		if t := n.In[i].Type; t.Present() && t.Rank() >= 0 {
			return t.Rank(), nil
		}
	}
	return 0, errors.New("the rank of its input is not known")
}

// Sizes returns the shape of input i. It is an error if a dimension has no number.
func (n *Spelling) Sizes(i int) ([]int, error) {
	if !n.Has(i) || !n.In[i].Type.Static() || slices.ContainsFunc(n.In[i].Type.Shape, Dim.Symbolic) {
		return nil, errors.New("the shape of its input is not known")
	}
	return n.In[i].Type.Sizes(), nil
}

// DType returns the element type of input i, float32 if it is not known.
func (n *Spelling) DType(i int) DType {
	if n.Has(i) && n.In[i].Type.Present() {
		return n.In[i].Type.DType
	}
	return dtype.Float32
}

// Constant returns the value of input i, nil if it is absent. It is an error if the input is computed.
func (n *Spelling) Constant(i int) (*tensor.Dense, error) {
	if !n.Has(i) {
		return nil, nil
	}
	if d, ok := n.In[i].Known.Value.(*tensor.Dense); ok && d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("input %s is computed, and in that version it is an attribute", n.SlotName(func(o *Op) Slots { return o.In }, i))
}

// Ints returns the value of integer input i, nil if it is absent.
func (n *Spelling) Ints(i int) ([]int, error) {
	d, err := n.Constant(i)
	if d == nil || err != nil {
		return nil, err
	}
	return dtype.Ints(d)
}

// Number returns the value of input i, which must have one element; nil if it is absent.
func (n *Spelling) Number(i int) (*float32, error) {
	d, err := n.Constant(i)
	if d == nil || err != nil {
		return nil, err
	}
	v, err := dtype.Float64s(d)
	if err != nil || len(v) != 1 {
		return nil, fmt.Errorf("input %d is not a number", i)
	}
	x := float32(v[0])
	return &x, nil
}

// Cut removes input i and those after it.
func (n *Spelling) Cut(i int) {
	n.made()
	n.In = slices.Clip(n.In[:min(i, len(n.In))])
}

// Put makes x input i.
func (n *Spelling) Put(i int, x *Operand) {
	n.made()
	in := slices.Clone(n.In)
	for len(in) <= i {
		in = append(in, nil)
	}
	in[i] = x
	n.In = in
}

// Tensor adds a constant.
func (n *Spelling) Tensor(name string, d *tensor.Dense) *Operand {
	if d == nil {
		n.Err = errors.Join(n.Err, fmt.Errorf("constant %q is nil", name))
		return &Operand{Name: name}
	}
	return &Operand{Type: TypeOf(d), Known: Known{Value: d}, Name: name, fixed: true}
}

// Vector adds a constant int64 vector.
func (n *Spelling) Vector(name string, v ...int) *Operand {
	d := dtype.New(dtype.Int64, len(v))
	for i, x := range v {
		dtype.Slice[int64](d)[i] = int64(x)
	}
	return n.Tensor(name, d)
}

// Filled adds a constant of element type t whose elements are all x; without a shape it is a scalar.
func (n *Spelling) Filled(name string, t DType, x float64, shape ...int) (*Operand, error) {
	count, err := dtype.Count(shape)
	if err != nil {
		return nil, err
	}
	wide, err := dtype.FromFloats(dtype.Float64, slices.Repeat([]float64{x}, count), shape...)
	if err != nil {
		return nil, err
	}
	d, err := dtype.ConvertTo(t, wide)
	if err != nil {
		return nil, err
	}
	return n.Tensor(name, d), nil
}

// Before adds a node before n and returns its output.
func (n *Spelling) Before(name string, c Config, in ...*Operand) *Operand {
	return n.BeforeN(name, 1, c, in...)[0]
}

// BeforeN is Before for a node with several outputs.
func (n *Spelling) BeforeN(name string, outputs int, c Config, in ...*Operand) []*Operand {
	p := n.part(c, in)
	for _, t := range n.infer(p, outputs) {
		p.Out = append(p.Out, &Operand{Type: t, Name: name})
	}
	n.before = append(n.before, p)
	return p.Out
}

// part returns a node of the newest version.
func (n *Spelling) part(c Config, in []*Operand) *Part {
	full, err := n.set.Complete(c)
	if err != nil {
		n.Err = errors.Join(n.Err, err)
		full = c
	}
	return &Part{Config: full, In: slices.Clone(in)}
}

// infer returns the types of a part's outputs as far as known.
func (n *Spelling) infer(p *Part, outputs int) []Type {
	c, err := n.set.NewCall(p.Config)
	if err != nil {
		return make([]Type, outputs)
	}
	c.Outputs = outputs
	for _, x := range p.In {
		t, k := Type{}, Known{}
		if x != nil {
			t, k = x.Type, x.Known
		}
		c.In, c.Known = append(c.In, t), append(c.Known, k)
	}
	if err := c.Resolve(); err != nil {
		return make([]Type, outputs) // an input of unknown type
	}
	return c.Out[:outputs]
}

// After makes output 0 pass through an added node, of which it is input 0; more are its other inputs. t is the type of
// the output before that node.
func (n *Spelling) After(name string, t Type, c Config, more ...*Operand) {
	n.made()
	x := &Operand{Type: t, Name: name}
	p := n.part(c, append([]*Operand{x}, more...))
	p.Out = []*Operand{n.Out[0]}
	n.after = append([]*Part{p}, n.after...)
	n.Out = slices.Clone(n.Out)
	n.Out[0] = x
}

// Give makes x, the output of a node added with Before, output i of a decomposed operator. It does nothing for an output
// that nothing reads. Give each x only once, after all other uses.
func (n *Spelling) Give(i int, x *Operand) {
	if !n.Wants(i) {
		return
	}
	found := false
	for _, p := range n.before {
		for _, list := range [][]*Operand{p.In, p.Out} {
			for k := range list {
				if list[k] == x {
					list[k], found = n.Out[i], true
				}
			}
		}
	}
	if !found {
		n.before = append(n.before, &Part{Config: Name{Name: "Identity"}, In: []*Operand{x}, Out: []*Operand{n.Out[i]}})
	}
}

// Wants reports whether output i is used.
func (n *Spelling) Wants(i int) bool {
	n.made()
	return i < len(n.Out) && n.Out[i] != nil
}

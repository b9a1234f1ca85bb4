package std

import (
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
)

// EinsumConfig has the attributes of Einsum.
type EinsumConfig struct {
	Equation string `onnx:"equation,required"` // "ij,jk->ik"; "..." are broadcast axes
}

// Operator makes EinsumConfig a Config.
func (EinsumConfig) Operator() op.Name { return op.Name{Name: "Einsum"} }

func einsum() *op.Op {
	return &op.Op{
		Name: "Einsum", Since: []int{12},
		Doc: "Sums products of tensors over the labels that the output lacks.",
		In:  "Inputs* T weight", Out: "Output T", Where: op.Where{"T": op.Numeric()}, Attrs: EinsumConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			e, err := parseEquation(c)
			if err != nil {
				return nil, err
			}
			shape := make([]op.Dim, len(e.out))
			for i, l := range e.out {
				shape[i] = e.size[l]
			}
			return convOutput(c, shape)
		},
		Kernel: widened(func(c *op.Call) (op.Kernel, error) {
			e, err := parseEquation(c)
			if err != nil {
				return nil, err
			}
			return contractionKernel(c.In[0].DType, e.contraction()), nil
		}),
		Grad: einsumGrad, Couple: coupleEinsum,
		Cost: func(c *op.Call) (int64, int64) {
			e, err := parseEquation(c)
			if err != nil {
				return 0, 0
			}
			return int64(op.Product(e.size).Size), bytesMoved(c)
		},
		Traits: op.Traits{Zero: op.ZeroAny, Trains: trainsFactor},
	}
}

// equation is a parsed equation. Labels are numbers; size is by label. An axis of length 1 whose
// label has a larger size is broadcast: it has the label -1.
type equation struct {
	in   [][]int
	out  []int
	size []op.Dim
}

// labels maps letters and the axes of an ellipsis to numbers.
type labels map[int]int

func (m labels) of(key int) int {
	if _, ok := m[key]; !ok {
		m[key] = len(m)
	}
	return m[key]
}

// ellipsis is the key of the last axis of an ellipsis; keys of labels are letters, and axes of an
// ellipsis are numbered from the last.
const ellipsis = 1 << 20

func parseEquation(c *op.Call) (equation, error) {
	text := strings.ReplaceAll(c.Config.(EinsumConfig).Equation, " ", "")
	left, right, explicit := strings.Cut(text, "->")
	terms := strings.Split(left, ",")
	if len(terms) != len(c.In) {
		return equation{}, c.Errorf("equation %q has %d operands, the node %d inputs", text, len(terms), len(c.In))
	}
	var e equation
	seen, longest := labels{}, 0
	for i, term := range terms {
		rank, err := c.Rank(i)
		if err != nil {
			return e, err
		}
		keys, rest, err := einsumTerm(c, term, rank)
		if err != nil {
			return e, err
		}
		longest = max(longest, rest)
		axes := make([]int, len(keys))
		for k, key := range keys {
			axes[k] = seen.of(key)
		}
		e.in = append(e.in, axes)
	}
	if err := e.sizes(c, len(seen)); err != nil {
		return e, err
	}
	if !explicit {
		right = implicitOutput(left, longest > 0)
	}
	keys, _, err := einsumTerm(c, right, strings.Count(right, "...")*longest+len(strings.ReplaceAll(right, "...", "")))
	if err != nil {
		return e, err
	}
	for _, key := range keys {
		l, ok := seen[key]
		if !ok || slices.Contains(e.out, l) {
			return e, c.Errorf("equation %q: the output has a label that is not in the inputs, or twice", text)
		}
		e.out = append(e.out, l)
	}
	return e, nil
}

// einsumTerm returns the keys of one operand's axes; rest is the number of axes of the ellipsis.
func einsumTerm(c *op.Call, term string, rank int) (keys []int, rest int, err error) {
	if strings.Count(term, "...") > 1 {
		return nil, 0, c.Errorf("operand %q has two ellipses", term)
	}
	if rest = rank - len(strings.ReplaceAll(term, "...", "")); rest < 0 || rest > 0 && !strings.Contains(term, "...") {
		return nil, 0, c.Errorf("operand %q does not name %d axes", term, rank)
	}
	for len(term) > 0 {
		if after, ok := strings.CutPrefix(term, "..."); ok {
			term = after
			for k := rest; k > 0; k-- {
				keys = append(keys, ellipsis+k)
			}
			continue
		}
		if b := term[0] | 0x20; b < 'a' || b > 'z' {
			return nil, 0, c.Errorf("operand %q: %q is not a label", term, term[0])
		}
		keys = append(keys, int(term[0]))
		term = term[1:]
	}
	return keys, rest, nil
}

// implicitOutput has the ellipsis, then the letters that occur once, in alphabetical order.
func implicitOutput(left string, dots bool) string {
	var letters []string
	for _, l := range strings.Split(strings.ReplaceAll(strings.ReplaceAll(left, "...", ""), ",", ""), "") {
		if strings.Count(left, l) == 1 {
			letters = append(letters, l)
		}
	}
	slices.Sort(letters)
	out := strings.Join(letters, "")
	if dots {
		out = "..." + out
	}
	return out
}

// sizes determines the size of every label and removes the label of broadcast axes.
func (e *equation) sizes(c *op.Call, n int) error {
	e.size = make([]op.Dim, n)
	for i := range e.size {
		e.size[i] = op.D(1)
	}
	for i, axes := range e.in {
		for a, l := range axes {
			d, ok := op.BroadcastDim(e.size[l], c.In[i].Shape[a])
			if !ok {
				return c.Errorf("axis %d of input %d is %v, elsewhere the label has %v", a, i, c.In[i].Shape[a], e.size[l])
			}
			e.size[l] = d
		}
	}
	for i, axes := range e.in {
		for a, l := range axes {
			if c.In[i].Shape[a].Size == 1 && e.size[l].Size != 1 {
				axes[a] = -1
			}
		}
	}
	return nil
}

func (e equation) contraction() contraction {
	return contraction{In: e.in, Out: e.out, Size: op.Sizes(e.size)}
}

// einsumGrad: the gradient of an operand is the contraction of dY with the other operands.
func einsumGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	e, err := parseEquation(c)
	if err != nil {
		return nil, err
	}
	grads := make(gorgonia.Nodes, len(in))
	for i := range in {
		k := contraction{In: [][]int{e.out}, Out: e.in[i], Size: op.Sizes(e.size)}
		args := gorgonia.Nodes{dout[0]}
		for j := range in {
			if j != i {
				k.In, args = append(k.In, e.in[j]), append(args, in[j])
			}
		}
		if grads[i], err = c.Apply1(k, args...); err != nil {
			return nil, err
		}
	}
	return grads, nil
}

// einsumGradOp computes a contraction whose result may have a label twice (it goes to the
// diagonal), labels that no operand has (it is repeated) and axes without one.
func einsumGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "EinsumGrad", Since: []int{1}, Decompose: spelled(spellEinsumGrad), Doc: "Gradient of Einsum.",
		In: "Inputs* T", Out: "Output T", Where: op.Where{"T": op.Floats()}, Attrs: contraction{}, GradMissing: op.NotTwice, Pinned: "gradient",
		Infer: func(c *op.Call) ([]op.Type, error) {
			k := c.Config.(contraction)
			return []op.Type{c.In[0].With(op.Dims(k.shape(k.Out)...)...)}, nil
		},
		Kernel: widened(func(c *op.Call) (op.Kernel, error) {
			return contractionKernel(c.In[0].DType, c.Config.(contraction)), nil
		}),
		Cost: func(c *op.Call) (int64, int64) {
			return int64(dtype.Product(c.Config.(contraction).Size)), bytesMoved(c)
		},
	}
}

func contractionKernel(t op.DType, k contraction) op.Kernel {
	switch t {
	case dtype.Float32:
		return contractor[float32](k)
	case dtype.Float64:
		return contractor[float64](k)
	case dtype.Uint64:
		return contractor[uint64](k)
	}
	return contractor[int64](k)
}

// coupleEinsum: axes of one label go together.
func coupleEinsum(c *op.Call) []coupling.Coupling {
	e, err := parseEquation(c)
	if err != nil {
		return nil
	}
	var list []coupling.Coupling
	first := make([]*coupling.Axis, len(e.size))
	add := func(l int, ref coupling.Axis) {
		switch {
		case l < 0:
		case first[l] == nil:
			first[l] = &ref
		default:
			list = append(list, op.Couple(*first[l], ref))
		}
	}
	for i, axes := range e.in {
		for a, l := range axes {
			add(l, coupling.In(i, a))
		}
	}
	for a, l := range e.out {
		add(l, coupling.Out(0, a))
	}
	return list
}

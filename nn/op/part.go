package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// part marks one contribution to the gradient of input slot of an operator with several outputs: the one
// that passes through the given output. When run, it is the identity on its first input.
type part struct {
	of     *emission
	output int
	slot   int
}

type partConfig struct {
	Part *part
}

func (partConfig) Operator() Name { return Name{Domain: Internal, Name: "GradientPart"} }

func gradientPart() *Op {
	return &Op{
		Domain: Internal, Name: "GradientPart", Since: []int{1},
		Doc: "Marks a gradient that came through one of several outputs, for merging.",
		In:  "X T, dY any", Out: "Y T",
		Attrs:       partConfig{},
		Infer:       func(c *Call) ([]Type, error) { return []Type{c.In[0]}, nil },
		Scheduling:  Scheduling{View: true},
		Kernel:      CopyKernel,
		GradMissing: NotTwice,
		Pinned:      "part of a gradient",
	}
}

// CopyKernel returns the kernel of operators whose output 0 has the same bytes as input 0.
func CopyKernel(*Call) (Kernel, error) {
	return func(_ *Exec, out, in []*tensor.Dense) error {
		copy(out[0].Raw, in[0].Raw)
		return nil
	}, nil
}

func markPart(e *emission, output, slot int, d, grad *gorgonia.Node) (*gorgonia.Node, error) {
	return e.call.Apply1(partConfig{&part{e, output, slot}}, d, grad)
}

func partOf(n *gorgonia.Node) (*part, bool) {
	e, ok := n.Op().(*expr)
	if !ok {
		return nil, false
	}
	c, ok := e.call.Config.(partConfig)
	return c.Part, ok
}

package op

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"gorgonia.org/tensor"
)

type markConfig struct{}

func (markConfig) Operator() Name { return Name{Domain: Internal, Name: "GradientMark"} }

// gradientMark is, within Backpropagate, the gradient of its input. When run, it is the identity.
func gradientMark() *Op {
	return &Op{
		Domain: Internal, Name: "GradientMark", Since: []int{1},
		Doc: "Stands for the gradient of a value until all that read the value are differentiated.",
		In:  "X T", Out: "Y T",
		Attrs:       markConfig{},
		Infer:       func(c *Call) ([]Type, error) { return []Type{c.In[0]}, nil },
		Scheduling:  Scheduling{View: true},
		Kernel:      CopyKernel,
		GradMissing: NotTwice,
		Pinned:      "a gradient",
	}
}

// CopyKernel returns the kernel of operators whose output 0 has the same bytes as input 0.
func CopyKernel(*Call) (Kernel, error) {
	return func(x *Exec, out, in []*tensor.Dense) error {
		kernel.Copy((*engine.Exec)(x).Pool(), out[0].Raw, in[0].Raw)
		return nil
	}, nil
}

package legacy

import (
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// ATenConfig has the attribute that every ATen node has: the name of the function. The others are the
// function's arguments.
type ATenConfig struct {
	Function string `onnx:"operator"` // name of the function in ATen
}

// Operator names the operator.
func (ATenConfig) Operator() op.Name { return op.Name{Name: "ATen"} }

// aten is read and written back, and cannot be run.
func aten() *op.Op {
	return &op.Op{Name: "ATen", Since: []int{1}, Doc: "A function of PyTorch's library by its name, which only PyTorch itself and Caffe2 could run.",
		In: "input* any", Out: "output* any", Attrs: ATenConfig{}, Pinned: "what it computes is not known",
		NoGrad: "it cannot be run",
		Infer:  func(c *op.Call) ([]op.Type, error) { return make([]op.Type, c.Outputs), nil },
		Lower: func(c *op.Call, _ gorgonia.Nodes) (gorgonia.Nodes, error) {
			name := c.Config.(ATenConfig).Function
			if name == "" {
				name = "one that it does not name"
			}
			return nil, c.Errorf("calls a function of PyTorch's library ATen (%s), which is not an ONNX operator and has no definition in the file; "+
				"export the model again with a newer PyTorch, without operator_export_type ONNX_ATEN or ONNX_ATEN_FALLBACK", name)
		}}
}

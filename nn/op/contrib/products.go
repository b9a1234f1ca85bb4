package contrib

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/std"
)

// FusedMatMulConfig has the attributes of FusedMatMul and FusedMatMulActivation.
type FusedMatMulConfig struct {
	Alpha       *float32 `onnx:"alpha"`       // nil: 1
	TransA      bool     `onnx:"transA"`      // transpose the last two axes of A
	TransB      bool     `onnx:"transB"`      // transpose the last two axes of B
	TransBatchA bool     `onnx:"transBatchA"` // move the first axis of A in front of its last
	TransBatchB bool     `onnx:"transBatchB"` // move the first axis of B in front of its last
}

// Operator names the operator.
func (FusedMatMulConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "FusedMatMul"} }

// FusedMatMulActivationConfig has the attributes of FusedMatMulActivation.
type FusedMatMulActivationConfig struct {
	Activation  string   `onnx:"activation,required"` // applied to the result
	Alpha       *float32 `onnx:"alpha"`               // factor of A·B; nil: 1
	TransA      bool     `onnx:"transA"`              // transpose the last two axes of A
	TransB      bool     `onnx:"transB"`              // transpose the last two axes of B
	TransBatchA bool     `onnx:"transBatchA"`         // move the first axis of A in front of its last
	TransBatchB bool     `onnx:"transBatchB"`         // move the first axis of B in front of its last
	ActAlpha    *float32 `onnx:"activation_alpha"`    // alpha of the activation; nil: its default
	ActBeta     *float32 `onnx:"activation_beta"`     // beta, likewise
	ActGamma    *float32 `onnx:"activation_gamma"`    // gamma, likewise
	ActAxis     *int     `onnx:"activation_axis"`     // axis of a softmax
}

// Operator names the operator.
func (FusedMatMulActivationConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "FusedMatMulActivation"}
}

// FusedGemmConfig has the attributes of FusedGemm: those of Gemm and an activation with its parameters.
type FusedGemmConfig struct {
	Alpha      *float32 `onnx:"alpha"`            // factor of A·B; nil: 1
	Beta       *float32 `onnx:"beta"`             // factor of C; nil: 1
	TransA     bool     `onnx:"transA"`           // transpose A
	TransB     bool     `onnx:"transB"`           // transpose B
	Activation string   `onnx:"activation"`       // applied to the result; "": none
	ActAlpha   *float32 `onnx:"activation_alpha"` // alpha of the activation; nil: its default
	ActBeta    *float32 `onnx:"activation_beta"`  // beta, likewise
	ActGamma   *float32 `onnx:"activation_gamma"` // gamma, likewise
}

// Operator names the operator.
func (FusedGemmConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "FusedGemm"} }

func (c FusedGemmConfig) gemm() std.GemmConfig {
	return std.GemmConfig{Alpha: c.Alpha, Beta: c.Beta, TransA: c.TransA, TransB: c.TransB}
}

// given returns the parameters that are set.
func given(params ...*float32) (list []float32) {
	for _, p := range params {
		if p != nil {
			list = append(list, *p)
		}
	}
	return list
}

func products() []*op.Op {
	floats := op.Where{"T": op.Floats()}
	return []*op.Op{
		composed(op.Op{Name: "FusedMatMul", Cost: counted, Doc: "alpha times the product of A and B, either of them transposed.",
			In: "A T weight, B T weight", Out: "Y T", Where: floats, Attrs: FusedMatMulConfig{}, Couple: coupleFusedMatMul},
			func(e *expression, in []value) []value {
				return []value{e.fusedMatMul(e.c.Config.(FusedMatMulConfig), in)}
			}),
		composed(op.Op{Name: "FusedMatMulActivation", Cost: counted, Doc: "An activation of FusedMatMul.",
			In: "A T weight, B T weight", Out: "Y T", Where: floats, Attrs: FusedMatMulActivationConfig{}, Pinned: "an activation may run over an axis"},
			func(e *expression, in []value) []value {
				c := e.c.Config.(FusedMatMulActivationConfig)
				y := e.fusedMatMul(FusedMatMulConfig{c.Alpha, c.TransA, c.TransB, c.TransBatchA, c.TransBatchB}, in)
				if c.Activation == "Softmax" {
					return []value{e.do(std.SoftmaxConfig{Axis: c.ActAxis}, y)}
				}
				return []value{e.activation(c.Activation, y, given(c.ActAlpha, c.ActBeta, c.ActGamma))}
			}),
		composed(op.Op{Name: "FusedGemm", Cost: counted, Doc: "An activation of Gemm.",
			In: "A T weight, B T weight, C? T weight", Out: "Y T", Where: floats, Attrs: FusedGemmConfig{},
			Couple: func(c *op.Call) []coupling.Coupling { return couplingsAs(c, c.Config.(FusedGemmConfig).gemm(), 3) }},
			func(e *expression, in []value) []value {
				c := e.c.Config.(FusedGemmConfig)
				return []value{e.activation(c.Activation, e.do(c.gemm(), in...), given(c.ActAlpha, c.ActBeta, c.ActGamma))}
			}),
	}
}

func (e *expression) fusedMatMul(c FusedMatMulConfig, in []value) value {
	a := e.turned(in[0], c.TransA, c.TransBatchA)
	b := e.turned(in[1], c.TransB, c.TransBatchB)
	return e.scale(e.do(op.Plain("MatMul"), a, b), or(c.Alpha, 1))
}

// turned transposes an operand: batch takes the first axis in front of the last, trans exchanges the last two then.
func (e *expression) turned(v value, trans, batch bool) value {
	perm := turnedAxes(len(v.typ.Shape), trans, batch)
	if perm == nil {
		return v
	}
	return e.transpose(v, perm...)
}

// turnedAxes returns the permutation of turned; nil: none.
func turnedAxes(rank int, trans, batch bool) []int {
	if rank < 2 || !trans && !batch {
		return nil
	}
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	if batch {
		perm = append(append(slices.Clone(perm[1:rank-1]), 0), rank-1)
	}
	if trans {
		perm[rank-1], perm[rank-2] = perm[rank-2], perm[rank-1]
	}
	return perm
}

// coupleFusedMatMul has MatMul's couplings, with the axes of the operands as they are stored.
func coupleFusedMatMul(c *op.Call) []coupling.Coupling {
	cfg := c.Config.(FusedMatMulConfig)
	perms := [][]int{turnedAxes(len(c.In[0].Shape), cfg.TransA, cfg.TransBatchA), turnedAxes(len(c.In[1].Shape), cfg.TransB, cfg.TransBatchB)}
	sub := *c
	sub.In = slices.Clone(c.In)
	for i, perm := range perms {
		if perm != nil {
			shape := make([]op.Dim, len(perm))
			for k, a := range perm {
				shape[k] = c.In[i].Shape[a]
			}
			sub.In[i] = c.In[i].With(shape...)
		}
	}
	list := couplingsAs(&sub, op.Plain("MatMul"), 2)
	stored := func(r *coupling.Axis) {
		if !r.Output && perms[r.Slot] != nil {
			r.Axis = perms[r.Slot][r.Axis]
		}
	}
	for i := range list {
		stored(&list[i].From)
		stored(&list[i].To)
	}
	return list
}

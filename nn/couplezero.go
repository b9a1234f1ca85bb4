package nn

import (
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// keepsZero are the operators whose result is zero where their first input is.
var keepsZero = map[string]bool{
	"Abs": true, "Asin": true, "Asinh": true, "Atan": true, "Atanh": true, "Cast": true, "CastLike": true, "Ceil": true, "Celu": true,
	"Dropout": true, "Elu": true, "Erf": true, "Floor": true, "Gelu": true, "HardSwish": true, "Identity": true, "LeakyRelu": true,
	"Mish": true, "Neg": true, "PRelu": true, "Relu": true, "Round": true, "Selu": true, "Shrink": true, "Sign": true, "Sin": true,
	"Sinh": true, "Softsign": true, "Sqrt": true, "Swish": true, "Tan": true, "Tanh": true, "ThresholdedRelu": true,
	"AveragePool": true, "GlobalAveragePool": true, "GlobalMaxPool": true, "MaxPool": true, "LpPool": true, "GlobalLpPool": true,
	"DepthToSpace": true, "SpaceToDepth": true, "Expand": true, "Flatten": true, "Gather": true, "Pad": true, "Reshape": true,
	"Resize": true, "Upsample": true, "Slice": true, "Split": true, "Squeeze": true, "Tile": true, "Transpose": true, "Trilu": true,
	"Unsqueeze": true, "ReduceSum": true, "ReduceMean": true, "ReduceMax": true, "ReduceMin": true, "ReduceL1": true, "ReduceL2": true,
	"ReduceSumSquare": true, "LSTM": true, "GRU": true, "RNN": true, "Div": true, "Pow": true, "LRN": true, "LpNormalization": true,
}

// needsAll are the operators whose result is zero where all inputs are that reach the axis: sums,
// and weights with their biases.
var needsAll = map[string]bool{
	"Add": true, "Sub": true, "Sum": true, "Max": true, "Min": true, "Mean": true, "Concat": true, "Where": true,
	"Conv": true, "ConvTranspose": true, "Gemm": true, "MatMul": true, "Einsum": true,
}

// affine are the normalizations: zero where scale and bias are, which are inputs 1 and 2.
var affine = map[string]bool{
	"BatchNormalization": true, "InstanceNormalization": true, "GroupNormalization": true, "LayerNormalization": true, "RMSNormalization": true,
}

// zeroed says whether the slices of an axis are zero once the slices of all parameters in their atom are.
func (a *analysis) zeroed(id axisID) bool {
	v := a.axes[id].value
	return v.param != nil || a.leaf[v] || a.zero[id]
}

// zeroes finds out which axes of the node's outputs are zero with their atoms' parameters.
func (k *coverage) zeroes() {
	for _, v := range k.n.out {
		if v == nil {
			continue
		}
		for x := range k.a.rank[v] {
			out, _ := k.a.of(v, x)
			k.a.zero[out] = k.zeroOut(out)
		}
	}
}

// zeroOut says whether an output axis is zero where the parameters of its atoms are.
func (k *coverage) zeroOut(out axisID) bool {
	reach := k.reach(out) // axes of inputs that the output axis is tied to
	slot := func(i int) (zero, tied bool) {
		v := k.n.In(i)
		if v == nil {
			return true, true
		}
		zero = true
		for _, id := range reach {
			if k.a.axes[id].value == v {
				tied, zero = true, zero && k.a.zeroed(id)
			}
		}
		return zero && tied, tied
	}
	switch t := k.n.opType; {
	case t == "LSTM" || t == "GRU" || t == "RNN":
		return true
	case keepsZero[t]:
		z, _ := slot(0)
		return z
	case t == "Mul" || t == "And":
		a, _ := slot(0)
		b, _ := slot(1)
		return a || b
	case t == "MatMul" || t == "Einsum":
		for i := range k.n.in {
			if z, _ := slot(i); z {
				return true
			}
		}
	case t == "Conv" || t == "ConvTranspose" || t == "Gemm":
		data, tied := slot(0) // depthwise: data and weight reach the axis
		w, wt := slot(1)
		b, _ := slot(2)
		return b && (tied && data || wt && w)
	case needsAll[t]:
		for i := range k.n.in {
			if z, tied := slot(i); !z && (tied || t != "Concat") {
				return false
			}
		}
		return true
	case affine[t]:
		s, _ := slot(1)
		b, _ := slot(2)
		return s && b
	case t == "Clip":
		return k.clipsAroundZero(slot)
	}
	return false
}

func (k *coverage) clipsAroundZero(slot func(int) (bool, bool)) bool {
	z, _ := slot(0)
	for i, sign := range map[int]float64{1: 1, 2: -1} {
		if v := k.n.In(i); v != nil {
			x, ok := scalarIn(v)
			if !ok || x*sign > 0 {
				return false
			}
		}
	}
	return z
}

// reach lists the input axes that an output axis of this node is tied to.
func (k *coverage) reach(out axisID) []axisID {
	var list []axisID
	for _, set := range [][]relation{k.a.rel[k.firstRel():], k.a.norm} {
		for i := len(set) - 1; i >= 0 && set[i].node == k.n; i-- {
			switch out {
			case set[i].a:
				list = append(list, set[i].b)
			case set[i].b:
				list = append(list, set[i].a)
			}
		}
	}
	if n := len(k.a.splits); n > 0 && k.a.splits[n-1].node == k.n {
		for _, f := range k.a.splits[n-1].factors {
			if f.holds(out) {
				for _, p := range f.parts {
					if p.axis != out {
						list = append(list, p.axis)
					}
				}
			}
		}
	}
	return list
}

// scalarIn is the number that a constant of one element holds.
func scalarIn(v *Value) (float64, bool) {
	d, ok := v.known.Value.(*tensor.Dense)
	if v.param != nil {
		d, ok = v.param.Data, v.param.Data != nil
	}
	if !ok || d.Shape().TotalSize() != 1 {
		return 0, false
	}
	x, err := dtype.Float64s(d)
	if err != nil {
		return 0, false
	}
	return x[0], true
}

package nn

import (
	"math"

	"github.com/graft-ml/graft/nn/op"
)

// interval is where the elements of a value lie, ends included.
type interval struct{ lo, hi float64 }

// anywhere is the interval of all numbers.
var anywhere = interval{math.Inf(-1), math.Inf(1)}

func (r interval) hull(s interval) interval {
	return interval{math.Min(r.lo, s.lo), math.Max(r.hi, s.hi)}
}

// keepsRange are the operators that move or choose elements of their first input, or average them.
var keepsRange = map[string]bool{
	"Identity": true, "Reshape": true, "Flatten": true, "Squeeze": true, "Unsqueeze": true, "Transpose": true, "Slice": true,
	"Gather": true, "Split": true, "Expand": true, "Tile": true, "DepthToSpace": true, "SpaceToDepth": true,
	"MaxPool": true, "GlobalMaxPool": true, "GlobalAveragePool": true, "ReduceMean": true, "ReduceMax": true, "ReduceMin": true,
}

// bounded are the operators whose results lie in an interval whatever they read.
var bounded = map[string]interval{
	"Sigmoid": {0, 1}, "HardSigmoid": {0, 1}, "Softmax": {0, 1}, "Tanh": {-1, 1}, "Softsign": {-1, 1}, "Erf": {-1, 1},
	"Exp": {0, math.Inf(1)}, "Sqrt": {0, math.Inf(1)}, "Softplus": {0, math.Inf(1)}, "Abs": {0, math.Inf(1)},
	"ReduceL1": {0, math.Inf(1)}, "ReduceL2": {0, math.Inf(1)}, "ReduceSumSquare": {0, math.Inf(1)},
	"GlobalLpPool": {0, math.Inf(1)}, "LpPool": {0, math.Inf(1)},
}

// within says where the elements of v lie, by the operators that compute it.
func within(v *Value) interval { return withinDepth(v, 24) }

func withinDepth(v *Value, depth int) interval {
	if v == nil || depth == 0 {
		return anywhere
	}
	if v.producer == nil {
		if x, ok := scalarIn(v); ok && !(v.param != nil && v.param.Trainable()) {
			return interval{x, x}
		}
		return anywhere
	}
	n := v.producer
	if n.domain != "" {
		return anywhere
	}
	in := func(i int) interval { return withinDepth(n.In(i), depth-1) }
	if keepsRange[n.opType] {
		return in(0)
	}
	if r, ok := bounded[n.opType]; ok {
		return r
	}
	switch n.opType {
	case "Relu":
		r := in(0)
		return interval{math.Max(r.lo, 0), math.Max(r.hi, 0)}
	case "LeakyRelu", "PRelu", "Elu", "Celu", "HardSwish":
		if r := in(0); r.lo >= 0 {
			return interval{0, r.hi}
		}
	case "Clip":
		return clipped(n, in(0))
	case "Dropout": // scales what it keeps while training
		if in(0).lo >= 0 {
			return interval{0, math.Inf(1)}
		}
	case "AveragePool", "Pad": // padding brings zeros
		if c, ok := n.config.(op.PadConfig); ok && (n.In(2) != nil || c.Value != 0 || c.Mode != "" && c.Mode != "constant") {
			return anywhere
		}
		return in(0).hull(interval{})
	case "Concat", "Max", "Min":
		r := in(0)
		for i := 1; i < len(n.in); i++ {
			r = r.hull(in(i))
		}
		return r
	case "Add", "Sum":
		r := in(0)
		for i := 1; i < len(n.in); i++ {
			s := in(i)
			r = interval{r.lo + s.lo, r.hi + s.hi}
		}
		return r
	case "Mul", "ReduceSum":
		for i := range n.in {
			if (n.opType == "Mul" || i == 0) && !(in(i).lo >= 0) {
				return anywhere
			}
		}
		return interval{0, math.Inf(1)}
	}
	return anywhere
}

// clipped is the range of a Clip of values in r.
func clipped(n *Node, r interval) interval {
	b := bounds(n)
	return interval{math.Min(math.Max(r.lo, b.lo), b.hi), math.Min(math.Max(r.hi, b.lo), b.hi)}
}

// bounds are those of a Clip; an end that is computed does not bound.
func bounds(n *Node) interval {
	b := anywhere
	if c, ok := n.config.(op.ClipConfig); ok {
		if c.Min != nil {
			b.lo = float64(*c.Min)
		}
		if c.Max != nil {
			b.hi = float64(*c.Max)
		}
	}
	if x, ok := numberIn(n.In(1)); ok {
		b.lo = x
	}
	if x, ok := numberIn(n.In(2)); ok {
		b.hi = x
	}
	return b
}

// numberIn is scalarIn for an input that may be absent.
func numberIn(v *Value) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return scalarIn(v)
}

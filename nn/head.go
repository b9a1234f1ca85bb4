package nn

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// Head is a new classifier for a model: its last layer with weights, made anew for other classes.
type Head struct {
	Labels         []string // names of the classes; they go into the metadata
	Classes        int      // 0: as many as Labels
	Output         string   // the graph output it stands before; "": the first
	Init, BiasInit Init     // nil: uniform within 1/√fan-in, as PyTorch does
	Keep           []int    // for each class the old class whose weights it starts from, −1: a new one; nil: all are new
}

// Head replaces the classifier: the last Gemm, MatMul or Conv before the output, found above pooling,
// reshaping, activations and softmax. Weight and bias keep their names, so does the output; constants
// behind it that hold the number of classes are rewritten. A Note says which node it took. It
// returns that node; the edit fails when there is none, or when a node in between prevents it.
func (e *Edit) Head(h Head) *Node {
	k, out := h.classes(e), h.output(e)
	if e.err != nil {
		return nil
	}
	s := e.site(out)
	if e.err != nil {
		return nil
	}
	was := out.typ
	e.renew(s, h, k)
	for _, n := range slices.Backward(s.path) {
		e.carry(s, n, h, k)
	}
	if e.err != nil {
		return nil
	}
	if err := e.infer(); err != nil {
		e.fail(err)
		return nil
	}
	if !resized(was, out.typ, s.classes, k) {
		e.fail(&Error{Op: s.node.opType, Node: s.node.Label(),
			Err: fmt.Errorf("output %q, %v, would become %v with %d classes instead of %d", out.name, was, out.typ, k, s.classes)})
		return nil
	}
	e.SetLabels(h.Labels...)
	e.Note("head: %s, %d classes instead of %d", s.node.describe(), k, s.classes)
	return s.node
}

func (h Head) classes(e *Edit) int {
	k := h.Classes
	if k == 0 {
		k = len(h.Labels)
	}
	switch {
	case k <= 0:
		e.Failf("a head needs Labels or a number of Classes")
	case len(h.Labels) > 0 && len(h.Labels) != k:
		e.Failf("a head for %d classes has %d labels", k, len(h.Labels))
	case len(h.Keep) > 0 && len(h.Keep) != k:
		e.Failf("a head for %d classes says for %d which to keep", k, len(h.Keep))
	}
	return k
}

func (h Head) output(e *Edit) *Value {
	if e.err != nil {
		return nil
	}
	if h.Output == "" {
		if len(e.g.outputs) == 0 {
			e.Failf("the graph has no output")
			return nil
		}
		return e.g.outputs[0]
	}
	v := e.Value(h.Output)
	if v != nil && !slices.Contains(e.g.outputs, v) {
		e.Failf("%q is not an output", h.Output)
	}
	return v
}

// site is where a model's head is.
type site struct {
	node    *Node
	weight  int     // which input
	axis    int     // of the weight that counts the classes
	fan     int     // inputs of one class
	classes int     // so far
	path    []*Node // from the output back to the node, which is not included
}

// transparent are operators a head is looked for above: they keep the classes apart.
var transparent = map[string]bool{
	"Softmax": true, "LogSoftmax": true, "Sigmoid": true, "Relu": true, "LeakyRelu": true, "Tanh": true, "Clip": true, "HardSigmoid": true, "Exp": true, "Log": true,
	"GlobalAveragePool": true, "GlobalMaxPool": true, "AveragePool": true, "MaxPool": true, "ReduceMean": true, "ReduceMax": true,
	"Reshape": true, "Flatten": true, "Squeeze": true, "Unsqueeze": true, "Transpose": true, "Expand": true,
	"BatchNormalization": true, "Identity": true, "Dropout": true, "Cast": true, "Add": true, "Sub": true, "Mul": true, "Div": true,
	"QuantizeLinear": true, "DequantizeLinear": true,
}

// site walks back from an output to the last node with a weight.
func (e *Edit) site(out *Value) site {
	var s site
	for v := out; ; {
		n := v.producer
		if n == nil {
			e.Failf("no layer with weights lies before output %q", out.name)
			return s
		}
		switch n.opType {
		case "Gemm", "MatMul", "Conv":
			s.node = n
			s.measure(e)
			return s
		}
		next := data(n)
		if !transparent[n.opType] || next == nil {
			e.fail(&Error{Op: n.opType, Node: n.Label(), Err: fmt.Errorf("lies between output %q and its head: replace it by hand", out.name)})
			return s
		}
		s.path = append(s.path, n)
		v = next
	}
}

// data is the one input of n that is computed from the graph's inputs; nil when there are several.
func data(n *Node) *Value {
	var x *Value
	for _, v := range n.in {
		if v == nil || fixed(v) {
			continue
		}
		if x != nil && n.opType != "Reshape" && n.opType != "Expand" {
			return nil
		}
		if x == nil {
			x = v
		}
	}
	return x
}

// fixed says whether v is a parameter or computed from parameters alone.
func fixed(v *Value) bool {
	if v.param != nil {
		return true
	}
	if v.producer == nil {
		return false
	}
	for _, n := range ancestors([]*Value{v}, nil) {
		for _, x := range n.reads() {
			if x != nil && x.param == nil && x.producer == nil {
				return false
			}
		}
	}
	return true
}

// measure finds the weight of the node and the axis that counts classes.
func (s *site) measure(e *Edit) {
	n := s.node
	refuse := func(format string, args ...any) {
		e.fail(&Error{Op: n.opType, Node: n.Label(), Err: fmt.Errorf("cannot be a new head: "+format, args...)})
	}
	s.weight = 1
	if n.opType == "MatMul" && !fixed(n.in[1]) && fixed(n.in[0]) {
		s.weight = 0
	}
	w := n.in[s.weight]
	if !fixed(w) {
		refuse("its weight %q is computed", w.name)
		return
	}
	rank := w.typ.Rank()
	switch c := n.config.(type) {
	case op.GemmConfig:
		s.axis = 1
		if c.TransB {
			s.axis = 0
		}
	case op.ConvConfig:
		if c.Group > 1 {
			refuse("it is a convolution in %d groups", c.Group)
		}
	default:
		s.axis = s.weight // x·W has the classes in its columns, W·x in its rows
		if rank != 2 {
			refuse("its weight is %v, not a matrix", w.typ)
		}
	}
	if e.err == nil && (rank < 2 || !w.typ.Static()) {
		refuse("its weight is %v", w.typ)
	}
	if e.err != nil {
		return
	}
	s.classes = w.typ.Shape[s.axis].Size
	if s.classes > 0 {
		s.fan = w.typ.Elements() / s.classes
	}
}

// resized says whether a type is the old one with k in the place of the number of classes.
func resized(old, now op.Type, classes, k int) bool {
	if old.Unranked || now.Unranked {
		return true
	}
	if len(old.Shape) != len(now.Shape) {
		return false
	}
	changed := 0
	for i, d := range old.Shape {
		switch x := now.Shape[i]; {
		case d.Known() && d.Size == classes && x.Known() && x.Size == k && k != classes:
			changed++
		case d.Differ(x):
			return false
		}
	}
	return k == classes || changed == 1
}

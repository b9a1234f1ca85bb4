package nn

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

// Head describes a new classifier for a model: its last layer with weights is replaced by one for other classes.
type Head struct {
	Labels         []string       // names of the classes; they are stored in the metadata
	Classes        int            // 0: as many as Labels
	Output         string         // the graph output that it computes; "": the first
	Init, BiasInit initial.Filler // nil: uniform within 1/√fan-in, as PyTorch does
	Keep           []int          // for each class the old class whose weights it gets, −1 for new weights; nil: all are new
}

// Head replaces the classifier: the last Gemm, MatMul or Conv before the output, which may be followed by pooling,
// reshaping, activations and softmax. Weight, bias and output keep their names; constants after it that contain the
// number of classes are adapted. A Note says which node was replaced. Head returns the new node. The edit fails if there
// is not a classifier, or if a node in between prevents the change.
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
		e.fail(&Error{Op: s.node.opType, Node: s.node.label(),
			Err: fmt.Errorf("output %q, %v, would become %v with %d classes instead of %d", out.name, was, out.typ, k, s.classes)})
		return nil
	}
	e.SetLabels(h.Labels...)
	e.Note("head: %s, %d classes instead of %d", s.node.describe(), k, s.classes)
	return s.node
}

// Classifier returns the layer before the first output that Head would replace, and the value that it reads: the
// features. The edit fails if Head would find none.
func (e *Edit) Classifier() (layer *Node, features *Value) {
	out := Head{}.output(e)
	if e.err != nil {
		return nil, nil
	}
	s := e.site(out)
	if e.err != nil {
		return nil, nil
	}
	if features = s.node.data(); features == nil {
		e.fail(&Error{Op: s.node.opType, Node: s.node.label(), Err: fmt.Errorf("must have exactly one input that is computed from the inputs of the graph")})
		return nil, nil
	}
	return s.node, features
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
		e.Failf("a head for %d classes has a Keep list of %d", k, len(h.Keep))
	}
	return k
}

func (h Head) output(e *Edit) *Value {
	e.made()
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

// site is the position of a model's head.
type site struct {
	node    *Node
	layer   trait.WeightedSum
	fan     int                // inputs of one class
	classes int                // number of classes so far
	path    []*Node            // nodes from the output back to the head, which is not included
	held    map[*Node][]*Value // for nodes of the path: the inputs that are indexed by class
}

// site walks back from an output to the last layer with a weight.
func (e *Edit) site(out *Value) site {
	s := site{held: map[*Node][]*Value{}}
	for v := out; ; {
		n := v.producer
		if n == nil {
			e.Failf("there is no layer with weights before output %q", out.name)
			return s
		}
		layer, ok := n.weightedSum()
		if ok {
			s.node, s.layer = n, layer
			break
		}
		next := n.data()
		if next == nil || n.op.Couple == nil { // the data input of an unknown operator is not known
			e.between(n, out)
			return s
		}
		s.path = append(s.path, n)
		v = next
	}
	s.measure(e)
	s.keepApart(e, out)
	return s
}

func (e *Edit) between(n *Node, out *Value) {
	e.refuse(n, fmt.Errorf("is between output %q and its head: replace it by hand", out.name))
}

// data returns the one input of n that is computed from the graph's inputs, apart from those that give
// shapes; nil if there are several.
func (n *Node) data() *Value {
	var x *Value
	if n.op == nil {
		return nil
	}
	formal := n.op.In.List()
	for i, v := range n.in {
		if s, _ := op.At(formal, i); v == nil || s.Role == op.Shape || fixed(v) {
			continue
		}
		if x != nil {
			return nil
		}
		x = v
	}
	return x
}

// keepApart follows the classes from the head to the output and refuses nodes that mix them. If
// shapes are unknown, type inference decides.
func (s *site) keepApart(e *Edit, out *Value) {
	if e.err != nil || s.classes < 2 {
		return // an axis of length 1 cannot be followed
	}
	a := e.g.analyse(e.watched().context())
	at, known := a.of(s.node.in[s.layer.Weight], s.layer.Out)
	if known {
		at, known = a.passed(at, s.node)
	}
	for _, n := range slices.Backward(s.path) {
		if !known || a.calls[n] == nil {
			return
		}
		for _, id := range a.tied(at, n) {
			if v := a.axes[id].value; slices.Contains(n.in, v) {
				s.held[n] = append(s.held[n], v)
			}
		}
		to, ok := a.passed(at, n)
		if !ok {
			if _, sized := a.of(n.output(0), 0); sized {
				e.between(n, out)
			}
			return
		}
		for _, id := range a.tied(to, n) {
			if v := a.axes[id].value; slices.Contains(n.in, v) {
				s.held[n] = append(s.held[n], v)
			}
		}
		at = to
	}
}

// passed returns the axis of output 0 of a node that has the same indices as an axis that it reads.
func (a *analysis) passed(id axisID, n *Node) (axisID, bool) {
	for _, o := range a.tied(id, n) {
		if x, y := a.axes[o], a.axes[id]; x.value == n.output(0) && x.size == y.size {
			return o, true
		}
	}
	return 0, false
}

// fixed reports whether v is a parameter or computed from parameters only.
func fixed(v *Value) bool {
	if v.param != nil {
		return true
	}
	if v.producer == nil {
		return false
	}
	return v.graph.data.fixedNode(v.producer)
}

// measure checks the weight of the node and counts its classes.
func (s *site) measure(e *Edit) {
	n := s.node
	w := n.input(s.layer.Weight)
	switch {
	case w == nil:
		e.refuse(n, fmt.Errorf("cannot be a new head: it has no weight"))
	case !fixed(w):
		e.refuse(n, fmt.Errorf("cannot be a new head: its weight %q is computed", w.name))
	case s.layer.Groups > 1:
		e.refuse(n, fmt.Errorf("cannot be a new head: it works in %d groups", s.layer.Groups))
	case !w.typ.Static() || w.typ.Rank() < 2 || max(s.layer.Out, s.layer.In) > 1:
		e.refuse(n, fmt.Errorf("cannot be a new head: its weight is %v", w.typ))
	default:
		s.classes = w.typ.Shape[s.layer.Out].Size
		if s.classes > 0 {
			s.fan = w.typ.Elements() / s.classes
		}
	}
}

// resized reports whether a type is the old one with k in place of the number of classes.
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

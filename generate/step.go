package generate

import (
	"fmt"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// step is one call of generated source: a layer or an operator applied to values.
type step struct {
	layer  *comp   // a layer, or nil
	config *comp   // an operator's attributes; nil for a layer and where all are at their defaults
	op     op.Name // of a step that is not a layer
	in     []arg
	out    []*value
	scope  []string // scope in the model, outermost first; empty: unknown
	local  string   // the variable of the source that holds the step as a layer; "": none, see locals
	alone  bool     // it is the constant in in[0] and no more, for several steps to read
	kind   string   // name of the layer if the model has none
	// weights are the parameters that a layer adds, by the suffix of their names.
	weights map[string]*tensor.Dense
	nodes   []*nn.Node // the nodes that the step replaces
	bodies  []*body    // subgraphs among the attributes; their captured values follow the inputs in in
	when    string     // the parameter of the function around it that reports whether the step is there
	bypass  int        // of a step that may be absent: the input that then takes the place of its output
	number  int        // in the search for repeated blocks: the number of its form
}

// arg is an input of a step: a value, a constant, or neither where an optional input is absent.
type arg struct {
	val *value
	con *constant
}

// value is the result of a step or an input of the model.
type value struct {
	typ   op.Type
	step  *step // nil: an input of the model
	input string
	users int // number of readers and of outputs of the model
}

// constant is a tensor that is an input of an operator.
type constant struct {
	kind conKind
	name *lit
	data *tensor.Dense
	fill initial.Filler // of a parameter
	list *lit           // of ints, scalars and small tensors: the elements; of parameters: the shape
}

type conKind int

const (
	conInts   conKind = iota // e.Ints: a vector of int64
	conScalar                // e.Scalar: a float of the element type of another input
	conSmall                 // elements in the source
	conParam                 // e.Param: a weight, its elements in the file
	conBlank                 // any other tensor, its elements in the file
)

// each calls f for every literal of a step, in order.
func (s *step) each(f func(*lit)) {
	s.layer.each(f)
	if s.local != "" {
		return
	}
	s.config.each(f)
	for _, a := range s.in {
		if a.con != nil {
			f(a.con.name)
			f(a.con.list)
		}
	}
}

// form describes a step up to its literals and values.
func (s *step) form() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s|%v|%s|%s|%d", s.layer.form(), s.op, s.config.form(), s.local, len(s.out))
	if g := s.layer.field("Group"); g != nil {
		fmt.Fprintf(&b, "|grouped %v", g.v != 1) // depthwise or not makes another layer
	}
	for range s.bodies {
		fmt.Fprintf(&b, "|%p", s) // like no other
	}
	for _, a := range s.in {
		switch {
		case a.con != nil:
			fmt.Fprintf(&b, "|c%d %v %d", a.con.kind, dtype.Of(a.con.data.Dtype()), a.con.data.Dims())
		case a.val != nil:
			b.WriteString("|v")
		default:
			b.WriteString("|-")
		}
	}
	return b.String()
}

// values returns the inputs that are values, in order.
func (s *step) values() (list []*value) {
	for _, a := range s.in {
		if a.val != nil {
			list = append(list, a.val)
		}
	}
	return list
}

func (s *step) clone() *step {
	c := *s
	c.layer, c.config = s.layer.clone(), s.config.clone()
	c.in = make([]arg, len(s.in))
	for i, a := range s.in {
		c.in[i] = a
		if a.con != nil {
			k := *a.con
			k.name, k.list = k.name.clone(), k.list.clone()
			c.in[i].con = &k
		}
	}
	return &c
}

// label names the step for people.
func (s *step) label() string {
	if len(s.nodes) > 0 {
		return s.nodes[len(s.nodes)-1].Label()
	}
	return s.kind
}

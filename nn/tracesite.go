package nn

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/graft-ml/graft/internal/exprgraph"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// Site is an operator in a traced expression graph, for which a TraceRule adds the ONNX form. A function is traced at
// several sizes of its symbols; a Site stands for the same node in all of these graphs.
type Site struct {
	t  *tracer
	at gorgonia.Nodes
}

// Op returns the operator.
func (s *Site) Op() gorgonia.Op {
	s.made()
	return s.at[0].Op()
}

// Inputs returns the number of inputs.
func (s *Site) Inputs() int {
	s.made()
	return len(exprgraph.Children(s.at[0]))
}

// In returns the site of input i.
func (s *Site) In(i int) *Site {
	s.made()
	in := &Site{t: s.t, at: make(gorgonia.Nodes, len(s.at))}
	for k, n := range s.at {
		in.at[k] = exprgraph.Children(n)[i]
	}
	return in
}

// Value returns the value that the site computes; it is added to the graph on first use.
func (s *Site) Value() *Value {
	s.made()
	return s.t.value(s.at)
}

// Edit returns the edit that builds the graph.
func (s *Site) Edit() *Edit {
	s.made()
	return s.t.e
}

// Node adds an operator, written for its newest version as for Edit.Node, and returns its first output.
func (s *Site) Node(c op.Config, in ...*Value) *Value {
	s.made()
	if s.t.e.err != nil {
		return nil
	}
	if _, err := s.t.e.g.ops.Of(c); err != nil {
		return s.Refuse("")
	}
	out := s.t.e.Op("", c, 1, in...)
	if s.t.e.err != nil {
		return nil
	}
	return out[0]
}

// Failf makes the trace fail at this site.
func (s *Site) Failf(format string, args ...any) { s.fail(fmt.Errorf(format, args...)) }

func (s *Site) fail(err error) {
	s.t.e.fail(&Error{Stage: "trace", Op: s.opName(), Node: s.t.nameOf(s.at[0]), Err: err})
}

// Refuse reports that the operator has no ONNX form; why may give a reason. The trace goes on, so that one error lists
// all such operators. It returns a placeholder.
func (s *Site) Refuse(why string) *Value {
	name := s.opName()
	if s.t.step {
		name += s.place()
	}
	if why != "" {
		name += " (" + why + ")"
	}
	s.t.missing[name] = true
	if s.t.e.err != nil {
		return nil
	}
	for i := range s.Inputs() {
		s.In(i).Value()
	}
	n := &Node{opType: "Untraceable", graph: s.t.e.g, fresh: true}
	v := &Value{name: s.t.e.unique("untraceable"), typ: op.NodeType(s.at[0]), producer: n, graph: s.t.e.g}
	n.out = []*Value{v}
	s.t.e.addValue(v)
	s.t.e.addNode(n)
	return v
}

// opName returns the name of the operator in errors.
func (s *Site) opName() string {
	s.made()
	n := s.at[0]
	if c, _, _, ok := op.CallOf(n); ok {
		return c.Op.Name
	}
	if n.Op() == nil {
		return ""
	}
	return fmt.Sprintf("%s %v", s.goType(), n.Op())
}

func (s *Site) goType() string { return goType(s.at[0]) }

func goType(n *gorgonia.Node) string { return fmt.Sprintf("%T", n.Op()) }

// Int returns an integer field of the operator's struct, exported or not. It must not depend on a symbol. Fields of
// embedded structs are found by their own names.
func (s *Site) Int(field string) int {
	if !s.same(field) {
		return 0
	}
	return number(s.field(0, field))
}

// Ints returns a field of the operator that is a slice of integers.
func (s *Site) Ints(field string) []int {
	if !s.same(field) {
		return nil
	}
	return numbers(s.field(0, field))
}

// Bool returns a boolean field of the operator.
func (s *Site) Bool(field string) bool {
	v := s.field(0, field)
	return v.Kind() == reflect.Bool && v.Bool()
}

// Float returns a floating-point field of the operator.
func (s *Site) Float(field string) float64 {
	if v := s.field(0, field); v.CanFloat() {
		return v.Float()
	}
	s.Failf("its Go type has no floating-point field %q", field)
	return 0
}

// field returns a field of the operator in graph k, following pointers and interfaces.
func (s *Site) field(k int, name string) reflect.Value {
	s.made()
	v := deref(deref(reflect.ValueOf(s.at[k].Op())))
	if v.Kind() == reflect.Struct {
		if f := v.FieldByName(name); f.IsValid() {
			return deref(f)
		}
	}
	s.Failf("its Go type has no field %q", name)
	return reflect.Value{}
}

// deref follows pointers and interfaces.
func deref(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return reflect.Value{}
		}
		v = v.Elem()
	}
	return v
}

// same reports whether a field is equal at all sample points; if not, the trace fails.
func (s *Site) same(field string) bool {
	first := numbers(s.field(0, field))
	for k := range s.at {
		if s.t.e.err == nil && !slices.Equal(first, numbers(s.field(k, field))) {
			s.Failf("%s depends on a symbol", field)
		}
	}
	return s.t.e.err == nil
}

func number(v reflect.Value) int {
	switch {
	case v.CanInt():
		return int(v.Int())
	case v.CanUint():
		return int(v.Uint())
	}
	return 0
}

func numbers(v reflect.Value) []int {
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return []int{number(v)}
	}
	list := make([]int, v.Len())
	for i := range list {
		list[i] = number(deref(v.Index(i)))
	}
	return list
}

package op

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Apply1 is ApplyN for one output.
func (s Set) Apply1(c Config, in ...*gorgonia.Node) (*gorgonia.Node, error) {
	n, err := s.ApplyN(1, c, in...)
	if err != nil {
		return nil, err
	}
	return n[0], nil
}

// ApplyN adds the operator that c names to the expression graph of its inputs and returns its first n outputs. Gradients
// and decompositions use it. A nil input is an absent one; zero fields of c mean the defaults.
func (s Set) ApplyN(n int, c Config, in ...*gorgonia.Node) (gorgonia.Nodes, error) {
	return (&Call{Set: s}).ApplyN(n, c, in...)
}

// Apply1 is the method of c's Set; what the operator prepares ends with c's context.
func (c *Call) Apply1(cfg Config, in ...*gorgonia.Node) (*gorgonia.Node, error) {
	n, err := c.ApplyN(1, cfg, in...)
	if err != nil {
		return nil, err
	}
	return n[0], nil
}

// ApplyN is the method of c's Set; what the operator prepares ends with c's context.
func (c *Call) ApplyN(n int, cfg Config, in ...*gorgonia.Node) (gorgonia.Nodes, error) {
	types := make([]Type, len(in))
	var g *gorgonia.ExprGraph
	for i, x := range in {
		if err := c.endedAt(i); err != nil {
			return nil, err
		}
		if x != nil {
			types[i] = NodeType(x)
			g = cmp.Or(g, x.Graph()) // a constant may not belong to a graph
		}
	}
	call, err := c.NewCall(cfg, types...)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, &Error{Op: call.Op.String(), Err: errors.New("has no input from which to take the expression graph")}
	}
	call.Outputs = n
	for i, x := range in {
		if x != nil && types[i].DType.IsInteger() && IsConst(x) {
			call.Known[i].Value = x.Value()
		}
	}
	if err := call.Resolve(); err != nil {
		return nil, err
	}
	return Emit(g, call, in)
}

// Resolve checks the call, infers the types of its outputs and adds the hidden ones.
func (c *Call) Resolve() error {
	if err := c.checkInputs(); err != nil {
		return err
	}
	if err := c.checkOutputs(); err != nil {
		return err
	}
	if c.Op.Check != nil {
		if err := c.Op.Check(c); err != nil {
			return err
		}
	}
	out, err := c.Op.Infer(c)
	c.Out = make([]Type, max(c.Outputs, 0))
	copy(c.Out, out)
	if err != nil {
		return err // some of the types may be known although it needs a value
	}
	if c.Op.Hidden != nil && (c.static() || len(Bodies(c.Config)) > 0) { // those of subgraphs are statistics among the inputs, whatever the outputs are
		// Hidden outputs follow all formal ones, used or not, so that their place is fixed.
		for len(c.Out) < len(c.Op.Out.List()) {
			c.Out = append(c.Out, Type{})
		}
		c.Out = append(c.Out, c.Op.Hidden(c)...)
	}
	return nil
}

func (c *Call) static() bool {
	for i, t := range c.Out {
		if c.Wants(i) && !t.Static() {
			return false
		}
	}
	return true
}

// checkOutputs refuses outputs that the operator does not have.
func (c *Call) checkOutputs() error {
	formal := c.Op.Out.List()
	for i := range c.Outputs {
		if _, ok := At(formal, i); !ok && c.Wants(i) {
			return c.Errorf("gives %d outputs, the node names %d", len(formal), c.Outputs)
		}
	}
	return nil
}

var errNoOp = errors.New("op: the call is nil or has no operator")

// checkInputs compares the inputs with the operator's formal ones.
func (c *Call) checkInputs() error {
	if c.Op == nil {
		return errNoOp
	}
	formal := c.Op.In.List()
	bound := map[string]Type{}
	for i, t := range c.In {
		if err := c.endedAt(i); err != nil {
			return err
		}
		s, ok := At(formal, i)
		if !ok {
			return c.Errorf("takes %d inputs, got %d", len(formal), len(c.In))
		}
		if !t.Present() {
			if !s.Optional && !(s.Variadic && s.Type == "any") { // calls and subgraphs may omit inputs
				return c.Mismatch(i, "a value", "nothing")
			}
			continue
		}
		if err := c.checkType(i, s, t, bound); err != nil {
			return err
		}
	}
	for i := len(c.In); i < len(formal); i++ {
		if !formal[i].Optional && !formal[i].Variadic {
			return c.Mismatch(i, "a value", "nothing")
		}
	}
	return nil
}

func (c *Call) checkType(i int, s FormalParameter, t Type, bound map[string]Type) error {
	if t.Kind != Tensor {
		return nil // operators on containers check their inputs themselves
	}
	allowed, variable := c.Op.Where[s.Type]
	if s.fixed != dtype.Undefined {
		if t.DType != s.fixed {
			return c.Mismatch(i, fmt.Sprint("one of ", []DType{s.fixed}), t)
		}
		return nil
	}
	if allowed != nil && !slices.Contains(allowed, t.DType) {
		return c.Mismatch(i, fmt.Sprint("one of ", allowed), t)
	}
	if len(allowed) != 1 && (variable || s.Type != "any") {
		if b, seen := bound[s.Type]; seen && b.DType != t.DType {
			return c.Mismatch(i, b.DType, t)
		}
		bound[s.Type] = t
	}
	return nil
}

// NodeType returns the type of a node of an expression graph. Nodes of graft's operators keep their symbols; Go's int
// counts as int64.
func NodeType(n *gorgonia.Node) Type {
	if n == nil {
		return Type{}
	}
	if e, ok := n.Op().(*expr); ok {
		return e.call.Out[e.index]
	}
	if n.Dtype() == tensor.Int {
		return Shaped(dtype.Int64, n.Shape()...)
	}
	if text, ok := n.Value().(*dtype.Strings); ok { // Gorgonia sees no shape of it
		return TypeOf(text)
	}
	return Shaped(dtype.Of(n.Dtype()), n.Shape()...)
}

// Compute applies an operator to values and returns its first n outputs. version is its since-version, 0 for the latest.
func (s Set) Compute(n int, c Config, version int, in ...dtype.Value) ([]dtype.Value, error) {
	return (&Call{Set: s}).Compute(n, c, version, in...)
}

// Compute is Set.Compute with the operators and the context of c, an operator that is computed by others.
func (c *Call) Compute(n int, of Config, version int, in ...dtype.Value) ([]dtype.Value, error) {
	types := make([]Type, len(in))
	for i, v := range in {
		types[i] = TypeOf(v)
	}
	call, err := c.Set.NewCall(of, types...)
	if err != nil {
		return nil, err
	}
	call.Ctx = c.Ctx
	if call.Outputs = n; version != 0 {
		call.Version = version
	}
	for i, v := range in {
		call.Known[i].Value = v
	}
	if err := call.Resolve(); err != nil {
		return nil, err
	}
	return Eval(call, in)
}

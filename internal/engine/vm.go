package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/graft-ml/graft/internal/exprgraph"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// VM runs a graph like one of Gorgonia's machines: RunAll reads the values of the input nodes and stores the results in
// the other nodes, where Node.Value and Node.Grad find them.
type VM struct {
	graph   *gorgonia.ExprGraph
	options Options
	roots   []*gorgonia.Node
	program *Program
}

var _ gorgonia.VM = (*VM)(nil)

// NewVM returns a machine for g. It computes and publishes only the given nodes, so that it can reuse memory; without any
// it publishes all nodes of g. The graph is compiled by the first RunAll and must not change afterwards.
func NewVM(g *gorgonia.ExprGraph, o Options, nodes ...*gorgonia.Node) *VM {
	return &VM{graph: g, options: o, roots: nodes}
}

// RunAll runs the graph once. The published tensors are memory of the machine that the next RunAll overwrites; scalars
// are new each time. Other values are not published.
func (m *VM) RunAll() error {
	if m.program == nil {
		if len(m.roots) == 0 {
			if m.graph == nil {
				return errors.New("engine: the graph is nil")
			}
			m.roots = m.graph.AllNodes()
		}
		p, err := Compile(m.options, m.roots...)
		if err != nil {
			return err
		}
		m.program = p
	}
	if err := m.program.Run(context.Background()); err != nil {
		return err
	}
	for _, n := range m.roots {
		if err := m.publish(n); err != nil {
			return err
		}
	}
	return nil
}

// Reset does nothing: a program can always run again.
func (m *VM) Reset() {}

// Close releases the program's memory, except for published values.
func (m *VM) Close() error {
	m.program = nil
	return nil
}

// publish makes the result visible as n.Value().
func (m *VM) publish(n *gorgonia.Node) (err error) {
	if isStatement(n.Op()) {
		m.read(n)
		return nil
	}
	v := m.shown(n)
	if v == nil || isSource(n.Op(), 0) {
		return nil
	}
	defer func() {
		if r := recover(); r != nil { // WithValue panics if it refuses a value
			err = fmt.Errorf("engine: %s: %v", nodeName(n), r)
		}
	}()
	set := gorgonia.WithValue(v)
	set(n)
	return nil
}

// shown returns the result for n in the form in which Gorgonia's machines return it, nil if they could not.
func (m *VM) shown(n *gorgonia.Node) gorgonia.Value {
	switch v := m.program.Value(n).(type) {
	case *tensor.Dense:
		if n.IsScalar() && len(v.Raw) == int(v.Dtype().Size()) {
			if s := toScalar(v); s != nil {
				return s
			}
		}
		return v
	case gorgonia.Scalar:
		return v
	}
	return nil
}

// read implements gorgonia.Read: it stores the value of the node that n reads in n's destination.
func (m *VM) read(n *gorgonia.Node) {
	into := exprgraph.Into(n)
	if into == nil {
		return
	}
	for _, k := range children(n) {
		*into = m.shown(k)
	}
}

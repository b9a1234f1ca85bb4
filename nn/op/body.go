package op

import (
	"context"
	"reflect"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
)

// Body is a subgraph attribute (If, Loop, Scan) as its operator sees it; nn implements it. Its inputs
// are the formal ones, then the outer values that it captures.
type Body interface {
	// Inputs counts the subgraph's formal inputs; the captured values follow them.
	Inputs() int
	// Captured names the outer values the subgraph reads, in the order in which they are appended.
	Captured() []string
	// Random reports whether an operator in it draws random numbers.
	Random() bool
	// States lists the inputs, captured ones included, that a training step replaces: running statistics.
	States() []int
	// Infer gives the output types from those of the inputs and captured values.
	Infer(in []Type, known []Known, train bool) ([]Type, error)
	// Lower emits the subgraph onto nodes of an expression graph.
	Lower(s Scope, in gorgonia.Nodes, types []Type, known []Known) (gorgonia.Nodes, error)
	// Run computes the outputs from values, whatever their shapes. Next holds, by input, what States take
	// after a training step, nil where they stay as they are.
	Run(r BodyRun, in []dtype.Value) (out, next []dtype.Value, err error)
}

// Scope is what a subgraph is emitted into.
type Scope struct {
	Graph *gorgonia.ExprGraph // that nodes are added to
	Train bool                // batch statistics and dropout are on
	Ctx   context.Context     // of what is computed at once; nil: nothing ends it
	Types bool                // only types are wanted: no loop is run for them
	Grad  bool                // what is lowered is differentiated: by the inputs that Known.Apart does not except

	Key    func() (*gorgonia.Node, error)       // of random operators, as Call.Key; nil: a key of zeros
	Update func(input int, next *gorgonia.Node) // is given what replaces an input after a training step
}

// BodyRun says how a subgraph is computed.
type BodyRun struct {
	Ctx    context.Context // ends the run
	Train  bool            // batch statistics and dropout are on
	Key    [2]uint64       // of random operators
	Frozen []bool          // by input: statistics that training leaves as they are
}

// Bodies are the subgraphs among the attributes of a configuration.
func Bodies(c Config) (list []Body) {
	v := reflect.ValueOf(c)
	if v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		if !v.Field(i).CanInterface() {
			continue
		}
		if b, ok := v.Field(i).Interface().(Body); ok {
			list = append(list, b)
		}
	}
	return list
}

// Random reports whether the call draws random numbers, in a subgraph perhaps.
func (c *Call) Random() bool {
	if c.Op != nil && c.Op.Random {
		return true
	}
	for _, b := range Bodies(c.Config) {
		if b.Random() {
			return true
		}
	}
	return false
}

// EmitInto is Emit for an operator whose subgraphs use the random key and the statistics of s.
func EmitInto(s Scope, c *Call, in gorgonia.Nodes, extra ...*gorgonia.Node) (gorgonia.Nodes, error) {
	if c == nil || c.Op == nil {
		return nil, errNoOp
	}
	within := *c
	within.scope = &s
	if c.Op.Lower == nil || c.whole() {
		return Emit(s.Graph, c, in, extra...)
	}
	return Emit(s.Graph, &within, in, extra...)
}

// Scope is what a composite operator emits its subgraphs into.
func (c *Call) Scope(g *gorgonia.ExprGraph) Scope {
	if c.scope != nil && c.scope.Graph == g {
		return *c.scope
	}
	return Scope{Graph: g, Train: c.Train, Ctx: c.Ctx}
}

// BodyRun is how subgraphs are computed whose inputs are those of the call from position first on.
func (c *Call) BodyRun(key [2]uint64, known []Known) BodyRun {
	r := BodyRun{Ctx: c.Context(), Train: c.Train, Key: key, Frozen: make([]bool, len(known))}
	for i, k := range known {
		r.Frozen[i] = k.Frozen
	}
	return r
}

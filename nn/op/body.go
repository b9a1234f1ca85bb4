package op

import (
	"context"
	"reflect"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
)

// Subgraph is a subgraph attribute (of If, Loop or Scan) as its operator sees it. Package nn implements it. Its inputs are
// the formal ones, followed by the outer values that it captures.
type Subgraph interface {
	// Inputs returns the number of formal inputs; the captured values follow them.
	Inputs() int
	// Captured returns the names of the outer values that the subgraph reads, in the order in which they follow the inputs.
	Captured() []string
	// Random reports whether an operator in it draws random numbers.
	Random() bool
	// States returns the inputs, captured ones included, whose values a training step replaces: running statistics.
	States() []int
	// Infer returns the types of the outputs, given those of the inputs and captured values. ctx is that
	// of the enclosing call.
	Infer(ctx context.Context, in []Type, known []Known, train bool) ([]Type, error)
	// Lower adds the subgraph to an expression graph, with in as its inputs and captured values.
	Lower(s Scope, in gorgonia.Nodes, types []Type, known []Known) (gorgonia.Nodes, error)
	// Depends reports which outputs depend on the inputs for which on is true, with a derivative that may not be zero.
	Depends(on []bool) []bool
	// Gradient computes the gradients with respect to the inputs for which asked is true, given the inputs and the gradients of
	// the outputs; nil where there is none. It runs the subgraph again, with the key of r.
	Gradient(r SubgraphRun, in, dout []dtype.Value, asked []bool) ([]dtype.Value, error)
	// Run computes the outputs from values of any shape. next holds, by input, the values that States have after a training
	// step, nil for those that do not change.
	Run(r SubgraphRun, in []dtype.Value) (out, next []dtype.Value, err error)
}

// Scope is what a subgraph is emitted into.
type Scope struct {
	Graph *gorgonia.ExprGraph // that nodes are added to
	Train bool                // batch statistics and dropout are on
	Ctx   context.Context     // cancels what is computed immediately; nil: never
	Types bool                // only types are needed: loops are not run for them

	Key    func() (*gorgonia.Node, error)       // of random operators, as in Call.Key; nil: zeros
	Update func(input int, next *gorgonia.Node) // called with the value that an input has after a training step
}

// SubgraphRun holds the settings for running a subgraph.
type SubgraphRun struct {
	Ctx    context.Context // cancels the run
	Train  bool            // batch statistics and dropout are on
	Key    [2]uint64       // seed and step of random operators
	Frozen []bool          // by input: statistics that training does not change
}

// Bodies returns the subgraphs among the attributes of a configuration.
func Bodies(c Config) (list []Subgraph) {
	v := reflect.ValueOf(c)
	if v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		if !v.Field(i).CanInterface() {
			continue
		}
		if b, ok := v.Field(i).Interface().(Subgraph); ok {
			list = append(list, b)
		}
	}
	return list
}

// Random reports whether the call draws random numbers, including in its subgraphs.
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

// Scope returns the scope into which a composite operator emits its subgraphs.
func (c *Call) Scope(g *gorgonia.ExprGraph) Scope {
	if c.scope != nil && c.scope.Graph == g {
		return *c.scope
	}
	return Scope{Graph: g, Train: c.Train, Ctx: c.Ctx}
}

// SubgraphRun returns the settings for running the subgraphs of the call. known describes their inputs.
func (c *Call) SubgraphRun(key [2]uint64, known []Known) SubgraphRun {
	r := SubgraphRun{Ctx: c.Context(), Train: c.Train, Key: key, Frozen: make([]bool, len(known))}
	for i, k := range known {
		r.Frozen[i] = k.Frozen
	}
	return r
}

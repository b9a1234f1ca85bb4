package op

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Call is one use of an operator: its attributes and what is known of its inputs. Functions of an Op get everything they
// need from it and must not keep it.
type Call struct {
	Set     // the operators that its gradient and decomposition apply
	Op      *Op
	Config  Config  // of the operator's own configuration type, with attributes and defaults filled in
	Version int     // the since-version that applies
	Node    string  // for errors: the node's name, or that of its first output
	In      []Type  // of the actual inputs; the zero Type for an optional one that is absent
	Known   []Known // what is known of each input
	Outputs int     // number of formal outputs of the node
	Want    []bool  // which of them have a name; nil: all
	Out     []Type  // of the formal outputs, then of the hidden ones; set by inference
	Train   bool    // batch statistics and dropout are on
	Keep    bool    // the expression graph is to be traced: composite operators are not taken apart where possible
	Stream  uint64  // distinguishes the random operators of a model
	Opset   int     // operator-set version of the model

	// Derive computes, for the GradientConfig of package std, the gradients of the last value that it names with respect to
	// the others, which have the values of the given nodes. nil outside of a graph.
	Derive func(in gorgonia.Nodes) (gorgonia.Nodes, error)

	Ctx context.Context // cancels long computations: loops check it before each iteration; nil: never
	Key [2]uint64       // seed and step of random operators in subgraphs that Func runs

	scope  *Scope // of the composite operator that is being emitted
	within string // for errors of a call without Node: that of the node for which it was made
	maybe  bool   // part of gradients that may not be asked for: Backpropagate checks whether those that are fit in memory
}

// node returns the name of the node for errors, that of the node for which the call was made if it has none itself.
func (c *Call) node() string { return cmp.Or(c.Node, c.within) }

// Context returns the context of the run; it is never nil.
func (c *Call) Context() context.Context {
	if c.Ctx == nil {
		return context.Background()
	}
	return c.Ctx
}

// NewCall returns a call of the operator that c names, on inputs of the given types: at its latest version, with one
// formal output, and defaults in zero fields of c. See Complete for its errors.
func (s Set) NewCall(c Config, in ...Type) (*Call, error) {
	c, err := s.Complete(c)
	if err != nil {
		return nil, &Error{Err: err}
	}
	o, err := s.Of(c)
	if err != nil {
		return nil, &Error{Err: err}
	}
	return &Call{Set: s, Op: o, Config: c, Version: o.Latest(), In: in, Known: make([]Known, len(in)), Outputs: 1}, nil
}

// NewCall is the method of c's Set, for a call with which c is computed: it has c's context, and its errors name c's node.
func (c *Call) NewCall(cfg Config, in ...Type) (*Call, error) {
	call, err := c.Set.NewCall(cfg, in...)
	if err == nil {
		call.Ctx, call.within, call.maybe = c.Ctx, c.node(), c.maybe
	}
	return call, err
}

// Has reports whether input i is present.
func (c *Call) Has(i int) bool { return i < len(c.In) && c.In[i].Present() }

// Wants reports whether formal output i is used.
func (c *Call) Wants(i int) bool {
	return i < c.Outputs && (c.Want == nil || i < len(c.Want) && c.Want[i])
}

// InputName returns the formal name of input i.
func (c *Call) InputName(i int) string {
	if c.Op == nil {
		return ""
	}
	s, _ := At(c.Op.In.List(), i)
	return s.Name
}

// Rank returns the rank of input i. It is an error if the input is absent or its rank unknown.
func (c *Call) Rank(i int) (int, error) {
	if !c.Has(i) {
		return 0, c.Mismatch(i, "a value", "nothing")
	}
	if c.In[i].Unranked {
		return 0, c.Mismatch(i, "a known rank", c.In[i])
	}
	return len(c.In[i].Shape), nil
}

// Dims returns the value of integer input i as dimensions, which may be symbolic. The error is a *NeedError if the value
// is not known.
func (c *Call) Dims(i int) ([]Dim, error) {
	if i < len(c.Known) {
		k := c.Known[i]
		if k.Dims != nil {
			return k.Dims, nil
		}
		if d, ok := k.Value.(*tensor.Dense); ok && d != nil {
			n, err := dtype.Ints(d)
			if err != nil {
				return nil, c.Mismatch(i, "integers", c.In[i])
			}
			return Dims(n...), nil
		}
		if k.Value != nil { // not a tensor: its value would not help
			return nil, c.Mismatch(i, "integers", c.In[i])
		}
	}
	return nil, &NeedError{Input: i, Name: c.InputName(i)}
}

// Exact reports whether negative elements of d, which Dims returned for input i, are numbers rather than unknown
// dimensions.
func (c *Call) Exact(i int, d []Dim) bool {
	if i < 0 || i >= len(c.Known) {
		return false
	}
	if k := c.Known[i]; k.Exact || k.Value != nil {
		return true
	}
	return !slices.ContainsFunc(d, func(x Dim) bool { return x == Unknown() })
}

// Ints returns the value of integer input i. The error is a *NeedError if the value is not known.
func (c *Call) Ints(i int) ([]int, error) {
	d, err := c.Dims(i)
	if err != nil {
		return nil, err
	}
	n := make([]int, len(d))
	for k, x := range d {
		if !x.Known() && (x.Symbolic() || c.Known[i].Value == nil) {
			return nil, &NeedError{Input: i, Name: c.InputName(i)}
		}
		n[k] = x.Size
	}
	return n, nil
}

// Value returns the value of input i. The error is a *NeedError if it is not known.
func (c *Call) Value(i int) (dtype.Value, error) {
	if i < len(c.Known) {
		if v := c.Known[i].Value; v != nil {
			return v, nil
		}
		if d := c.Known[i].Dims; d != nil {
			if v, ok := DimsValue(d, c.In[i]); ok {
				return v, nil
			}
		}
	}
	return nil, &NeedError{Input: i, Name: c.InputName(i)}
}

// DimsValue returns the tensor of type t (int64 or int32, rank 0 or 1) that holds d. It reports false if a dimension has
// no number.
func DimsValue(d []Dim, t Type) (*tensor.Dense, bool) {
	n := make([]int, len(d))
	for i, x := range d {
		if x.Sym != "" && !x.Known() {
			return nil, false
		}
		n[i] = x.Size
	}
	shape := []int{len(n)}
	if t.Rank() == 0 && len(n) == 1 {
		shape = nil
	}
	v, err := dtype.FromInts(t.DType, n, shape...)
	return v, err == nil
}

// Axis brings an axis of a tensor of the given rank, which may be negative, into [0, rank). It is an error if the axis
// does not exist.
func (c *Call) Axis(axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, c.Errorf("axis %d is outside of [%d, %d]", axis, -rank, rank-1)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// Axes is Axis for several axes, sorted; a repeated one is an error.
func (c *Call) Axes(axes []int, rank int) ([]int, error) {
	out := make([]int, len(axes))
	for i, a := range axes {
		var err error
		if out[i], err = c.Axis(a, rank); err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	for i := 1; i < len(out); i++ {
		if out[i] == out[i-1] {
			return nil, c.Errorf("axis %d is given twice", out[i])
		}
	}
	return out, nil
}

var errNoInput = errors.New("op: the call is nil or has no input")

// Same returns an Infer for operators with one output that has the type of input 0.
func Same(c *Call) ([]Type, error) {
	if c == nil || len(c.In) == 0 {
		return nil, errNoInput
	}
	return []Type{c.In[0]}, nil
}

// Broadcast returns the shape that the given shapes broadcast to by NumPy's rules.
func (c *Call) Broadcast(shapes ...[]Dim) ([]Dim, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make([]Dim, rank)
	for i := range out {
		out[i] = D(1)
		for _, s := range shapes {
			j := i - rank + len(s)
			if j < 0 {
				continue
			}
			d, ok := BroadcastDim(out[i], s[j])
			if !ok {
				return nil, c.Errorf("shapes %v do not broadcast: dimension %d is %v and %v", shapeStrings(shapes), i, out[i], s[j])
			}
			out[i] = d
		}
	}
	return out, nil
}

// BroadcastDim returns the dimension that a and b broadcast to by NumPy's rules. It reports false if they do not.
func BroadcastDim(a, b Dim) (Dim, bool) {
	one := func(d Dim) bool { return d.Size == 1 && d.Sym == "" }
	switch {
	case one(a):
		return b, true
	case one(b):
		return a, true
	case a.Size == 1 && b.Size != 1: // a symbol that happens to be 1 now
		return b, true
	case b.Size == 1 && a.Size != 1:
		return a, true
	case !a.Known() && a.Sym == "":
		if b.Known() && b.Size != 1 {
			return b, true
		}
		return a, true
	case !b.Known() && b.Sym == "":
		if a.Known() && a.Size != 1 {
			return a, true
		}
		return b, true
	}
	return a.Merge(b)
}

func shapeStrings(shapes [][]Dim) []string {
	s := make([]string, len(shapes))
	for i, d := range shapes {
		s[i] = Type{DType: dtype.Float32, Shape: d}.String()[len("float32"):]
	}
	return s
}

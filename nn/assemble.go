package nn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// Assembler builds a graph the way a file describes it: by names, in any order. It is meant for packages that read files;
// use Edit to build a model in a program.
type Assembler struct {
	Context context.Context // ends Finish, Graph and Weights; nil: nothing does

	g     *Graph
	specs []NodeSpec
	sub   bool
	outer []*Value
	err   error
}

// NodeSpec describes a node by names. "" in In and Out is an optional value that is absent.
type NodeSpec struct {
	Name, Domain, Type, Doc string         // as in the file
	Attrs                   map[string]any // see op.Op.Decode; subgraphs are *Body
	In, Out                 []string
	Origin                  any         // see Node.Origin
	Annotations             Annotations // of the node
}

// Assemble starts to assemble g, which must be empty.
func Assemble(g *Graph) *Assembler { return &Assembler{g: g} }

// AssembleBody starts to assemble the graph of a subgraph attribute. Names that the subgraph does not define refer to
// values of the graphs around it.
func AssembleBody(name string, parent *Graph) *Assembler {
	parent.there()
	g := NewGraph(name, parent.ops, parent.opsets)
	return &Assembler{g: g, sub: true}
}

// Describe sets the documentation and the metadata of the graph.
func (a *Assembler) Describe(doc string, meta map[string]string) {
	a.made()
	a.g.doc = doc
	if meta != nil {
		a.g.meta = meta
	}
}

func (a *Assembler) context() context.Context { return cmp.Or(a.Context, context.Background()) }

func (a *Assembler) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *Assembler) add(v *Value) *Value {
	a.made()
	v.graph = a.g
	if v.name == "" {
		a.fail(&Error{Stage: "load", Err: errors.New("a value has no name")})
		return v
	}
	if a.g.values[v.name] != nil {
		a.fail(&Error{Stage: "load", Err: fmt.Errorf("two values are named %q", v.name)})
		return v
	}
	a.g.values[v.name] = v
	return v
}

// Input adds a graph input.
func (a *Assembler) Input(name string, t op.Type, origin any) {
	a.g.inputs = append(a.g.inputs, a.add(&Value{name: name, typ: t, input: true, origin: origin}))
}

// Param adds a parameter: a tensor of numbers or strings.
func (a *Assembler) Param(name string, t dtype.Value, origin any) {
	p := &Param{kept: new(engine.WeightCache)}
	switch t := t.(type) {
	case *tensor.Dense:
		p.data, p.mask = t, isMask(t)
	case *dtype.Strings:
		p.text = t
	default:
		a.fail(&Error{Stage: "load", Input: name, Err: fmt.Errorf("an initializer is a %T", t)})
		return
	}
	p.value = a.add(&Value{name: name, typ: op.TypeOf(t), param: p, origin: origin})
}

// Trained makes a parameter a weight, whatever its use suggests.
func (a *Assembler) Trained(name string) {
	a.made()
	if v := a.g.values[name]; v != nil && v.param != nil {
		role := Weight
		v.param.role = &role
	}
}

// Node adds a node.
func (a *Assembler) Node(s NodeSpec) { a.specs = append(a.specs, s) }

// Type declares the type of a value that a node computes.
func (a *Assembler) Type(name string, t op.Type, origin any) {
	a.made()
	if v := a.g.values[name]; v.source() != nil {
		v.typ, v.origin = t, origin
	}
}

// Finish connects the nodes and checks that every name is defined exactly once and that the graph has no cycle. The types
// of inner values are declared after it, then Output and finally Graph or Body are called.
func (a *Assembler) Finish() error {
	a.made()
	if a.err != nil {
		return a.err
	}
	nodes := make([]*Node, len(a.specs))
	ctx := a.context()
	for i, s := range a.specs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s.Domain == "ai.onnx" {
			s.Domain = ""
		}
		n := &Node{name: s.Name, domain: s.Domain, opType: s.Type, doc: s.Doc, graph: a.g, origin: s.Origin, annotations: s.Annotations}
		nodes[i] = n
		for k, name := range s.Out {
			if name == "" {
				n.out = append(n.out, nil)
				continue
			}
			n.out = append(n.out, a.add(&Value{name: name, producer: n, index: k}))
		}
		if a.err != nil {
			return located("load", n, a.err)
		}
	}
	for i, s := range a.specs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := a.connect(nodes[i], s); err != nil {
			return err
		}
	}
	order, err := topological(nodes, &watch{ctx: ctx})
	if err != nil {
		return err
	}
	a.g.setNodes(order)
	return nil
}

func (a *Assembler) connect(n *Node, s NodeSpec) error {
	n.op = a.g.ops.Find(s.Domain, s.Type)
	if n.op != nil {
		if _, imported := a.g.opsets[n.domain]; !imported && len(n.op.Since) > 1 {
			return located("load", n, fmt.Errorf("no operator set of domain %q is imported, and the operator differs between them", n.domain))
		}
		version := n.op.Version(a.g.opset(s.Domain))
		if version == 0 {
			version = n.op.Since[0]
		}
		c, err := n.op.Decode(version, s.Attrs)
		if err != nil {
			return located("load", n, err)
		}
		n.config = c
		n.adopt()
	}
	for _, name := range s.In {
		v, err := a.find(name)
		if err != nil {
			return located("load", n, err)
		}
		n.in = append(n.in, v)
		v.use(n)
	}
	if r, ok := n.config.(std.Referrer); ok {
		for _, name := range r.Refers() {
			v, err := a.find(name)
			if err == nil && v == nil {
				err = errors.New("refers to a value that has no name")
			}
			if err != nil {
				return located("load", n, err)
			}
			n.captured = append(n.captured, v)
			v.use(n)
		}
	}
	for _, b := range attrBodies(n, s.Attrs) {
		for _, o := range b.outer {
			v, err := a.find(o.name)
			if err != nil {
				return located("load", n, err)
			}
			n.captured = append(n.captured, v)
			v.use(n)
		}
	}
	return nil
}

// attrBodies returns the node's subgraphs: in the order of the configuration, or by attribute name
// for an operator graft does not know.
func attrBodies(n *Node, attrs map[string]any) []*Body {
	if n.op != nil {
		return n.bodies()
	}
	var names []string
	for k := range attrs {
		names = append(names, k)
	}
	slices.Sort(names)
	var list []*Body
	for _, k := range names {
		if b, ok := attrs[k].(*Body); ok {
			list = append(list, b)
		}
	}
	return list
}

func (a *Assembler) find(name string) (*Value, error) {
	if name == "" {
		return nil, nil
	}
	if v := a.g.values[name]; v != nil {
		return v, nil
	}
	if !a.sub {
		return nil, fmt.Errorf("reads %q, which nothing computes", name)
	}
	v := a.add(&Value{name: name})
	a.outer = append(a.outer, v)
	return v, nil
}

// Output adds a graph output.
func (a *Assembler) Output(name string, t op.Type, origin any) {
	v, _ := a.find(name)
	if v == nil {
		a.fail(&Error{Stage: "load", Err: fmt.Errorf("output %q is not computed by any node", name)})
		return
	}
	if v.producer != nil {
		v.typ = t
	}
	if v.origin == nil {
		v.origin = origin
	}
	a.g.outputs = append(a.g.outputs, v)
}

// Graph returns the finished graph, with all types inferred.
func (a *Assembler) Graph() (*Graph, error) {
	a.made()
	if a.err != nil {
		return nil, a.err
	}
	if err := a.g.inferUntil(a.context()); err != nil {
		var e *Error
		if errors.As(err, &e) && e.Stage == "infer" {
			e.Stage = "load"
		}
		return nil, err
	}
	return a.g, nil
}

// Body returns the finished subgraph.
func (a *Assembler) Body() (*Body, error) {
	a.made()
	if a.err != nil {
		return nil, a.err
	}
	return NewBody(a.g, a.outer), nil
}

// topological sorts nodes so that each follows those it reads from, otherwise in the given order. It ends with the error of what w, which may be
// nil, watches.
func topological(nodes []*Node, w *watch) ([]*Node, error) {
	const (
		open = 1
		done = 2
	)
	state := make(map[*Node]int, len(nodes))
	order := make([]*Node, 0, len(nodes))
	type frame struct {
		n     *Node
		reads []*Value
	}
	for _, root := range nodes {
		if state[root] != 0 {
			continue
		}
		state[root] = open
		stack := []frame{{root, root.reads()}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if len(f.reads) == 0 {
				if w.ended() {
					return nil, w.err
				}
				state[f.n] = done
				order = append(order, f.n)
				stack = stack[:len(stack)-1]
				continue
			}
			v := f.reads[0]
			f.reads = f.reads[1:]
			if v == nil || v.producer == nil || state[v.producer] == done {
				continue
			}
			if state[v.producer] == open {
				return nil, &Error{Op: v.producer.opType, Node: v.producer.label(), Err: errors.New("is computed from its own result: the graph has a cycle")}
			}
			state[v.producer] = open
			stack = append(stack, frame{v.producer, v.producer.reads()})
		}
	}
	return order, nil
}

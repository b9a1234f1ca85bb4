package nn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// Edit changes a graph inside a transaction. The first error sticks: later calls do nothing and
// return nil handles, and Graph.Edit returns it with the graph as it was.
type Edit struct {
	g        *Graph
	err      error
	log      []action
	place    []string // where in a layer we are, for errors
	scope    string   // what names of parameters and nodes begin with, see Named
	notes    []string // what the caller should be told, see Note
	seed     uint64
	freed    []freed   // dimensions of inputs that were fixed, see retype
	cuts     []Cut     // what was cut, in order
	saved    [][2]Cost // before and after each resize
	round    int       // changes of channels so far, see Cut
	channels *Channels // as of its last change
	acts     int       // changes made, those taken back included
	// settled is the number of the last change when types were inferred last.
	settled int
}

// action is one primitive change, together with its inverse.
type action struct {
	do, undo func()
	change   Change
	text     string
	number   int // counts the changes of an edit
}

// Edit runs f as a transaction: all of it is applied, or nothing. Types and shapes are checked
// before it counts. Inside f, the graph's own methods that read see the changes so far; to run it, or
// to begin another edit, is an error there. Other goroutines wait until the edit is over.
func (g *Graph) Edit(f func(*Edit)) error {
	if err := g.edited("edit"); err != nil {
		return err
	}
	if f == nil {
		return &Error{Stage: "edit", Err: errNoFunction}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	e, err := g.attempt(f)
	if err != nil {
		return err
	}
	g.commit(e.log)
	return nil
}

var errNoFunction = errors.New("the function is nil")

// errOver sticks to an edit that has come to its end.
var errOver = &Error{Stage: "edit", Err: errors.New("the edit is over: begin another")}

// attempt applies f and checks the result; on an error everything is undone.
func (g *Graph) attempt(f func(*Edit)) (e *Edit, err error) {
	e = &Edit{g: g}
	g.edit = e
	g.mu.editor.Store(goroutine())
	finished := false
	defer func() {
		g.mu.editor.Store(0)
		g.edit = nil
		if !finished || err != nil { // f may panic: the graph is restored first
			e.undo()
		}
		if e.err == nil {
			e.err = errOver // for handles that were kept
		}
	}()
	f(e)
	finished = true
	if e.err == nil {
		e.settle()
	}
	return e, e.err
}

// settle sorts the nodes, infers all types and verifies the invariants.
func (e *Edit) settle() {
	if e.follow(); e.err != nil {
		return
	}
	if e.sortNodes(); e.err != nil {
		return
	}
	if err := e.infer(); err != nil {
		e.fail(err)
		return
	}
	e.fail(e.g.check())
}

func (e *Edit) undo() {
	for _, a := range slices.Backward(e.log) {
		a.undo() // types, too: inference is among the changes
	}
}

// commit makes a new version of the graph and writes the journal.
func (g *Graph) commit(log []action) {
	g.version++
	for _, a := range log {
		if a.change.Kind != "" {
			a.change.Version = g.version
			g.changes = append(g.changes, a.change)
		}
	}
	g.cache.clear()
}

func (e *Edit) act(a action) {
	a.do()
	e.acts++
	a.number = e.acts
	e.log = append(e.log, a)
}

// Err is the error that stuck.
func (e *Edit) Err() error { return e.err }

// Fail makes the edit fail with err, unless it is nil or the edit has failed before. Layers and
// losses report with it.
func (e *Edit) Fail(err error) { e.fail(err) }

// Failf is Fail with a sentence.
func (e *Edit) Failf(format string, args ...any) { e.fail(fmt.Errorf(format, args...)) }

func (e *Edit) fail(err error) {
	if err == nil || e.err != nil {
		return
	}
	var x *Error
	if errors.As(err, &x) {
		c := *x
		if c.Stage == "" || c.Stage == "infer" {
			c.Stage = "edit"
		}
		c.Node = strings.TrimSpace(strings.Join(e.place, " ") + " " + c.Node)
		e.err = &c
		return
	}
	e.err = &Error{Stage: "edit", Node: strings.Join(e.place, " "), Err: err}
}

// Note records something the caller should know, such as which layer a head replaced.
func (e *Edit) Note(format string, args ...any) {
	if e.err == nil {
		e.notes = append(e.notes, fmt.Sprintf(format, args...))
	}
}

// Notes are the notes so far.
func (e *Edit) Notes() []string { return slices.Clone(e.notes) }

// Graph is the graph under edit; read from it, but do not call its locking methods.
func (e *Edit) Graph() *Graph { return e.g }

// Opset is the operator-set version of the standard domain.
func (e *Edit) Opset() int { return e.g.opset("") }

// Value finds a value by name.
func (e *Edit) Value(name string) *Value {
	if e.err != nil {
		return nil
	}
	v, err := e.g.value(name)
	e.fail(err)
	return v
}

// Inputs are the graph's inputs.
func (e *Edit) Inputs() []*Value { return slices.Clone(e.g.inputs) }

// Outputs are the graph's outputs.
func (e *Edit) Outputs() []*Value { return slices.Clone(e.g.outputs) }

// Find is the one node that all selectors accept.
func (e *Edit) Find(sel ...Selector) *Node {
	list := e.Nodes(sel...)
	if len(list) > 1 {
		e.Failf("the selection matches %d nodes, %s and %s among them: want one", len(list), list[0].Label(), list[1].Label())
	}
	if e.err != nil {
		return nil
	}
	return list[0]
}

// Nodes are the nodes that all selectors accept, in topological order. To match none is an error.
func (e *Edit) Nodes(sel ...Selector) []*Node {
	if e.err != nil {
		return nil
	}
	var list []*Node
	for _, n := range e.g.nodes {
		if all(sel, n) {
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		e.Failf("the selection matches no node of %d", len(e.g.nodes))
	}
	return list
}

// unique is a name that no value has, made from base.
func (e *Edit) unique(base string) string {
	if base == "" {
		base = "value"
	}
	if !e.g.has(base) {
		return base
	}
	return e.g.numbered(base+"_", e.g.has)
}

// New returns a fresh name that begins with base.
func (e *Edit) New(base string) string { return e.unique(base) }

// Input adds a graph input of the type written "float32[N,3,224,224]". For an input that is there
// already it changes the type: a symbol in place of a number frees a dimension that the file
// fixed, and what was computed from the number is rewritten, or the edit names the node that prevents it.
func (e *Edit) Input(name, typ string) *Value {
	if e.err != nil {
		return nil
	}
	t, err := op.ParseType(typ)
	if err != nil {
		e.fail(err)
		return nil
	}
	if name == "" {
		e.Failf("an input needs a name")
		return nil
	}
	if v := e.g.values[name]; v != nil {
		if !v.input {
			e.Failf("%q is not an input", name)
			return nil
		}
		e.retype(v, t)
		return v
	}
	v := &Value{name: name, typ: t, input: true, graph: e.g}
	e.addValue(v)
	e.setInputs(append(slices.Clone(e.g.inputs), v), "add input "+name+" "+t.String())
	return v
}

// Output makes v a graph output under the given name. A value that has another name is renamed,
// or copied by an Identity when it is an input, a parameter or an output already.
func (e *Edit) Output(name string, v *Value) {
	if e.err != nil || !e.mine(v) {
		return
	}
	if v.name != name {
		if other := e.g.values[name]; other != nil {
			e.Failf("the name %q is taken", name)
			return
		}
		if v.input || v.param != nil || slices.Contains(e.g.outputs, v) {
			n := e.NodeN(op.Plain("Identity"), 1, v)
			if e.err != nil {
				return
			}
			v = n.out[0]
		}
		e.RenameValue(v, name)
	}
	if slices.Contains(e.g.outputs, v) {
		return
	}
	e.setOutputs(append(slices.Clone(e.g.outputs), v), "add output "+name)
}

// RemoveOutput makes a graph output an inner value; what is computed for it alone goes, too.
func (e *Edit) RemoveOutput(name string) {
	v := e.Value(name)
	if e.err != nil {
		return
	}
	i := slices.Index(e.g.outputs, v)
	if i < 0 {
		e.Failf("%q is not an output", name)
		return
	}
	if len(e.g.outputs) == 1 {
		e.Failf("%q is the only output", name)
		return
	}
	e.setOutputs(slices.Delete(slices.Clone(e.g.outputs), i, i+1), "remove output "+name)
	e.sweep(v)
}

// mine says whether the handle is a value of this graph; if not, the edit fails.
func (e *Edit) mine(v *Value) bool {
	switch {
	case e.err != nil:
		return false
	case v == nil:
		e.Failf("a value is nil")
	case v.graph != e.g || e.g.values[v.name] != v:
		e.Failf("value %q is not in this graph", v.name)
	default:
		return true
	}
	return false
}

func (e *Edit) has(n *Node) bool {
	switch {
	case e.err != nil:
		return false
	case n == nil:
		e.Failf("a node is nil")
	case n.graph != e.g || !slices.Contains(e.g.nodes, n):
		e.Failf("node %q is not in this graph", n.Label())
	default:
		return true
	}
	return false
}

// Param adds a float32 parameter that starts as init says. The name is made unique.
func (e *Edit) Param(name string, init Init, dims ...int) *Value {
	return e.ParamOf(name, dtype.Float32, init, dims...)
}

// ParamOf is Param for another floating type.
func (e *Edit) ParamOf(name string, t op.DType, init Init, dims ...int) *Value {
	if e.err != nil {
		return nil
	}
	n, err := dtype.Count(dims)
	if err != nil {
		e.fail(err)
		return nil
	}
	if init == nil {
		e.Failf("parameter %q has no initial values", name)
		return nil
	}
	if float64(n)*float64(8+t.Size()) > op.MachineMemory() {
		e.Failf("parameter %q of shape %v takes more than the memory holds", name, dims)
		return nil
	}
	name = e.unique(name)
	v := make([]float64, n)
	init.Fill(v, dims, e.random(name))
	d, err := dtype.FromFloats(t, v, dims...)
	if err != nil {
		e.fail(err)
		return nil
	}
	return e.addParam(name, d)
}

// Seed sets what initial values of later parameters are drawn from: a parameter's values depend
// on the seed and its name alone.
func (e *Edit) Seed(seed uint64) { e.seed = seed }

// Const adds a tensor as a parameter. Integers and scalars are constants by role.
func (e *Edit) Const(name string, d *tensor.Dense) *Value {
	if e.err != nil {
		return nil
	}
	if d == nil {
		e.Failf("constant %q is nil", name)
		return nil
	}
	return e.addParam(e.unique(name), d)
}

// Ints is a constant int64 vector.
func (e *Edit) Ints(name string, v ...int) *Value {
	if e.err != nil {
		return nil
	}
	d, err := dtype.FromInts(dtype.Int64, v, len(v))
	e.fail(err)
	return e.Const(name, d)
}

// Scalar is a constant of rank 0 with the element type of like.
func (e *Edit) Scalar(name string, like *Value, x float64) *Value {
	if e.err != nil {
		return nil
	}
	d, err := dtype.FromFloats(like.Type().DType, []float64{x})
	e.fail(err)
	return e.Const(name, d)
}

func (e *Edit) addParam(name string, d *tensor.Dense) *Value {
	if e.err != nil {
		return nil
	}
	p := &Param{Data: d, kept: new(engine.Kept)}
	v := &Value{name: name, typ: op.TypeOf(d), param: p, graph: e.g}
	p.value = v
	e.addValue(v)
	return v
}

// Node adds an operator and returns its node; nil is an absent optional input. The node's first
// output is Out(0). An operator or attribute that the graph's operator-set version lacks is refused.
func (e *Edit) Node(c op.Config, in ...*Value) *Node { return e.NodeN(c, 1, in...) }

// NodeN is Node for an operator with several outputs.
func (e *Edit) NodeN(c op.Config, outputs int, in ...*Value) *Node {
	return e.named("", c, outputs, in)
}

// named is NodeN with a name for the node, which its first output gets as well; "" names the
// outputs after the operator.
func (e *Edit) named(label string, c op.Config, outputs int, in []*Value) *Node {
	if e.err != nil {
		return nil
	}
	c, err := op.Complete(c)
	if err != nil {
		e.fail(err)
		return nil
	}
	o := c.Op()
	label = e.g.label(label)
	n := &Node{name: label, domain: o.Domain, opType: o.Name, op: o, config: c, in: slices.Clone(in), graph: e.g, fresh: true}
	if err := e.available(n); err != nil {
		e.fail(err)
		return nil
	}
	for _, v := range in {
		if v != nil && !e.mine(v) {
			return nil
		}
	}
	for i := range outputs {
		name := label
		if name == "" {
			name = strings.ToLower(o.Name)
		}
		v := &Value{name: e.unique(name), producer: n, index: i, graph: e.g}
		n.out = append(n.out, v)
		e.addValue(v)
	}
	e.addNode(n)
	if err := e.g.inferNode(n); err != nil {
		e.fail(err)
		return nil
	}
	return n
}

// available says whether the graph's operator-set version has the operator and its attributes.
func (e *Edit) available(n *Node) error {
	if n.op.Domain == op.Internal {
		return &Error{Op: n.op.Name, Err: errors.New("exists only in lowerings")}
	}
	if _, ok := e.g.Opsets[n.domain]; !ok {
		since := n.op.Latest()
		set := e.g.Opsets
		e.act(action{do: func() { set[n.domain] = since }, undo: func() { delete(set, n.domain) }})
	}
	v := e.g.opset(n.domain)
	if n.op.Version(v) == 0 {
		return &Error{Op: n.op.Name, Err: fmt.Errorf("needs operator set %d, the graph has %d", n.op.Since[0], v)}
	}
	return op.Available(n.op.Version(v), n.config)
}

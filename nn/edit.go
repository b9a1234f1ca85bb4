package nn

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Edit changes a graph inside a transaction (Graph.Edit). The first error is kept: later calls do nothing and return nil
// handles and empty slices, and Graph.Edit returns that error and leaves the graph as it was, also if the function then
// panics because it indexes one of these slices.
type Edit struct {
	g        *Graph
	err      error
	log      []action
	place    []string // path of the current layer, for errors
	scope    string   // prefix of the names of parameters and nodes, see Edit.Scope
	notes    []string // messages for the caller, see Note
	prefix   string   // prefix of the names of values, in a subgraph that is traced
	seed     uint64
	freed    []freed   // dimensions of inputs that were fixed, see retype
	cuts     []Cut     // what was cut, in order
	saved    [][2]Cost // before and after each resize
	round    int       // number of channel changes so far, see Cut
	channels *Channels // analysis after the last change
	spelled  []*Value  // constants that an older spelling may have turned into attributes; unread ones are removed at the end
	outer    *Edit     // edit of the enclosing graph, see convertBody
	watch    *watch    // of the context that ends the edit; nil: none does
	body     *Body     // the subgraph that is built, see Edit.Body
	bodies   []*Body   // subgraphs of the graph's nodes and of new nodes, see taken; nil until requested
	acts     int       // number of changes made, including reverted ones
	// settled is the value of acts when types were last inferred.
	settled int
	// sorted is the value of acts when the nodes were last sorted topologically.
	sorted int
}

// action is one primitive change, together with its inverse.
type action struct {
	make     func() error // allocates what do puts into the graph, and is called before it; nil if it allocates nothing large
	do, undo func()
	change   *Change // entry of the journal, nil if there is none
	text     string
	number   int  // number of the change within the edit
	grows    bool // only adds to the graph, see dataMemo
}

// Edit runs f as a transaction: all of its changes are applied, or none. Types and shapes are checked before they are. f
// must read the graph through the methods of its Edit, which see the changes so far: inside f, the methods of the graph
// itself return an error, or panic if they do not return errors. Other goroutines wait until the edit ends.
func (g *Graph) Edit(f func(*Edit)) error {
	return g.EditUntil(context.Background(), f)
}

var errNoFunction = errors.New("the function is nil")

// errOver is the error of calls after the end of an edit.
var errOver = &Error{Stage: "edit", Err: errors.New("the edit is over: begin another")}

// attempt applies f and checks the result; on an error everything is undone.
func (g *Graph) attempt(f func(*Edit), w *watch) (e *Edit, err error) {
	if g.values == nil { // the zero Graph
		n := New("")
		g.ops, g.opsets, g.meta, g.values = n.ops, n.opsets, n.meta, n.values
	}
	e = &Edit{g: g, watch: w}
	g.edit = e
	finished := false
	defer func() {
		g.edit = nil
		if !finished || err != nil { // f panicked: restore the graph first
			e.undo()
		}
		if e.err == nil {
			e.err = errOver // for handles that were kept
		}
	}()
	e.call(f)
	finished = true
	if e.err == nil {
		e.settle()
	}
	return e, e.err
}

// call runs f. A run-time panic after the edit has failed is a consequence of the failure, such as an index into the
// empty result of Expr: the edit's error is the one to report.
func (e *Edit) call(f func(*Edit)) {
	defer func() {
		if e.err == nil {
			return
		}
		if r := recover(); r != nil {
			if _, ok := r.(runtime.Error); !ok {
				panic(r)
			}
		}
	}()
	f(e)
}

// settle sorts the nodes, infers all types and verifies the invariants.
func (e *Edit) settle() {
	if e.follow(); e.err != nil {
		return
	}
	for _, v := range e.spelled {
		if v != nil && v.param != nil {
			e.sweep(v)
		}
	}
	if e.sortNodes(); e.err != nil {
		return
	}
	if err := e.infer(); err != nil {
		e.fail(err)
		return
	}
	e.fail(e.g.check(e.watch))
}

func (e *Edit) undo() {
	defer e.g.data.forget()
	for _, a := range slices.Backward(e.log) {
		a.undo() // types, too: inference is among the changes
	}
}

// commit makes a new version of the graph and writes the journal.
func (g *Graph) commit(log []action) {
	if len(log) == 0 {
		return
	}
	g.version++
	g.journal.add(g.version, log)
	g.cache.clear()
}

func (e *Edit) act(a action) {
	if e.ended() {
		return
	}
	if err := a.apply(); err != nil {
		e.fail(err)
		return
	}
	if !a.grows {
		e.g.data.forget()
	}
	e.acts++
	a.number = e.acts
	e.log = append(e.log, a)
}

// apply makes the change. After an error nothing has changed.
func (a action) apply() error {
	if a.make != nil {
		if err := a.make(); err != nil {
			return err
		}
	}
	a.do()
	return nil
}

// Err returns the error that the edit failed with, nil if there is none so far.
func (e *Edit) Err() error {
	e.made()
	return e.err
}

// Fail makes the edit fail with err, unless err is nil or the edit has already failed. Layers and losses report errors
// with it.
func (e *Edit) Fail(err error) { e.fail(err) }

// Failf is Fail with a formatted message.
func (e *Edit) Failf(format string, args ...any) { e.fail(fmt.Errorf(format, args...)) }

func (e *Edit) fail(err error) {
	e.made()
	if err == nil || e.err != nil {
		return
	}
	var x *Error
	if errors.As(err, &x) {
		c := *x
		if c.Kind == nil && c.Is(ErrShape) {
			c.Kind = ErrShape // whatever the stage
		}
		if c.Stage == "" || c.Stage == "infer" {
			c.Stage = "edit"
		}
		c.Node = strings.TrimSpace(strings.Join(e.place, " ") + " " + c.Node)
		e.err = &c
		return
	}
	e.err = &Error{Stage: "edit", Node: strings.Join(e.place, " "), Err: err}
}

// Note records a message for the caller, for example which layer was replaced.
func (e *Edit) Note(format string, args ...any) {
	e.made()
	if e.err == nil {
		e.notes = append(e.notes, fmt.Sprintf(format, args...))
	}
}

// Notes returns the messages recorded so far.
func (e *Edit) Notes() []string {
	e.made()
	return slices.Clone(e.notes)
}

// unique returns a name that no value has, made from base.
func (e *Edit) unique(base string) string {
	e.made()
	if base == "" {
		base = "value"
	}
	if !strings.HasPrefix(base, e.prefix) {
		base = e.prefix + base
	}
	if !e.taken(base) {
		return base
	}
	return e.g.numbered(base+"_", e.taken)
}

// New returns an unused name that begins with base.
func (e *Edit) New(base string) string { return e.unique(base) }

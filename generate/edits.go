package generate

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/graft-ml/graft/nn"
)

// Edits writes changes of a model as Go source: a function that makes all of them or none.
type Edits struct {
	p    *printer
	node bool
	err  error
}

// NewEdits returns an Edits without changes.
func NewEdits() *Edits {
	e := &Edits{}
	e.begin()
	return e
}

// begin initializes a zero Edits.
func (e *Edits) begin() {
	if e.p == nil {
		e.p = &printer{imports: map[string]bool{}, helpers: map[string]bool{}}
	}
}

// Add adds a statement. Arguments replace the verbs %v: strings, numbers and slices as literals, layers as composite
// literals, and Go verbatim.
func (e *Edits) Add(format string, args ...any) {
	e.begin()
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = e.Text(a)
	}
	e.p.f(format+"\n", list...)
}

// Go is source that Add inserts verbatim.
type Go string

// Text returns a value as Go source.
func (e *Edits) Text(v any) Go {
	switch v := v.(type) {
	case Go:
		return v
	case nn.Layer:
		if o, ok := v.(nn.OpLayer); ok {
			return Go(fmt.Sprintf("%s{Config: %s(%q)}", e.p.q(symOp), e.p.q(symPlain), o.Config.Operator().Name))
		}
		c, err := compOf(v, nil)
		if err != nil {
			e.err = err
			return ""
		}
		return Go(e.p.comp(c))
	}
	x := reflect.ValueOf(v)
	if x.Kind() == reflect.Struct {
		c, err := compOf(v, nil)
		if err != nil {
			e.err = err
			return ""
		}
		return Go(e.p.comp(c))
	}
	return Go(e.p.text(v))
}

// Symbol returns a reference to a declaration in the package of like's type. It panics if like is nil.
func (e *Edits) Symbol(like any, name string) Go {
	e.begin()
	if like == nil {
		panic("generate: Edits.Symbol: nil has no package")
	}
	t := reflect.TypeOf(like)
	return Go(e.p.q(symbol{t.PkgPath(), name}))
}

// Node returns an expression for a node, given its name or that of an output.
func (e *Edits) Node(name string) Go {
	e.node = true
	return Go("node(e, " + strconv.Quote(name) + ")")
}

// Source returns the source of the file, in package pkg; from describes the origin in the documentation.
func (e *Edits) Source(pkg, from string) ([]byte, error) {
	if e.err != nil {
		return nil, fmt.Errorf("generate: %w", e.err)
	}
	if err := packageName(pkg); err != nil {
		return nil, err
	}
	body := e.p.String()
	e.p.Reset()
	e.p.f("// Edit makes the changes, all of them or none.\nfunc Edit(g *%s) error {\nreturn g.Edit(func(e *%s) {\n%s})\n}\n", e.p.q(symGraph), e.p.q(symEdit), body)
	if e.node {
		n := e.p.q(of[nn.Node]())
		e.p.f(`
// node is the node of a name, or the one that computes the value of that name.
func node(e *%s, name string) *%s {
	return e.Find(func(n *%s) bool {
		for _, v := range n.Outputs() {
			if v.Name() == name {
				return true
			}
		}
		return n.Name() == name
	})
}
`, e.p.q(symEdit), n, n)
	}
	return e.p.source(fmt.Sprintf("// Package %s makes the changes%s to a model.\n", pkg, Options{From: from}.origin()), pkg)
}

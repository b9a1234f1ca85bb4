package op

import (
	"errors"
	"fmt"
	"slices"
)

// sizesOf returns an int64 vector of the dimensions that of selects from a call. Those that depend on symbols are
// computed from the shapes of other values.
type sizesOf func(of func(c *Call) []Dim) *Operand

// Spell writes a call of a lowering as nodes of operators that files can hold: a gradient operator (Op.Decompose), or an
// operator whose hidden outputs are read (Op.Expose), which p.Out then lists after the formal ones. The nodes are written
// for the operator-set versions that to returns, in an order in which they can be computed. calls are the same call at
// several sizes of the symbols; the configuration only holds for the first. Numbers that depend on symbols come from
// sizes.
func (s Set) Spell(p *Part, calls []*Call, sizes sizesOf, to func(domain string) int) ([]*Part, error) {
	if p == nil || len(calls) == 0 || calls[0] == nil || calls[0].Op == nil || to == nil {
		return nil, errors.New("op: Spell takes a part, its calls and the versions of operator sets")
	}
	c := calls[0]
	f := c.Op.Expose
	if c.Op.Domain == Internal {
		f = c.Op.Decompose
	}
	if f == nil {
		return nil, errors.New("cannot be written in operators that files can hold")
	}
	n := &Spelling{Part: p, set: s, gone: true, Call: c, calls: calls, sizes: sizes}
	if err := errors.Join(f(n), n.Err); err != nil {
		return nil, err
	}
	for i, x := range p.Out {
		if x != nil && !slices.ContainsFunc(n.before, func(q *Part) bool { return slices.Contains(q.Out, x) }) {
			return nil, fmt.Errorf("cannot write its output %d in ONNX operators", i)
		}
	}
	var list []*Part
	for _, q := range liveParts(n.before, n.Out) {
		more, err := s.written(q, to)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// written returns a part that a spelling added, in the operator-set versions that to returns.
func (s Set) written(q *Part, to func(domain string) int) ([]*Part, error) {
	list, err := s.Respell(q, Newest, to)
	if err == nil && q.Scan != nil {
		err = q.Scan.respell(s, to)
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %w", q.Config.Operator(), err)
	}
	return list, nil
}

// liveParts returns the parts that an output depends on.
func liveParts(parts []*Part, out []*Operand) []*Part {
	read := map[*Operand]bool{}
	for _, x := range out {
		if x != nil {
			read[x] = true
		}
	}
	var list []*Part
	for _, q := range slices.Backward(parts) {
		if slices.ContainsFunc(q.Out, func(x *Operand) bool { return read[x] }) {
			for _, x := range q.In {
				read[x] = true
			}
			list = append(list, q)
		}
	}
	slices.Reverse(list)
	return list
}

// ShapeOf returns dimensions that of selects from the call as an int64 vector. It is an error outside of Set.Spell.
func (n *Spelling) ShapeOf(of func(c *Call) []Dim) *Operand {
	if n.sizes == nil {
		n.Err = errors.Join(n.Err, errors.New("its sizes are known in a lowering only"))
		return n.Vector("shape")
	}
	return n.sizes(of)
}

// Fixed returns numbers of the call that must not depend on a symbol; it is an error, which names what, if they do.
func (n *Spelling) Fixed(what string, of func(c *Call) []int) []int {
	if n.Part == nil || of == nil {
		panic(zeroSpelling)
	}
	list := of(n.Call)
	for _, c := range n.calls {
		if !slices.Equal(of(c), list) {
			n.Err = errors.Join(n.Err, fmt.Errorf("%s depends on a symbol: fix it in the type of the model's input", what))
			break
		}
	}
	return list
}

// OutShape returns the shape of output i as an int64 vector.
func (n *Spelling) OutShape(i int) *Operand {
	return n.ShapeOf(func(c *Call) []Dim { return c.Out[i].Shape })
}

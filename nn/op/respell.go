package op

import (
	"errors"
	"fmt"
	"slices"
)

// Respell rewrites a node of operator-set version from for another version, which to returns for each domain. It returns
// the resulting nodes in an order in which they can be computed; p is among them unless its operator was decomposed.
// After an error p must not be used.
func (s Set) Respell(p *Part, from int, to func(domain string) int) ([]*Part, error) {
	if p == nil || to == nil {
		return nil, errors.New("op: Respell takes a part and the versions of operator sets")
	}
	n := &Spelling{Part: p, set: s}
	o, err := s.Of(p.Config)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(n.walk(o, from, to(o.Domain)), n.Err); err != nil {
		return nil, err
	}
	if o, err = s.Of(p.Config); err == nil && !n.gone {
		err = bare(Available(o.Version(to(o.Domain)), p.Config))
	}
	if err != nil {
		return nil, err
	}
	return n.respelled(to)
}

// Decompose rewrites a node of operator-set version from, whose operator has Op.Decompose, as nodes of other operators,
// as Respell does if the target operator set lacks the operator.
func (s Set) Decompose(p *Part, from int, to func(domain string) int) ([]*Part, error) {
	if p == nil || to == nil {
		return nil, errors.New("op: Decompose takes a part and the versions of operator sets")
	}
	n := &Spelling{Part: p, set: s}
	o, err := s.Of(p.Config)
	if err != nil {
		return nil, err
	}
	if o.Decompose == nil {
		return nil, fmt.Errorf("%v is not made of other operators", p.Config.Operator())
	}
	if err := errors.Join(n.decompose(o, from), n.Err); err != nil {
		return nil, err
	}
	return n.respelled(to)
}

// respelled returns the parts, of which the added ones are rewritten in turn.
func (n *Spelling) respelled(to func(domain string) int) ([]*Part, error) {
	var list []*Part
	for _, x := range n.parts() {
		if x == n.Part {
			list = append(list, x)
			continue
		}
		more, err := n.set.Respell(x, Newest, to)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", x.Config.Operator(), err)
		}
		list = append(list, more...)
	}
	return list, nil
}

// bare returns an error without the name of the operator.
func bare(err error) error {
	if e, ok := err.(*Error); ok {
		return e.Err
	}
	return err
}

// parts returns the node and those around it that are read.
func (n *Spelling) parts() []*Part {
	list := slices.Clone(n.before)
	if !n.gone {
		list = append(list, n.Part)
	}
	return append(list, n.after...)
}

// walk rewrites the node from one version to another by the steps of its operator. If a step changes the
// operator, the steps of the new one follow. An operator that is newer than the version is decomposed.
func (n *Spelling) walk(o *Op, from, to int) error {
	if o.Version(to) == 0 && o.Decompose != nil {
		return n.decompose(o, from)
	}
	return n.steps(o, from, to)
}

func (n *Spelling) decompose(o *Op, from int) error {
	if err := n.steps(o, from, Newest); err != nil {
		return err
	}
	n.gone = true
	return o.Decompose(n)
}

func (n *Spelling) steps(o *Op, from, to int) error {
	list := slices.Clone(o.Versions)
	if from > to {
		slices.Reverse(list)
	}
	for _, s := range list {
		f, at := s.Up, s.At
		switch {
		case from < s.At && s.At <= to:
		case to < s.At && s.At <= from:
			f, at = s.Down, s.At-1
		default:
			continue
		}
		if f == nil {
			continue
		}
		if err := f(n); err != nil && from > to {
			return &VersionError{Needs: s.At, Why: err}
		} else if err != nil {
			return err
		}
		if next, err := n.set.Of(n.Config); err != nil || next != o {
			if err == nil {
				err = n.walk(next, at, to)
			}
			return err
		}
	}
	if o.Version(to) == 0 {
		return &VersionError{Needs: o.Since[0]}
	}
	return nil
}

// VersionError reports that a node cannot be expressed before some operator-set version.
type VersionError struct {
	Needs int   // the first version in which it can be expressed
	Why   error // nil: the operator does not exist before
}

// Error returns the reason.
func (e *VersionError) Error() string {
	if e.Why == nil {
		return fmt.Sprintf("it came with %d", e.Needs)
	}
	return e.Why.Error()
}

// Unwrap returns Why.
func (e *VersionError) Unwrap() error { return e.Why }

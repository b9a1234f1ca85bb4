package op

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
)

// Version is an operator-set version that changed the spelling or the meaning of an operator (Op.Versions, ascending). A
// version that only added attributes needs no step: a node that sets such an attribute is refused where it does not
// exist.
type Version struct {
	At   int                   // the operator-set version
	Up   func(*Spelling) error // rewrites a node of an earlier version for At; nil: nothing changes
	Down func(*Spelling) error // rewrites a node of At for the version before; nil: nothing changes
	New  Where                 // element types that type variables only stand for from At on
}

// Newest, used as an operator-set version, stands for the latest version of every operator.
const Newest = math.MaxInt

// Refuse returns a Version step that fails for every node.
func Refuse(why string) func(*Spelling) error {
	return func(*Spelling) error { return errors.New(why) }
}

// OnConfig returns a Version step that changes the configuration of the operator by f.
func OnConfig[C Config](f func(n *Spelling, c *C) error) func(*Spelling) error {
	return func(n *Spelling) error {
		c, ok := n.Config.(C)
		if !ok {
			return fmt.Errorf("its attributes are a %T", n.Config)
		}
		err := f(n, &c)
		n.Config = c
		return err
	}
}

// Newest returns the latest version of a domain in which one of the set's operators changed, 0 if it has none.
func (s Set) Newest(domain string) int {
	newest := 0
	for _, o := range s.List() {
		if o.Domain == domain {
			newest = max(newest, o.Latest())
		}
	}
	return newest
}

// NewestType returns, of the element types of a node's inputs and outputs, the one that was added last to ONNX or to the
// operator, and the operator-set version that added it.
func (o *Op) NewestType(in, out []Type) (t DType, since int) {
	note := func(x DType, version int) {
		if version > since {
			t, since = x, version
		}
	}
	for k, list := range [][]Type{in, out} {
		slots := [][]FormalParameter{o.In.List(), o.Out.List()}[k]
		for i, x := range list {
			note(x.DType, TypeSince(x.DType))
			if x.DType == dtype.BFloat16 && slices.Contains(o.Since, 22) { // the version in which operators that lacked it received it
				note(x.DType, 22)
			}
			slot, ok := At(slots, i)
			for _, s := range o.Versions {
				if ok && k == 0 && slices.Contains(s.New[slot.Type], x.DType) {
					note(x.DType, s.At)
				}
			}
		}
	}
	return t, since
}

// TypeSince returns the version of the standard operator set that introduced an element type.
func TypeSince(t DType) int {
	switch t {
	case dtype.BFloat16:
		return 13
	case dtype.Int4, dtype.Uint4:
		return 21
	case dtype.Float4E2M1:
		return 23
	case dtype.Float8E8M0:
		return 24
	case dtype.Int2, dtype.Uint2:
		return 25
	}
	if t.IsFloat() && t.Bits() == 8 {
		return 19
	}
	return 1
}

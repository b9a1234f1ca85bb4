package nn

import (
	"errors"
	"hash"
	"hash/fnv"
	"slices"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// preset is the Gorgonia Op that passes on a constant which Lower computed from a symbolic shape: it holds for the sizes of that
// lowering only, so that tracing refuses it.
type preset struct {
	value string // the constant, as text
}

// asPreset inserts the Op after a tensor; other values are returned unchanged.
func asPreset(n *gorgonia.Node, v *Value) (*gorgonia.Node, error) {
	if _, ok := n.Value().(*tensor.Dense); !ok {
		return n, nil
	}
	return gorgonia.ApplyOp(&preset{v.name}, n)
}

func presetValue(n *gorgonia.Node) (string, bool) {
	s, ok := n.Op().(*preset)
	if !ok {
		return "", false
	}
	return s.value, true
}

func (s *preset) Arity() int { return 1 }

func (s *preset) Type() hm.Type { return hm.NewFnType(hm.TypeVariable('a'), hm.TypeVariable('a')) }

func (s *preset) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	if shape, ok := in[0].(tensor.Shape); ok {
		return slices.Clone(shape), nil
	}
	return nil, errors.New("the shape of a constant is not known")
}

func (s *preset) Do(in ...gorgonia.Value) (gorgonia.Value, error) { return in[0], nil }

func (s *preset) ReturnsPtr() bool     { return true }
func (s *preset) CallsExtern() bool    { return false }
func (s *preset) OverwritesInput() int { return -1 }

func (s *preset) WriteHash(h hash.Hash) { h.Write([]byte(s.String())) }

func (s *preset) Hashcode() uint32 {
	h := fnv.New32a()
	s.WriteHash(h)
	return h.Sum32()
}

func (s *preset) String() string { return s.value + ", computed from a symbolic shape" }

// DiffWRT reports that it has no derivative.
func (s *preset) DiffWRT(inputs int) []bool { return make([]bool, inputs) }

// SymDiff is never called.
func (s *preset) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, errors.New("a constant has no gradient")
}

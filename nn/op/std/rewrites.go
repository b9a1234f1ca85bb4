package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// rewrites returns the groups of standard operators that run as one operator, in the order in which they are tried: a larger group
// comes before those inside of it.
func rewrites() []op.Rewrite {
	return slices.Concat(
		normRules(),
		activationRules(),
		dynamicRules(),
		[]op.Rewrite{attentionRule(), linearRule(), reorderRule(), crossEntropyRule(), quantizeRule()},
	)
}

// on returns an operator of the standard on terms.
func on(name string, in ...op.Term) op.Term { return op.On(op.Plain(name), in...) }

// sources are values of a match.
func sources(m op.Match, names ...string) []op.Source {
	list := make([]op.Source, len(names))
	for i, name := range names {
		list[i] = m.Value(name)
	}
	return list
}

// configOf returns the configuration of the node that computes a value of a match, nil if there is none.
func configOf(m op.Match, name string) op.Config {
	if c := m.Call(m.Value(name)); c != nil {
		return c.Config
	}
	return nil
}

// numberOf returns a number of a match, 0 where it has none.
func numberOf(m op.Match, name string) float32 {
	x, _ := m.Number(name)
	return float32(x)
}

// epsilonOf returns the number of a match that it calls eps.
func epsilonOf(m op.Match) *float32 {
	x := numberOf(m, "eps")
	return &x
}

// turns reports whether the node that computes a value of a match permutes axes by perm.
func turns(m op.Match, name string, perm ...int) bool {
	c, ok := configOf(m, name).(TransposeConfig)
	if !ok {
		return false
	}
	if c.Perm == nil && len(perm) == 2 {
		return perm[0] == 1
	}
	return slices.Equal(c.Perm, perm)
}

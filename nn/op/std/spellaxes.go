package std

import (
	"errors"
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// The steps of axes: before version 11 they are counted from the front, and in most operators a list of integers
// was an attribute before it became an input.

// fromFront counts an axis of input 0 from the front.
func fromFront(n *op.Spelling, axis *int) error {
	if *axis >= 0 {
		return nil
	}
	rank, err := n.Rank(0)
	*axis += rank
	return err
}

// listFromFront is fromFront for a list of axes of a tensor that has more axes than input 0.
func listFromFront(n *op.Spelling, list *[]int, more int) error {
	v := slices.Clone(*list)
	for i, a := range v {
		if a >= 0 {
			continue
		}
		rank, err := n.Rank(0)
		if err != nil {
			return err
		}
		v[i] = a + rank + more
	}
	*list = v
	return nil
}

// frontAxis returns the step over version 11 of an operator with an attribute axis; nil is a default that
// is not negative.
func frontAxis[C op.Config](axis func(c *C) **int) op.Version {
	return op.Version{At: 11, Down: op.OnConfig(func(n *op.Spelling, c *C) error {
		p := axis(c)
		if *p == nil {
			return nil
		}
		a := **p
		*p = &a
		return fromFront(n, &a)
	})}
}

// frontAxisInt is frontAxis for an attribute with a default of 0.
func frontAxisInt[C op.Config](axis func(c *C) *int) op.Version {
	return op.Version{At: 11, Down: op.OnConfig(func(n *op.Spelling, c *C) error { return fromFront(n, axis(c)) })}
}

// toInput makes an attribute input 1.
func toInput(n *op.Spelling, name string, v *[]int) {
	if *v != nil {
		n.Put(1, n.Vector(name, *v...))
	}
	*v = nil
}

// toAttribute makes input 1 an attribute; absent and empty inputs leave it absent.
func toAttribute(n *op.Spelling, v *[]int) error {
	list, err := n.Ints(1)
	if err != nil {
		return err
	}
	if *v = nil; len(list) > 0 {
		*v = list
	}
	n.Cut(1)
	return nil
}

// listInput returns the version at which an attribute became input 1.
func listInput[C op.Config](at int, name string, field func(c *C) *[]int) op.Version {
	return op.Version{At: at,
		Up:   op.OnConfig(func(n *op.Spelling, c *C) error { toInput(n, name, field(c)); return nil }),
		Down: op.OnConfig(func(n *op.Spelling, c *C) error { return toAttribute(n, field(c)) }),
	}
}

// reduceConfig are the configurations of the reductions.
type reduceConfig interface {
	op.Config
	ReduceSumConfig | ReduceMeanConfig | ReduceMaxConfig | ReduceMinConfig | ReduceProdConfig |
		ReduceL1Config | ReduceL2Config | ReduceLogSumConfig | ReduceLogSumExpConfig | ReduceSumSquareConfig
}

// reduceVersions returns the versions of a reduction whose axes became an input with one of them.
func reduceVersions[C reduceConfig](at int, more ...op.Version) []op.Version {
	change := func(f func(n *op.Spelling, a *reduceAttrs) error) func(*op.Spelling) error {
		return op.OnConfig(func(n *op.Spelling, c *C) error {
			a := reduceAttrs(*c)
			err := f(n, &a)
			*c = C(a)
			return err
		})
	}
	list := []op.Version{
		{At: 11, Down: change(func(n *op.Spelling, a *reduceAttrs) error { return listFromFront(n, &a.Axes, 0) })},
		{At: at,
			Up: change(func(n *op.Spelling, a *reduceAttrs) error {
				if len(a.Axes) == 0 { // all of them
					a.Axes = nil
				}
				toInput(n, "axes", &a.Axes)
				return nil
			}),
			Down: change(func(n *op.Spelling, a *reduceAttrs) error {
				if err := toAttribute(n, &a.Axes); err != nil {
					return err
				}
				if a.NoopWithEmptyAxes && len(a.Axes) == 0 {
					return errors.New("it reduces no axes, and in that version no axes mean all")
				}
				a.NoopWithEmptyAxes = false
				return nil
			})},
	}
	list = append(list, more...)
	slices.SortStableFunc(list, func(a, b op.Version) int { return a.At - b.At })
	return list
}

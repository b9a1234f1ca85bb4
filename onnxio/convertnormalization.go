package onnxio

import (
	"errors"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// softmaxUp: before version 13 the axes from the given one on count as one.
func softmaxUp(c *conversion) error {
	axis := 1
	if a := get[*int](c, "Axis"); a != nil {
		axis = *a
	}
	if rank, err := c.rank(0); err == nil && (axis == rank-1 || axis == -1) {
		c.set("Axis", &axis)
		return nil
	}
	shape := c.unused("shape")
	p, err := c.plain(op.ShapeConfig{}, c.in[:1], []string{shape})
	if err != nil {
		return err
	}
	c.before = append(c.before, p)
	c.in = slices.Clone(c.in)
	if err := c.inFront(op.FlattenConfig{Axis: &axis}); err != nil {
		return err
	}
	one := 1
	c.set("Axis", &one)
	return c.behind(op.ReshapeConfig{}, shape)
}

func softmaxDown(c *conversion) error {
	rank, err := c.rank(0)
	if err != nil {
		return err
	}
	last := rank - 1
	axis := last
	if a := get[*int](c, "Axis"); a != nil {
		if axis = *a; axis < 0 {
			axis += rank
		}
	}
	c.set("Axis", &last)
	if axis == last {
		return nil
	}
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	perm[axis], perm[last] = last, axis
	if err := c.inFront(op.TransposeConfig{Perm: perm}); err != nil {
		return err
	}
	return c.behind(op.TransposeConfig{Perm: perm})
}

// groupUp: before version 21 there is a scale and a bias for each group, later for each channel.
func groupUp(c *conversion) error {
	groups := get[int](c, "NumGroups")
	rank, err := c.rank(0)
	if err != nil || rank < 2 {
		return errors.Join(err, errors.New("it has no channels"))
	}
	d := c.value(0).Type().Shape[1]
	if !d.Known() || d.Symbolic() || groups < 1 || d.Size%groups != 0 {
		return errors.New("the number of its channels is not known")
	}
	for i := 1; i < 3; i++ {
		column, each, flat := c.unused("column"), c.unused("each"), c.unused("channels")
		for _, k := range []struct {
			config  op.Config
			in, out string
			shape   []int
		}{{op.ReshapeConfig{}, c.in[i], column, []int{groups, 1}}, {op.Plain("Expand"), column, each, []int{groups, d.Size / groups}}, {op.ReshapeConfig{}, each, flat, []int{-1}}} {
			if err := c.reshaped(k.config, k.in, k.out, k.shape); err != nil {
				return err
			}
		}
		c.in[i] = flat
	}
	return nil
}

// reshaped adds a node in front whose second input is a shape.
func (c *conversion) reshaped(config op.Config, in, out string, shape []int) error {
	d, err := dtype.FromInts(dtype.Int64, shape, len(shape))
	name, err := c.addConstant("shape", d, err)
	if err != nil {
		return err
	}
	p, err := c.plain(config, []string{in, name}, []string{out})
	c.before = append(c.before, p)
	return err
}

func groupDown(c *conversion) error {
	groups, t := get[int](c, "NumGroups"), c.dtype(0)
	rank, err := c.rank(0)
	if err != nil {
		return err
	}
	wide := slices.Repeat([]int{1}, rank-1)
	wide[0] = -1
	var channels [3]string
	for i := 1; i < 3; i++ {
		channels[i] = c.unused("channels")
		if err := c.reshaped(op.ReshapeConfig{}, c.in[i], channels[i], wide); err != nil {
			return err
		}
		neutral, err := dtype.FromFloats(t, slices.Repeat([]float64{float64(2 - i)}, groups), groups) // ones, then zeros
		if c.in[i], err = c.addConstant("neutral", neutral, err); err != nil {
			return err
		}
	}
	c.set("StashType", 1)
	if err := c.behind(op.Plain("Add"), channels[2]); err != nil {
		return err
	}
	return c.behind(op.Plain("Mul"), channels[1])
}

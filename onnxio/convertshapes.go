package onnxio

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// What follows takes operators over versions at which they began to treat shapes in another way.

// broadcasting: before version 7 only the second operand is broadcast, and an attribute says so.
var broadcasting = step{7, broadcastUp, broadcastDown}

func broadcastUp(c *conversion) error {
	axis := get[*int](c, "Axis")
	broadcast := get[bool](c, "Broadcast")
	c.set("Axis", nil)
	c.set("Broadcast", false)
	if axis == nil || !broadcast {
		return nil
	}
	a, err := c.rank(0)
	if err != nil {
		return err
	}
	b, err := c.rank(1)
	if err != nil {
		return err
	}
	from := *axis
	if from < 0 {
		from += a
	}
	var behind []int
	for i := from + b; i < a; i++ {
		behind = append(behind, b+len(behind))
	}
	if behind == nil {
		return nil
	}
	name := c.unused("operand")
	in, config := []string{c.in[1]}, op.UnsqueezeConfig{Axes: behind}
	if c.opsets[""] >= 13 {
		if err := c.addInts(2, "axes", behind...); err != nil {
			return err
		}
		in, config.Axes = append(in, c.in[2]), nil
		c.drop(2)
	}
	p, err := c.plain(config, in, []string{name})
	c.before, c.in[1] = append(c.before, p), name
	return err
}

func broadcastDown(c *conversion) error {
	a, err := c.shape(0)
	if err != nil {
		return equalShapes(c)
	}
	b, err := c.shape(1)
	if err != nil {
		return err
	}
	if slices.Equal(a, b) {
		return nil
	}
	if len(b) > len(a) || !slices.Equal(a[len(a)-len(b):], b) && !slices.Equal(b, []int{1}) {
		return fmt.Errorf("shapes %v and %v do not broadcast there", a, b)
	}
	c.set("Broadcast", true)
	return nil
}

// equalShapes: before version 8 sums, means, maxima and minima are of equal shapes.
func equalShapes(c *conversion) error {
	first := c.value(0)
	for i := range c.in {
		v := c.value(i)
		if v == nil || first == nil || v.Type().Unranked || v.Type().String() != first.Type().String() || slices.ContainsFunc(v.Type().Shape, func(d op.Dim) bool { return !d.Known() && d.Sym == "" }) {
			return errors.New("its inputs may differ in shape, there they must not")
		}
	}
	return nil
}

// oneSlope: before version 7 several slopes stood for channels.
func oneSlope(c *conversion) error {
	s, err := c.shape(1)
	if err != nil {
		return err
	}
	if n, err := dtype.Count(s); err != nil || n != 1 {
		return fmt.Errorf("slopes of shape %v mean something else there", s)
	}
	return nil
}

func gemmUp(c *conversion) error {
	c.set("Broadcast", false)
	return nil
}

func gemmDown(c *conversion) error {
	c.set("Broadcast", true)
	return nil
}

// withC: before version 11 Gemm adds something.
func withC(c *conversion) error {
	if c.has(2) {
		return nil
	}
	name, err := c.addConstant("zero", dtype.New(c.dtype(0), 1), nil)
	c.put(2, name)
	return err
}

// spatial: from version 9 on statistics are always those of channels.
func spatial(c *conversion) error {
	if s := get[*int](c, "Spatial"); s != nil && *s != 1 {
		return errors.New("it normalizes every element by itself")
	}
	c.set("Spatial", nil)
	return nil
}

package onnxio

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
)

// What follows takes attributes that became inputs over the version at which they did.

func boundsToInputs(c *conversion) error {
	for i, field := range []string{"Min", "Max"} {
		x := get[*float32](c, field)
		c.set(field, nil)
		if x == nil {
			continue
		}
		if err := c.addNumber(1+i, field, float64(*x)); err != nil {
			return err
		}
	}
	return nil
}

func boundsToAttributes(c *conversion) error {
	for i, field := range []string{"Min", "Max"} {
		x, err := c.float(1 + i)
		if err != nil {
			return err
		}
		c.set(field, x)
	}
	c.drop(1)
	return nil
}

func ratioToInput(c *conversion) error {
	x := get[*float32](c, "Ratio")
	c.set("Ratio", nil)
	if err := oneOutput(c); err != nil || x == nil {
		return err
	}
	return c.addNumber(1, "ratio", float64(*x))
}

func ratioToAttribute(c *conversion) error {
	mode, err := c.constant(2)
	if err != nil {
		return err
	}
	if mode != nil && dtype.Slice[bool](mode)[0] {
		return errors.New("it always drops, there it does in training only")
	}
	x, err := c.float(1)
	if err != nil {
		return err
	}
	c.set("Ratio", x)
	c.set("Seed", nil)
	c.drop(1)
	return oneOutput(c)
}

func padsToInputs(c *conversion) error {
	x := get[float32](c, "Value")
	if err := toInput("Pads")(c); err != nil || x == 0 {
		return err
	}
	c.set("Value", float32(0))
	return c.addNumber(2, "value", float64(x))
}

func padsToAttributes(c *conversion) error {
	x, err := c.float(2)
	if err != nil {
		return err
	}
	if x != nil {
		c.set("Value", *x)
	}
	return toAttribute("Pads")(c)
}

// allAxes: before version 18 the pads are about all axes.
func allAxes(c *conversion) error {
	if !c.has(3) {
		c.drop(3)
		return nil
	}
	axes, err := c.ints(3)
	if err != nil {
		return err
	}
	pads, err := c.ints(1)
	if err != nil {
		return err
	}
	rank, err := c.rank(0)
	if err != nil {
		return err
	}
	all := make([]int, 2*rank)
	for i, a := range axes {
		if a < 0 {
			a += rank
		}
		if a < 0 || a >= rank || len(pads) != 2*len(axes) {
			return errors.New("its pads do not fit")
		}
		all[a], all[rank+a] = pads[i], pads[len(axes)+i]
	}
	c.drop(3)
	return c.addInts(1, "pads", all...)
}

func rangesToInputs(c *conversion) error {
	for i, field := range []string{"Starts", "Ends", "Axes"} {
		v := get[[]int](c, field)
		c.set(field, nil)
		if v == nil {
			continue
		}
		if err := c.addInts(1+i, field, v...); err != nil {
			return err
		}
	}
	return nil
}

func rangesToAttributes(c *conversion) error {
	steps, err := c.ints(4)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(steps, func(n int) bool { return n != 1 }) {
		return fmt.Errorf("there are no steps, here they are %v", steps)
	}
	for i, field := range []string{"Starts", "Ends", "Axes"} {
		v, err := c.ints(1 + i)
		if err != nil {
			return err
		}
		c.set(field, v)
	}
	c.drop(1)
	return nil
}

func kToInput(c *conversion) error {
	k := get[int](c, "K")
	c.set("K", 0)
	return c.addInts(1, "k", k)
}

func kToAttribute(c *conversion) error {
	k, err := c.ints(1)
	if err != nil || len(k) != 1 {
		return errors.Join(err, errors.New("k is no number"))
	}
	c.set("K", k[0])
	c.drop(1)
	return nil
}

func largestOnly(c *conversion) error {
	if l := get[*bool](c, "Largest"); l != nil && !*l {
		return errors.New("it looks for the smallest elements")
	}
	c.set("Largest", nil)
	c.set("Sorted", nil)
	return nil
}

// countParts: from version 18 on a Split without lengths says how many parts there are.
func countParts(c *conversion) error {
	if !c.has(1) {
		c.set("NumOutputs", len(c.out))
	}
	return nil
}

// lengthsOfParts: before version 18 parts without lengths are equally long.
func lengthsOfParts(c *conversion) error {
	n := get[int](c, "NumOutputs")
	c.set("NumOutputs", 0)
	if n == 0 || c.has(1) {
		return nil
	}
	rank, err := c.rank(0)
	if err != nil {
		return err
	}
	axis := get[int](c, "Axis")
	if axis < 0 {
		axis += rank
	}
	d := c.value(0).Type().Shape[axis]
	switch {
	case !d.Known() || d.Symbolic():
		return errors.New("the length of its axis is not known")
	case d.Size%n == 0:
		return nil
	}
	each := (d.Size + n - 1) / n
	lengths := slices.Repeat([]int{each}, n)
	lengths[n-1] = d.Size - each*(n-1)
	return c.addInts(1, "split", lengths...)
}

func axisToInput(c *conversion) error {
	axis := 1
	if a := get[*int](c, "Axis"); a != nil {
		axis = *a
	}
	c.set("Axis", nil)
	d, err := dtype.FromInts(dtype.Int64, []int{axis})
	name, err := c.addConstant("axis", d, err)
	c.put(2, name)
	return err
}

func axisToAttribute(c *conversion) error {
	axis := []int{-2}
	if c.has(2) {
		var err error
		if axis, err = c.ints(2); err != nil || len(axis) != 1 {
			return errors.Join(err, errors.New("axis is no number"))
		}
	}
	c.set("Axis", &axis[0])
	c.drop(2)
	return nil
}

// oneScale: before version 13 there is one scale for all elements.
func oneScale(c *conversion) error {
	if s, err := c.shape(1); err != nil || len(s) > 1 || len(s) == 1 && s[0] != 1 {
		return errors.Join(err, errors.New("there is one scale there"))
	}
	c.set("Axis", nil)
	return nil
}

// zeroPoint: before version 21 the zero point says what the result's type is.
func zeroPoint(c *conversion) error {
	t := get[dtype.DType](c, "Output")
	c.set("Output", dtype.Undefined)
	if t == dtype.Undefined || c.has(2) {
		return nil
	}
	shape, err := c.shape(1)
	if err != nil {
		return err
	}
	name, err := c.addConstant("zero_point", dtype.New(t, shape...), nil)
	c.put(2, name)
	return err
}

// quantizedAs leaves types out that are those of the scale.
func quantizedAs(c *conversion) error {
	field := "Output"
	if c.config.Operator().Name == "QuantizeLinear" {
		field = "Precision"
	}
	if get[dtype.DType](c, field) == c.dtype(1) {
		c.set(field, dtype.Undefined)
	}
	return nil
}

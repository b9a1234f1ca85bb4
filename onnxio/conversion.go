package onnxio

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio/onnxpb"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// value is the graph's value behind input i, nil where there is none.
func (c *conversion) value(i int) *nn.Value {
	if !c.has(i) {
		return nil
	}
	for _, v := range c.node.Inputs() {
		if v != nil && c.graphWriter.name(v) == c.in[i] {
			return v
		}
	}
	return nil
}

// rank is the rank of input i, an error when it is not known.
func (c *conversion) rank(i int) (int, error) {
	if v := c.value(i); v != nil && v.Type().Present() && v.Type().Rank() >= 0 {
		return v.Type().Rank(), nil
	}
	return 0, errors.New("the rank of its input is not known")
}

// shape is the shape of input i, an error when a dimension has no number.
func (c *conversion) shape(i int) ([]int, error) {
	v := c.value(i)
	if v == nil || !v.Type().Static() || slices.ContainsFunc(v.Type().Shape, op.Dim.Symbolic) {
		return nil, errors.New("the shape of its input is not known")
	}
	return v.Type().Sizes(), nil
}

// dtype is the element type of input i, float32 where it is not known.
func (c *conversion) dtype(i int) op.DType {
	if v := c.value(i); v != nil && v.Type().Present() {
		return v.Type().DType
	}
	return dtype.Float32
}

// has says whether input i is there.
func (c *conversion) has(i int) bool { return i < len(c.in) && c.in[i] != "" }

// constant is the value of input i, nil when it is absent and an error when it is computed.
func (c *conversion) constant(i int) (*tensor.Dense, error) {
	if !c.has(i) {
		return nil, nil
	}
	if d := c.added[c.in[i]]; d != nil {
		return d, nil
	}
	v := c.value(i)
	if p := v.Param(); p != nil && p.Data != nil && !v.IsInput() {
		return p.Data, nil
	}
	if d, ok := v.Known().Value.(*tensor.Dense); ok {
		return d, nil
	}
	return nil, fmt.Errorf("input %s is computed, there it is an attribute", c.in[i])
}

// ints is the value of integer input i, nil when it is absent.
func (c *conversion) ints(i int) ([]int, error) {
	d, err := c.constant(i)
	if d == nil || err != nil {
		return nil, err
	}
	return dtype.Ints(d)
}

// float is the value of input i of one element, nil when it is absent.
func (c *conversion) float(i int) (*float32, error) {
	d, err := c.constant(i)
	if d == nil || err != nil {
		return nil, err
	}
	v, err := dtype.Float64s(d)
	if err != nil || len(v) != 1 {
		return nil, fmt.Errorf("input %s is no number", c.in[i])
	}
	x := float32(v[0])
	return &x, nil
}

// drop takes the inputs from i on away.
func (c *conversion) drop(i int) { c.in = c.in[:min(i, len(c.in))] }

// put lets input i be the value of that name.
func (c *conversion) put(i int, name string) {
	for len(c.in) <= i {
		c.in = append(c.in, "")
	}
	c.in[i] = name
}

// unused is a name that no value of the graph has.
func (c *conversion) unused(base string) string {
	base = c.out[0] + "/" + base
	for name, k := base, 1; ; name, k = fmt.Sprintf("%s_%d", base, k), k+1 {
		if _, err := c.g.Value(name); err != nil && !c.made[name] {
			c.made[name] = true
			return name
		}
	}
}

// addConstant adds a node that gives a tensor, and says what that is called.
func (c *conversion) addConstant(base string, d *tensor.Dense, err error) (string, error) {
	if err != nil {
		return "", err
	}
	name := c.unused(base)
	p, err := c.plain(op.ConstantConfig{Value: d}, nil, []string{name})
	c.before, c.added[name] = append(c.before, p), d
	return name, err
}

// addInts is addConstant for int64 vectors; the input i becomes it.
func (c *conversion) addInts(i int, base string, v ...int) error {
	d, err := dtype.FromInts(dtype.Int64, v, len(v))
	name, err := c.addConstant(base, d, err)
	c.put(i, name)
	return err
}

// addNumber is addConstant for a number in the element type of input 0; the input i becomes it.
func (c *conversion) addNumber(i int, base string, x float64) error {
	wide, err := dtype.FromFloats(dtype.Float64, []float64{x})
	if err != nil {
		return err
	}
	d, err := dtype.ConvertTo(c.dtype(0), wide)
	name, err := c.addConstant(base, d, err)
	c.put(i, name)
	return err
}

// plain is a node besides the one that is converted.
func (c *conversion) plain(config op.Config, in, out []string) (*onnxpb.NodeProto, error) {
	config, err := c.ops.Complete(config)
	if err != nil {
		return nil, err
	}
	o, err := c.ops.Of(config)
	if err != nil {
		return nil, err
	}
	p := &onnxpb.NodeProto{OpType: proto.String(o.Name), Input: in, Output: out}
	if o.Version(c.opsets[""]) == 0 {
		return nil, fmt.Errorf("%s came with %d", o.Name, o.Since[0])
	}
	if o.Attrs == nil {
		return p, nil
	}
	for _, a := range op.Encode(c.version(o), config) {
		x, err := encodeAttribute(a.Name, a.Value, nil)
		if err != nil {
			return nil, err
		}
		p.Attribute = append(p.Attribute, x)
	}
	return p, nil
}

// inFront puts a node in front, input 0 of the converted one passes through it.
func (c *conversion) inFront(config op.Config, more ...string) error {
	name := c.unused("input")
	p, err := c.plain(config, append([]string{c.in[0]}, more...), []string{name})
	c.before, c.in[0] = append(c.before, p), name
	return err
}

// behind puts a node behind, output 0 of the converted one passes through it.
func (c *conversion) behind(config op.Config, more ...string) error {
	name := c.unused("result")
	p, err := c.plain(config, append([]string{name}, more...), []string{c.out[0]})
	c.after, c.out[0] = append([]*onnxpb.NodeProto{p}, c.after...), name
	return err
}

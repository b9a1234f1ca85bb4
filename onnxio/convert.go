package onnxio

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio/onnxpb"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// convert lets the model be written in another version of the standard operator set. Nodes that
// change are rewritten as they are written, see conversion.
func (w *writer) convert(opset int) error {
	if newest := newestOpset(w.ops); opset < 1 || opset > newest {
		return fmt.Errorf("there is no operator set %d: want 1 to %d", opset, newest)
	}
	w.from = w.opsets[""]
	w.opsets = maps.Clone(w.opsets)
	w.opsets[""] = opset
	return nil
}

// newestOpset is the version of the standard domain in which an operator changed last.
func newestOpset(ops op.Set) int {
	newest := 0
	for _, o := range ops.List() {
		if o.Domain == "" {
			newest = max(newest, o.Latest())
		}
	}
	return newest
}

// conversion writes one node in another version of its operator. Steps change what is to be
// written: the operator's configuration, the names it reads and writes, nodes around it.
type conversion struct {
	*graphWriter
	node          *nn.Node
	config        op.Config
	in, out       []string
	before, after []*onnxpb.NodeProto
	added         map[string]*tensor.Dense // constants among before
}

// step takes a conversion over the version at which an operator changed. A nil direction cannot be
// expressed, or is not known to be.
type step struct {
	at       int
	up, down func(c *conversion) error
}

// converted writes a node in the version of the model, nil where nothing about it changed.
func (s *graphWriter) converted(n *nn.Node) ([]*onnxpb.NodeProto, error) {
	o := n.Op()
	if s.from == 0 || n.Domain() != "" {
		return nil, nil
	}
	to := s.opsets[""]
	refuse := func(why error) ([]*onnxpb.NodeProto, error) {
		return nil, &nn.Error{Op: n.Type(), Node: n.Label(), Err: fmt.Errorf("cannot be written in operator set %d: %w", to, why)}
	}
	if o == nil {
		return refuse(errors.New("the operator is not known"))
	}
	if err := typesExist(n, to); err != nil {
		return refuse(err)
	}
	if o.Version(s.from) == o.Version(to) {
		return nil, nil
	}
	c := &conversion{graphWriter: s, node: n, config: n.Config(), in: s.names(n.Inputs()), out: s.names(n.Outputs()), added: map[string]*tensor.Dense{}}
	if o.Attrs == nil {
		c.config = o.Operator()
	}
	if err := c.steps(s.from, to); err != nil {
		return refuse(err)
	}
	o, err := s.ops.Of(c.config)
	if err != nil {
		return refuse(err)
	}
	now := o.Version(to)
	if now == 0 {
		return refuse(fmt.Errorf("it came with %d", o.Since[0]))
	}
	c.dropNeutral()
	if err := op.Available(now, c.config); err != nil {
		var e *op.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return refuse(err)
	}
	p, err := s.nodeAs(n, c.config, true)
	if err != nil {
		return nil, err
	}
	p.OpType, p.Input, p.Output = proto.String(o.Name), c.in, c.out
	return append(append(c.read(c.before), p), c.after...), nil
}

// read are the nodes in front but for constants that a later step did without.
func (c *conversion) read(before []*onnxpb.NodeProto) []*onnxpb.NodeProto {
	var list []*onnxpb.NodeProto
	for _, p := range before {
		name := p.Output[0]
		used := c.added[name] == nil || slices.Contains(c.in, name)
		for _, q := range slices.Concat(before, c.after) {
			used = used || slices.Contains(q.Input, name)
		}
		if used {
			list = append(list, p)
		}
	}
	return list
}

// steps applies what lies between two operator sets, in order. Where a step makes another operator
// of the node, that one's steps follow.
func (c *conversion) steps(from, to int) error {
	name := c.config.Operator().Name
	list := versionSteps[name]
	for k := range list {
		s := list[k]
		if from > to {
			s = list[len(list)-1-k]
		}
		rest := s.at
		switch {
		case from < s.at && s.at <= to:
			if err := c.step(s.at, s.up); err != nil {
				return err
			}
		case to < s.at && s.at <= from:
			if err := c.step(s.at, s.down); err != nil {
				return err
			}
			rest = s.at - 1
		default:
			continue
		}
		if c.config.Operator().Name != name {
			return c.steps(rest, to)
		}
	}
	if from >= 11 && to < 11 {
		return c.countAxesFromFront()
	}
	return nil
}

func (c *conversion) step(at int, f func(*conversion) error) error {
	if f == nil {
		return fmt.Errorf("version %d computes something else", at)
	}
	return f(c)
}

// dropUnread takes constants out of a converted graph that became attributes.
func (s *graphWriter) dropUnread() {
	read := map[string]bool{}
	var note func(g *onnxpb.GraphProto)
	note = func(g *onnxpb.GraphProto) {
		for _, n := range g.Node {
			for _, name := range n.Input {
				read[name] = true
			}
			for _, a := range n.Attribute {
				for _, sub := range append(slices.Clone(a.Graphs), a.G) {
					if sub != nil {
						note(sub)
						for _, v := range sub.Output {
							read[v.GetName()] = true
						}
					}
				}
			}
		}
	}
	note(s.p)
	before := map[string]bool{}
	for p := range s.g.Params() {
		before[p.Name()] = len(p.Value().Users()) > 0 && !slices.Contains(s.g.Outputs(), p.Value())
	}
	gone := func(name string) bool { return before[name] && !read[name] }
	s.p.Initializer = slices.DeleteFunc(s.p.Initializer, func(t *onnxpb.TensorProto) bool { return gone(t.GetName()) })
	s.p.Input = slices.DeleteFunc(s.p.Input, func(v *onnxpb.ValueInfoProto) bool { return gone(v.GetName()) })
}

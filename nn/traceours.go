package nn

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// calls returns the calls of the nodes of a site if its operator is ours.
func (s *Site) calls() ([]*op.Call, []gorgonia.Nodes, int) {
	list := make([]*op.Call, len(s.at))
	in := make([]gorgonia.Nodes, len(s.at))
	index := 0
	for k, n := range s.at {
		c, kids, i, ok := op.CallOf(n)
		if !ok || k > 0 && (i != index || c.Op != list[0].Op || len(kids) != len(in[0])) {
			s.Failf("what is computed depends on a symbol")
			return nil, nil, 0
		}
		list[k], in[k], index = c, kids, i
	}
	return list, in, index
}

// ours translates one of our operators: one node for all outputs of a call.
func (s *Site) ours() *Value {
	calls, in, index := s.calls()
	if s.t.e.err != nil {
		return nil
	}
	c := calls[0]
	switch {
	case s.exposes(c), s.t.step && c.Op.Domain == op.Internal && c.Op.Export == nil && c.Op.Decompose != nil:
		return s.spelled(calls, in, index)
	}
	if s.t.step && c.Op.Domain == op.Internal {
		if b, is, err := std.BodyGradientOf(c); err != nil {
			return s.Refuse(err.Error())
		} else if is {
			if s.t.calls[c] == nil {
				s.t.calls[c] = s.reversed(b, calls, in)
			}
			return outputAt(s.t.calls[c], index)
		}
	}
	if s.t.step && c.Random() {
		return s.Refuse("draws random numbers")
	}
	if index >= c.Outputs {
		return s.Refuse(fmt.Sprintf("output %d exists only in lowered graphs", index))
	}
	if c.Op.Domain == op.Internal && c.Op.Export != nil {
		return s.exported(calls, in)
	}
	if c.Op.Domain == op.Internal && c.Op.Traits.StraightThrough {
		return s.Refuse(straightThrough)
	}
	if c.Op.Domain == op.Internal {
		return s.Refuse("")
	}
	if s.t.calls[c] == nil {
		values := s.inputs(calls, in)
		if s.t.e.err != nil {
			return nil
		}
		s.t.calls[c] = s.add(calls, values)
	}
	return outputAt(s.t.calls[c], index)
}

// outputAt returns an output of a call, nil if the call could not be added.
func outputAt(out []*Value, i int) *Value {
	if i < len(out) {
		return out[i]
	}
	return nil
}

// kid returns the site of input i of a call, nil where it is absent.
func (s *Site) kid(in []gorgonia.Nodes, i int) *Site {
	k := &Site{t: s.t, at: make(gorgonia.Nodes, len(s.at))}
	for j := range s.at {
		if in[j][i] == nil {
			return nil
		}
		k.at[j] = in[j][i]
	}
	return k
}

// inputs returns the values that a call reads. A constant that the lowering computed from a symbolic shape is computed
// from shapes again.
func (s *Site) inputs(calls []*op.Call, in []gorgonia.Nodes) []*Value {
	c := calls[0]
	values := make([]*Value, len(in[0]))
	for i := range values {
		k := s.kid(in, i)
		if k == nil {
			continue
		}
		if op.IsConst(k.at[0]) && s.t.names[k.at[0]] == "" && i < len(c.Known) {
			if t := &c.Op.Traits; i > 0 && i == t.ShapeInput && t.Moves == trait.MovedInOrder {
				if from, to := s.kid(in, 0).shape(), s.result(calls); !allConstant(to) {
					values[i] = s.target(from, to)
					continue
				}
			} else if list := s.evalAll(c.Known[i].Dims); !allConstant(list) {
				values[i] = s.likeInput(s.vector(list), c.In[i])
				continue
			}
		}
		values[i] = k.Value()
	}
	return values
}

// likeInput converts an int64 vector to the rank and element type of an input.
func (s *Site) likeInput(v *Value, t op.Type) *Value {
	if t.Rank() == 0 {
		v = s.Node(std.SqueezeConfig{}, v, s.vector([]size{s.t.fixed(0)}))
	}
	if t.DType != dtype.Int64 {
		v = s.Node(std.CastConfig{To: t.DType}, v)
	}
	return v
}

func allConstant(list []size) bool {
	for _, d := range list {
		if !d.constant() {
			return false
		}
	}
	return true
}

// result returns the shape of output 0 of a call.
func (s *Site) result(calls []*op.Call) []size {
	if len(calls) == 1 {
		return s.evalAll(calls[0].Out[0].Shape)
	}
	rows := make([][]int, len(calls))
	for k, c := range calls {
		rows[k] = c.Out[0].Sizes()
	}
	return s.transpose(rows)
}

func (s *Site) evalAll(d []op.Dim) []size {
	list := make([]size, len(d))
	for i, x := range d {
		n, ok := s.t.eval(x)
		if !ok {
			if x.Sym != "" || s.t.samples > 1 {
				return nil
			}
			n = s.t.fixed(x.Size)
		}
		list[i] = n
	}
	return list
}

// exported translates an operator of lowerings that has an ONNX form: attributes, and constants that follow the inputs.
func (s *Site) exported(calls []*op.Call, in []gorgonia.Nodes) *Value {
	c := calls[0]
	cfg, consts := c.Op.Export(c)
	if cfg == nil {
		return s.Refuse("")
	}
	var values []*Value
	for i := range in[0] {
		if k := s.kid(in, i); k != nil {
			values = append(values, k.Value())
		} else {
			values = append(values, nil)
		}
	}
	if o, err := s.t.e.g.ops.Of(cfg); err == nil && o.Traits.ShapeInput > 0 { // a symbolic shape is computed again
		if o.Traits.Moves == trait.MovedInOrder {
			return s.reshape(values[0], s.kid(in, 0).shape(), s.result(calls))
		}
		return s.Node(cfg, values[0], s.vector(s.result(calls)))
	}
	for _, v := range consts {
		name := fmt.Sprintf("const_%d", s.t.consts)
		s.t.consts++
		values = append(values, s.t.param(name, v))
	}
	return s.Node(cfg, values...)
}

// add adds the node of a call and returns its outputs.
func (s *Site) add(calls []*op.Call, in []*Value) []*Value {
	e, c := s.t.e, calls[0]
	for _, d := range calls {
		if a, b := attrText(c), attrText(d); a != b {
			s.Failf("attributes depend on a symbol: %s and %s", a, b)
			return nil
		}
	}
	formal := len(in)
	for _, b := range configBodies(c.Config) {
		formal -= len(b.outer)
	}
	config := c.Config
	if len(configBodies(c.Config)) > 0 {
		if config = s.retraced(calls, in[formal:]); e.err != nil {
			return nil
		}
	}
	from := c.Version
	if op.Available(from, config) != nil { // Op.Check gave it the newest spelling
		from = op.Newest
	}
	out := e.build(addition{label: e.g.label(c.Node), config: config, from: from, in: in[:formal:formal], captured: in[formal:], out: s.outputNames(c)})
	if e.err != nil {
		return nil
	}
	return out
}

// outputNames returns the names of the outputs of a call: those of its expression nodes.
func (s *Site) outputNames(c *op.Call) []string {
	var names []string
	for i := range c.Outputs {
		name := ""
		if c.Wants(i) {
			name = cmp.Or(s.outputName(i), strings.ToLower(c.Op.Name))
		}
		names = append(names, name)
	}
	for names[len(names)-1] == "" {
		names = names[:len(names)-1]
	}
	return names
}

// outputName returns the name of output i of the site's call; "" if it has none.
func (s *Site) outputName(i int) string {
	x, err := op.Sibling(s.at[0], i)
	if err != nil {
		return ""
	}
	return s.t.nameOf(x)
}

// attrText returns the attributes of a call as text.
func attrText(c *op.Call) string {
	var b strings.Builder
	for _, a := range op.Encode(c.Version, c.Config) {
		switch x := a.Value.(type) {
		case *Body:
			if x.made == nil {
				fmt.Fprintf(&b, " %s=%p", a.Name, x)
			}
		case *tensor.Dense:
			n, _ := floats(x)
			fmt.Fprintf(&b, " %s=%v%v", a.Name, x.Shape(), n)
		default:
			fmt.Fprintf(&b, " %s=%v", a.Name, x)
		}
	}
	return strings.TrimSpace(b.String())
}

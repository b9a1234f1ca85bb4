package std

import (
	"errors"
	"fmt"
	"github.com/graft-ml/graft/nn/op"
	"slices"
	"strings"
)

// The recurrent operators as training computes them, and their gradient, step by step over a sequence of known length.
// What goes from one to the other is, for each step of a direction, what the step computed: [batch, parts·hidden].

// mostSteps is how long a sequence may be: each step is some fifty nodes.
const mostSteps = 1024

// recurrence is one direction of a recurrent operator while it is written out.
type recurrence struct {
	n      formula
	cell   cell
	d      int           // direction
	w, r   *op.Operand   // [gates·hidden, input] and [gates·hidden, hidden]
	bw, br *op.Operand   // biases, [gates·hidden], nil where there is none
	h0, c0 *op.Operand   // [batch, hidden]
	x      *op.Operand   // [seq, batch, input]
	kept   []*op.Operand // of the steps, by time
	steps  []int         // times in the order in which they are computed
	h, c   []*op.Operand // results by time
}

// recurrent takes an operator apart; arguments are by their places among X, W, R, B, lens, h0, c0, P.
func (n formula) recurrent(r cell, in []*op.Operand) ([]*recurrence, error) {
	arg := make([]*op.Operand, 8)
	copy(arg, in)
	switch {
	case r.BatchFirst:
		return nil, errors.New("its layout is 1")
	case arg[4] != nil:
		return nil, errors.New("it has lengths of sequences")
	case arg[7] != nil:
		return nil, errors.New("it has peepholes")
	case r.Clip != 0 || r.InputForget:
		return nil, errors.New("it clips, or couples its gates")
	case n.In[0].Type.Shape[0].Symbolic():
		return nil, errors.New("the length of the sequence is a symbol: fix it in the type of the model's input")
	case r.Seq > mostSteps:
		return nil, fmt.Errorf("a sequence of %d is too long to be written step by step, want at most %d", r.Seq, mostSteps)
	}
	var list []*recurrence
	for d := range r.Dirs {
		part := func(x *op.Operand) *op.Operand {
			if x == nil {
				return nil
			}
			return n.do(GatherConfig{}, x, n.index(d))
		}
		c := &recurrence{n: n, cell: r, d: d, x: arg[0], w: part(arg[1]), r: part(arg[2]), h0: part(arg[5]), c0: part(arg[6])}
		if b := part(arg[3]); b != nil {
			g := r.Gates * r.Hidden
			c.bw, c.br = n.cutLast(b, 0, g), n.cutLast(b, g, 2*g)
		}
		zeros := func() *op.Operand {
			return n.zeros(arg[0].Type.DType, n.ShapeOf(func(c *op.Call) []op.Dim { return []op.Dim{c.In[0].Shape[1], op.D(r.Hidden)} }))
		}
		if c.h0 == nil {
			c.h0 = zeros()
		}
		if c.c0 == nil && r.Kind == "LSTM" {
			c.c0 = zeros()
		}
		c.steps = upTo(0, r.Seq)
		if r.Reverse[d] {
			slices.Reverse(c.steps)
		}
		c.kept, c.h, c.c = make([]*op.Operand, r.Seq), make([]*op.Operand, r.Seq), make([]*op.Operand, r.Seq)
		list = append(list, c)
	}
	return list, nil
}

// index is a constant index of rank 0.
func (n formula) index(i int) *op.Operand {
	v := n.word(uint64(i))
	v.Name = "index"
	return v
}

// cutLast is a range of the last axis.
func (n formula) cutLast(x *op.Operand, lo, hi int) *op.Operand {
	return n.do(SliceConfig{}, x, n.Vector("starts", lo), n.Vector("ends", hi), n.Vector("axes", -1))
}

// partOf is part i of hidden columns.
func (c *recurrence) partOf(x *op.Operand, i int) *op.Operand {
	return c.n.cutLast(x, i*c.cell.Hidden, (i+1)*c.cell.Hidden)
}

func (n formula) sigmoid(x *op.Operand) *op.Operand { return n.do(op.Plain("Sigmoid"), x) }
func (n formula) tanh(x *op.Operand) *op.Operand    { return n.do(op.Plain("Tanh"), x) }

// times is x·mᵀ, or x·m.
func (c *recurrence) times(x, m *op.Operand, turned bool) *op.Operand {
	if turned {
		m = c.n.transpose(m, 1, 0)
	}
	return c.n.do(op.Plain("MatMul"), x, m)
}

// forward computes all steps.
func (c *recurrence) forward() {
	n := c.n
	all := c.times(c.x, c.w, true)
	if c.bw != nil {
		all = n.add(all, c.bw)
	}
	if c.br != nil && !(c.cell.Kind == "GRU" && c.cell.LinearBeforeReset) {
		all = n.add(all, c.br)
	}
	turned := n.transpose(c.r, 1, 0)
	h, state := c.h0, c.c0
	for _, t := range c.steps {
		x := n.do(GatherConfig{}, all, n.index(t))
		switch c.cell.Kind {
		case "LSTM":
			a := n.add(x, n.do(op.Plain("MatMul"), h, turned))
			i, o, f, g := n.sigmoid(c.partOf(a, 0)), n.sigmoid(c.partOf(a, 1)), n.sigmoid(c.partOf(a, 2)), n.tanh(c.partOf(a, 3))
			last := state
			state = n.add(n.mul(f, last), n.mul(i, g))
			tc := n.tanh(state)
			c.kept[t] = n.concat(1, i, o, f, g, tc, last, h)
			h = n.mul(o, tc)
			c.c[t] = state
		case "GRU":
			h = c.gru(t, x, h, turned)
		default:
			next := n.tanh(n.add(x, n.do(op.Plain("MatMul"), h, turned)))
			c.kept[t] = n.concat(1, next, h)
			h = next
		}
		c.h[t] = h
	}
}

func (c *recurrence) gru(t int, x, h, turned *op.Operand) *op.Operand {
	n, size := c.n, c.cell.Hidden
	if !c.cell.LinearBeforeReset {
		a := n.add(n.cutLast(x, 0, 2*size), n.do(op.Plain("MatMul"), h, n.cutLast(turned, 0, 2*size)))
		z, r := n.sigmoid(c.partOf(a, 0)), n.sigmoid(c.partOf(a, 1))
		hat := n.tanh(n.add(c.partOf(x, 2), n.do(op.Plain("MatMul"), n.mul(r, h), c.partOf(turned, 2))))
		c.kept[t] = n.concat(1, z, r, hat, h)
		return n.add(n.mul(n.rsub(1, z), hat), n.mul(z, h))
	}
	a := n.do(op.Plain("MatMul"), h, turned)
	if c.br != nil {
		a = n.add(a, c.br)
	}
	gate := n.add(n.cutLast(x, 0, 2*size), n.cutLast(a, 0, 2*size))
	z, r, linear := n.sigmoid(c.partOf(gate, 0)), n.sigmoid(c.partOf(gate, 1)), c.partOf(a, 2)
	hat := n.tanh(n.add(c.partOf(x, 2), n.mul(r, linear)))
	c.kept[t] = n.concat(1, z, r, hat, h, linear)
	return n.add(n.mul(n.rsub(1, z), hat), n.mul(z, h))
}

// stacked puts the steps of a direction along a new axis in front.
func (n formula) stacked(list []*op.Operand) *op.Operand {
	parts := make([]*op.Operand, len(list))
	for i, x := range list {
		parts[i] = n.unsqueeze(x, 0)
	}
	return n.concat(0, parts...)
}

// exposeRecurrent computes the steps and keeps what the gradient wants of them.
func exposeRecurrent(n formula) error {
	r, err := sized(n.Call)
	if err != nil {
		return err
	}
	if err := plainActivations(n.Config); err != nil {
		return err
	}
	dirs, err := n.recurrent(r, n.In)
	if err != nil {
		return err
	}
	var y, last, cells, kept []*op.Operand
	for _, c := range dirs {
		c.forward()
		end := c.steps[len(c.steps)-1]
		y, last, kept = append(y, n.unsqueeze(n.stacked(c.h), 1)), append(last, c.h[end]), append(kept, n.stacked(c.kept))
		if r.Kind == "LSTM" {
			cells = append(cells, c.c[end])
		}
	}
	hidden := len(n.Call.Op.Out.List())
	if n.Wants(0) {
		n.Give(0, n.concat(1, y...))
	}
	if n.Wants(1) {
		n.Give(1, n.stacked(last))
	}
	if r.Kind == "LSTM" && n.Wants(2) {
		n.Give(2, n.stacked(cells))
	}
	n.Give(hidden, n.stacked(kept))
	return nil
}

// plainActivations refuses activations other than the operator's own.
func plainActivations(c op.Config) error {
	var names, plain []string
	switch cfg := c.(type) {
	case LSTMConfig:
		names, plain = cfg.Activations, []string{"sigmoid", "tanh", "tanh"}
	case GRUConfig:
		names, plain = cfg.Activations, []string{"sigmoid", "tanh"}
	case RNNConfig:
		names, plain = cfg.Activations, []string{"tanh"}
	}
	for i, name := range names {
		if strings.ToLower(name) != plain[i%len(plain)] {
			return fmt.Errorf("its activation is %s", name)
		}
	}
	return nil
}

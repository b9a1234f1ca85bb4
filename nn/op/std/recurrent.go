package std

import (
	"math"
	"strings"

	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/recurrent"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
)

// cell holds what LSTM, GRU and RNN have in common, resolved; it is the configuration of
// RecurrentGrad. Sizes are set once they are known.
type cell struct {
	Kind                           string // LSTM, GRU, RNN
	Gates, Dirs                    int
	Seq, Batch, Input, Hidden      int
	BatchFirst                     bool // layout 1: X [batch, seq, input], Y [batch, seq, dirs, hidden], states [batch, dirs, hidden]
	Reverse                        [2]bool
	Clip                           float64
	InputForget, LinearBeforeReset bool
	Rounded                        bool // hidden states are rounded to 8 bits before R multiplies them
	Act                            [2][3]elementwise.Activation
}

// recurrentAttrs are the attributes that the three operators share.
type recurrentAttrs struct {
	alpha, beta []float32
	names       []string
	clip        float32
	direction   string
	layout      int
}

// newCell resolves attributes that do not depend on shapes. functions is the number of activations per direction.
func newCell(c *op.Call, kind string, gates, functions int, a recurrentAttrs) (cell, error) {
	r := cell{Kind: kind, Gates: gates, Dirs: 1, BatchFirst: a.layout == 1, Clip: float64(a.clip)}
	switch a.direction {
	case "forward", "foward", "": // GRU-1 has its default misspelled
	case "reverse":
		r.Reverse[0] = true
	case "bidirectional":
		r.Dirs, r.Reverse[1] = 2, true
	default:
		return r, c.Errorf("direction %q is unknown", a.direction)
	}
	if a.layout != 0 && a.layout != 1 {
		return r, c.Errorf("layout is %d, want 0 or 1", a.layout)
	}
	if a.clip < 0 || math.IsNaN(float64(a.clip)) {
		return r, c.Errorf("clip %v is negative", a.clip)
	}
	if len(a.names) == 0 {
		return r, nil
	}
	if len(a.names) < r.Dirs*functions {
		return r, c.Errorf("activations %v: want %d names", a.names, r.Dirs*functions)
	}
	alpha, beta := a.alpha, a.beta
	for i, name := range a.names[:r.Dirs*functions] {
		f, ok := elementwise.ActivationByName(name)
		if !ok {
			return r, c.Errorf("activation %q is unknown", name)
		}
		hasAlpha, hasBeta := activationParameters(name)
		if hasAlpha && len(alpha) > 0 {
			f.Alpha, alpha = float64(alpha[0]), alpha[1:]
		}
		if hasBeta && len(beta) > 0 {
			f.Beta, beta = float64(beta[0]), beta[1:]
		}
		r.Act[i/functions][i%functions] = f
	}
	return r, nil
}

// activationParameters reports which of alpha and beta a function takes from the lists of values.
func activationParameters(name string) (alpha, beta bool) {
	switch strings.ToLower(name) {
	case "affine", "scaledtanh", "hardsigmoid":
		return true, true
	case "leakyrelu", "thresholdedrelu", "elu":
		return true, false
	}
	return false, false
}

// inferRecurrent returns the types of Y, Y_h and (LSTM) Y_c. Inputs: X, W, R, B, sequence_lens,
// initial_h, initial_c, P.
func inferRecurrent(c *op.Call) ([]op.Type, error) {
	r, err := cellOf(c)
	if err != nil {
		return nil, err
	}
	for i := range 3 {
		if rank, err := c.Rank(i); err != nil {
			return nil, err
		} else if rank != 3 {
			return nil, c.Mismatch(i, "three axes", c.In[i])
		}
	}
	x, hidden := c.In[0].Shape, c.In[2].Shape[2]
	if n := hiddenAttr(c); n < 0 {
		return nil, c.Errorf("hidden_size is %d", n)
	} else if n > 0 {
		var ok bool
		if hidden, ok = hidden.Merge(op.D(n)); !ok {
			return nil, c.Errorf("hidden_size is %d, R has %v", n, hidden)
		}
	}
	seq, batch, dirs := x[0], x[1], op.D(r.Dirs)
	if r.BatchFirst {
		seq, batch = batch, seq
	}
	rows := hidden.Mul(op.D(r.Gates))
	state := []op.Dim{dirs, batch, hidden}
	y := []op.Dim{seq, dirs, batch, hidden}
	if r.BatchFirst {
		state, y = []op.Dim{batch, dirs, hidden}, []op.Dim{batch, seq, dirs, hidden}
	}
	wants := [][]op.Dim{1: {dirs, rows, x[2]}, 2: {dirs, rows, hidden}, 3: {dirs, rows.Mul(op.D(2))}, 4: {batch}, 5: state, 6: state, 7: {dirs, hidden.Mul(op.D(3))}}
	for i, want := range wants {
		if i > 0 && c.Has(i) && !c.In[i].Unranked && !fits(c.In[i].Shape, want) {
			return nil, c.Mismatch(i, c.In[i].With(want...), c.In[i])
		}
	}
	return []op.Type{c.In[0].With(y...), c.In[0].With(state...), c.In[0].With(state...)}[:len(c.Op.Out.List())], nil
}

func fits(shape, want []op.Dim) bool {
	if len(shape) != len(want) {
		return false
	}
	for i, d := range shape {
		if d.Differ(want[i]) {
			return false
		}
	}
	return true
}

// sized is cellOf with the sizes of a lowering.
func sized(c *op.Call) (cell, error) {
	r, err := cellOf(c)
	if err != nil {
		return r, err
	}
	x := c.In[0].Sizes()
	r.Seq, r.Batch, r.Input, r.Hidden = x[0], x[1], x[2], c.In[2].Shape[2].Size
	if r.BatchFirst {
		r.Seq, r.Batch = r.Batch, r.Seq
	}
	return r, nil
}

// direction returns the shape of direction d for package kernel.
func (r *cell) direction(d int, lens []int) recurrent.RNNShape {
	return recurrent.RNNShape{
		Seq: r.Seq, Batch: r.Batch, Input: r.Input, Hidden: r.Hidden, Reverse: r.Reverse[d], Lens: lens, Clip: r.Clip,
		InputForget: r.InputForget, LinearBeforeReset: r.LinearBeforeReset, Rounded: r.Rounded, Act: r.Act[d], YStride: r.Dirs * r.Batch * r.Hidden,
	}
}

// reserve returns the number of elements that one direction keeps for the gradient.
func (r *cell) reserve() int {
	s := r.direction(0, nil)
	switch r.Kind {
	case "LSTM":
		return recurrent.LSTMReserve(&s)
	case "GRU":
		return recurrent.GRUReserve(&s)
	}
	return recurrent.RNNReserve(&s)
}

func recurrentHidden(c *op.Call) []op.Type {
	r, err := sized(c)
	if err != nil {
		return nil
	}
	return []op.Type{op.Shaped(computed(c.In[0].DType), r.Dirs, r.reserve())}
}

// coupleRecurrent: a hidden unit has a row per gate in W, R and B, a column in R, its peepholes and states.
func coupleRecurrent(c *op.Call) []coupling.Coupling {
	r, err := cellOf(c)
	if err != nil {
		return nil
	}
	unit, batch, inBatch, stateBatch := coupling.In(2, 2), 2, 1, 1
	if r.BatchFirst {
		batch, inBatch, stateBatch = 0, 0, 0
	}
	gates := func(to coupling.Axis, n int) coupling.Coupling {
		return coupling.Coupling{From: unit, To: to, Map: coupling.Map{Relation: coupling.Gates, Groups: n}}
	}
	list := []coupling.Coupling{op.Couple(coupling.In(0, 2), coupling.In(1, 2)), gates(coupling.In(1, 1), r.Gates), gates(coupling.In(2, 1), r.Gates)}
	if c.Has(3) {
		list = append(list, gates(coupling.In(3, 1), 2*r.Gates))
	}
	if c.Has(4) {
		list = append(list, op.Couple(coupling.In(0, inBatch), coupling.In(4, 0)))
	}
	for _, i := range []int{5, 6} {
		if c.Has(i) {
			list = append(list, op.Couple(unit, coupling.In(i, 2)), op.Couple(coupling.In(0, inBatch), coupling.In(i, stateBatch)))
		}
	}
	if c.Has(7) {
		list = append(list, gates(coupling.In(7, 1), 3))
	}
	for o := range c.Outputs {
		switch {
		case !c.Wants(o):
		case o == 0:
			list = append(list, op.Couple(unit, coupling.Out(0, 3)), op.Couple(coupling.In(0, inBatch), coupling.Out(0, batch)))
		default:
			list = append(list, op.Couple(unit, coupling.Out(o, 2)), op.Couple(coupling.In(0, inBatch), coupling.Out(o, stateBatch)))
		}
	}
	return list
}

func recurrentCost(c *op.Call) (macs, bytes int64) {
	r, err := sized(c)
	if err != nil {
		return 0, 0
	}
	return int64(r.Seq) * int64(r.Batch) * int64(r.Dirs) * int64(r.Gates*r.Hidden) * int64(r.Input+r.Hidden), bytesMoved(c)
}

// hidden returns the new hidden size: the last axis of the recurrence matrix. 0, not stated, stays so.
func hidden(r *op.Resizing, old int) int {
	if w := r.In[2].New; old != 0 && len(w) == 3 {
		return w[2]
	}
	return old
}

package layers

import (
	"strconv"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
)

// LSTM is a long short-term memory over [seq, batch, in]. Its outputs are all hidden states, [seq, batch,
// directions·Hidden], then the last hidden state and the last cell state of the last layer, each [directions, batch,
// Hidden].
type LSTM struct {
	Hidden        int            // size of the hidden state
	Layers        int            // 0: 1
	Bidirectional bool           // also run from the end; the outputs of both directions are concatenated
	BatchFirst    bool           // the input and the first output have shape [batch, seq, …]
	NoBias        bool           // do not add a bias
	Dropout       float64        // probability, between layers; 0: none
	Init          initial.Filler // nil: uniform in ±1/√Hidden, as in PyTorch
	Name          string         // of its nodes and parameters; "": one is made
}

// Build adds the layer. in[0] is its input; in[1] and in[2], if given and not nil, are the initial hidden and
// cell state of a single layer; zeros otherwise.
func (l LSTM) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	return recurrent{"LSTM", "lstm", 4, l.Hidden, l.Layers, l.Bidirectional, l.BatchFirst, l.NoBias, l.Dropout, l.Init, l.Name, nil}.build(e, in)
}

// GRU is a gated recurrent unit over [seq, batch, in], in PyTorch's variant. Its outputs are those of LSTM without the
// cell state.
type GRU struct {
	Hidden        int            // size of the hidden state
	Layers        int            // 0: 1
	Bidirectional bool           // also run from the end; the outputs of both directions are concatenated
	BatchFirst    bool           // the input and the first output have shape [batch, seq, …]
	NoBias        bool           // do not add a bias
	Dropout       float64        // probability, between layers; 0: none
	Init          initial.Filler // nil: uniform in ±1/√Hidden, as in PyTorch
	Name          string         // of its nodes and parameters; "": one is made
}

// Build adds the layer. in[0] is its input; in[1], if given, is the initial hidden state of a single layer.
func (l GRU) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	return recurrent{"GRU", "gru", 3, l.Hidden, l.Layers, l.Bidirectional, l.BatchFirst, l.NoBias, l.Dropout, l.Init, l.Name,
		attrs{"linear_before_reset": 1}}.build(e, in)
}

// RNN is an Elman network over [seq, batch, in]. Its outputs are those of GRU.
type RNN struct {
	Hidden        int            // size of the hidden state
	Layers        int            // 0: 1
	ReLU          bool           // the activation is relu; false: tanh
	Bidirectional bool           // also run from the end; the outputs of both directions are concatenated
	BatchFirst    bool           // the input and the first output have shape [batch, seq, …]
	NoBias        bool           // do not add a bias
	Dropout       float64        // probability, between layers; 0: none
	Init          initial.Filler // nil: uniform in ±1/√Hidden, as in PyTorch
	Name          string         // of its nodes and parameters; "": one is made
}

// Build adds the layer. in[0] is its input; in[1], if given, is the initial hidden state of a single layer.
func (l RNN) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	a := attrs{}
	if l.ReLU {
		a["activations"] = []string{"Relu", "Relu"}[:directions(l.Bidirectional)]
	}
	return recurrent{"RNN", "rnn", 1, l.Hidden, l.Layers, l.Bidirectional, l.BatchFirst, l.NoBias, l.Dropout, l.Init, l.Name, a}.build(e, in)
}

// recurrent holds the settings that the three layers share.
type recurrent struct {
	op, kind      string
	gates         int
	hidden        int
	layers        int
	bidirectional bool
	batchFirst    bool
	noBias        bool
	dropout       float64
	init          initial.Filler
	name          string
	attrs         attrs
}

func (r recurrent) build(e *nn.Edit, in []*nn.Value) []*nn.Value {
	x, rank := ranked(e, in[:min(1, len(in))], 3)
	if e.Err() == nil && rank != 3 {
		e.Fail(&nn.Error{Input: x.Name(), Want: "three axes", Got: x.Type()})
	}
	states := 1
	if r.op == "LSTM" {
		states = 2
	}
	switch {
	case e.Err() != nil:
	case len(in) > 1+states:
		e.Failf("takes one to %d inputs, got %d", 1+states, len(in))
	case len(in) > 1 && r.layers > 1:
		e.Failf("%d layers cannot share an initial state: write a layer for each", r.layers)
	}
	if e.Err() == nil && r.hidden <= 0 {
		e.Failf("Hidden is %d: want a positive number", r.hidden)
	}
	if e.Err() != nil {
		return nil
	}
	name := e.Label(r.kind, r.name)
	if r.batchFirst {
		x = put(e, name+".sequence", "Transpose", attrs{"perm": []int{1, 0, 2}}, x)
	}
	layers := max(r.layers, 1)
	out := []*nn.Value{x}
	for i := range layers {
		label := name
		if layers > 1 {
			label += "." + strconv.Itoa(i)
		}
		if i > 0 && r.dropout > 0 {
			out[0] = e.Apply(Dropout{P: r.dropout}, out[0])
		}
		out = r.layer(e, label, append(out[:1:1], in[1:]...))
		if e.Err() != nil {
			return nil
		}
	}
	if r.batchFirst {
		out[0] = put(e, "", "Transpose", attrs{"perm": []int{1, 0, 2}}, out[0])
	}
	return out
}

// layer adds one layer; its first output has the directions side by side.
func (r recurrent) layer(e *nn.Edit, name string, in []*nn.Value) []*nn.Value {
	x, dirs := in[0], directions(r.bidirectional)
	a := attrs{"hidden_size": r.hidden}
	if r.bidirectional {
		a["direction"] = "bidirectional"
	}
	for k, v := range r.attrs {
		a[k] = v
	}
	n, rows := sizeOf(e, x, 2), r.gates*r.hidden
	def := initial.BiasFanIn{Fan: r.hidden}
	w := weight(e, name+".weight_ih", x, r.init, def, dirs, rows, n)
	u := weight(e, name+".weight_hh", x, r.init, def, dirs, rows, r.hidden)
	all := []*nn.Value{x, w, u}
	if !r.noBias {
		all = append(all, weight(e, name+".bias", x, r.init, def, dirs, 2*rows))
	}
	outputs := 2
	if r.op == "LSTM" {
		outputs = 3
	}
	if len(in) > 1 {
		all = append(append(all, make([]*nn.Value, 5-len(all))...), in[1:]...) // no lengths of sequences
	}
	out := putN(e, name, r.op, a, outputs, all...)
	if e.Err() != nil {
		return nil
	}
	y := out[0] // [seq, directions, batch, hidden]
	if dirs == 1 {
		y = squeeze(e, "", y, 1)
	} else {
		y = put(e, "", "Transpose", attrs{"perm": []int{0, 2, 1, 3}}, y)
		y = reshape(e, name+".joined", y, 0, 0, dirs*r.hidden)
	}
	return append([]*nn.Value{y}, out[1:]...)
}

func directions(bidirectional bool) int {
	if bidirectional {
		return 2
	}
	return 1
}

// squeeze removes an axis of length 1.
func squeeze(e *nn.Edit, name string, x *nn.Value, axis int) *nn.Value {
	return put(e, name, "Squeeze", nil, x, e.Ints("axes", axis))
}

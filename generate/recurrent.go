package generate

import (
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// recurrent recognizes a recurrent node of which only the last states are read.
func recurrent(r *reader, n *nn.Node) *layer {
	if y := n.Out(0); y == nil || len(y.Users()) == 0 && !slices.Contains(r.g.Outputs(), y) {
		return r.cell(n, n, y)
	}
	return nil
}

// squeezed recognizes a recurrent node of one direction and the Squeeze that removes the axis of directions.
func squeezed(r *reader, n *nn.Node) *layer {
	axes := r.tensor(n.In(1))
	if n.In(0) == nil || axes == nil {
		return nil
	}
	cell := n.In(0).Producer()
	if list, err := dtype.Ints(axes); err != nil || !slices.Equal(list, []int{1}) || cell == nil || cell.Out(0) != n.In(0) || !only(n.In(0), n) {
		return nil
	}
	return r.cell(cell, n, n.Out(0))
}

// joined recognizes a recurrent node of two directions, and the Transpose and Reshape that concatenate them.
func joined(r *reader, n *nn.Node) *layer {
	if n.In(0) == nil || n.In(0).Producer() == nil || !only(n.In(0), n) {
		return nil
	}
	turn := n.In(0).Producer()
	if c, ok := turn.Config().(std.TransposeConfig); !ok || !slices.Equal(c.Perm, []int{0, 2, 1, 3}) {
		return nil
	}
	cell := turn.In(0).Producer()
	from, to := n.In(0).Type(), n.Out(0).Type()
	if cell == nil || cell.Out(0) != turn.In(0) || !only(turn.In(0), turn) || from.Rank() != 4 || to.Rank() != 3 ||
		!from.Shape[0].Same(to.Shape[0]) || !from.Shape[1].Same(to.Shape[1]) {
		return nil
	}
	l := r.cell(cell, n, n.Out(0))
	if l != nil {
		l.nodes = []*nn.Node{cell, turn, n}
	}
	return l
}

// cell returns the layer of a recurrent node; y is its first output in the layout of layers.
func (r *reader) cell(n, last *nn.Node, y *nn.Value) *layer {
	var l nn.Layer
	hidden, direction, plain := 0, "", false
	switch c := n.Config().(type) {
	case std.LSTMConfig:
		hidden, direction = c.HiddenSize, c.Direction
		plain = activated(c.Activations, "Sigmoid", "Tanh", "Tanh") && c.Clip == 0 && c.Layout == 0 && !c.InputForget && n.In(7) == nil
		l = layers.LSTM{Hidden: hidden, Bidirectional: direction == "bidirectional", NoBias: n.In(3) == nil}
	case std.GRUConfig:
		hidden, direction = c.HiddenSize, c.Direction
		plain = activated(c.Activations, "Sigmoid", "Tanh") && c.Clip == 0 && c.Layout == 0 && c.LinearBeforeReset
		l = layers.GRU{Hidden: hidden, Bidirectional: direction == "bidirectional", NoBias: n.In(3) == nil}
	case std.RNNConfig:
		hidden, direction = c.HiddenSize, c.Direction
		relu := len(c.Activations) > 0 && activated(c.Activations, "Relu")
		plain = (relu || activated(c.Activations, "Tanh")) && c.Clip == 0 && c.Layout == 0
		l = layers.RNN{Hidden: hidden, ReLU: relu, Bidirectional: direction == "bidirectional", NoBias: n.In(3) == nil}
	default:
		return nil
	}
	x := n.In(0)
	if !plain || direction == "reverse" || n.In(4) != nil || x == nil || r.tensor(x) != nil || x.Type().Unranked || x.Type().Rank() != 3 || (last == n) != (y == n.Out(0)) {
		return nil
	}
	if direction != "bidirectional" && last != n && last.In(0) != n.Out(0) || direction == "bidirectional" && last.In(0) == n.Out(0) {
		return nil
	}
	weights := map[string]*tensor.Dense{"weight_ih": r.weight(n.In(1)), "weight_hh": r.weight(n.In(2))}
	if n.In(3) != nil {
		weights["bias"] = r.weight(n.In(3))
	}
	out := layerOf(l, "rnn", n, x, weights)
	if out == nil || hidden <= 0 {
		return nil
	}
	out.what = "state"
	for i := 5; i <= 6; i++ {
		if v := n.In(i); !r.zero(v) {
			for len(out.in) < i-4 {
				out.in = append(out.in, nil)
			}
			out.in = append(out.in, v)
		}
	}
	out.out = append([]*nn.Value{y}, n.Outputs()[1:]...)
	for len(out.out) > 1 && (out.out[len(out.out)-1] == nil || len(out.out[len(out.out)-1].Users()) == 0 && !slices.Contains(r.g.Outputs(), out.out[len(out.out)-1])) {
		out.out = out.out[:len(out.out)-1]
	}
	out.nodes = []*nn.Node{n, last}
	if n == last {
		out.nodes = out.nodes[:1]
	}
	if s := scopeOfNode(n); len(s) > 0 {
		out.name = ""
	}
	return out
}

// activated reports whether the activations of a recurrent node are those given, in each direction, or are not mentioned.
func activated(list []string, each ...string) bool {
	for part := range slices.Chunk(list, len(each)) {
		if !slices.EqualFunc(part, each, strings.EqualFold) {
			return false
		}
	}
	return true
}

// zero reports whether a value is absent or known to be zeros: a constant, or zeros of a computed shape.
func (r *reader) zero(v *nn.Value) bool {
	if v == nil {
		return true
	}
	if r.tensor(v) != nil {
		return r.filled(v, 0)
	}
	n := v.Producer()
	if n == nil {
		return false
	}
	if c, ok := n.Config().(std.ConstantOfShapeConfig); ok {
		d, _ := c.Value.(*tensor.Dense)
		if d == nil {
			return true
		}
		f, err := dtype.Float64s(d)
		return err == nil && len(f) == 1 && f[0] == 0
	}
	switch n.Traits().Moves {
	case trait.NotMoved, trait.MovedAll:
		return false
	}
	return r.zero(n.In(0))
}

package generate

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// attentions replaces every attention written in several nodes by a layer, with the layer's order of axes, and returns the layers by
// their last node.
func attentions(ctx context.Context, g *nn.Graph) (map[*nn.Node]*layer, error) {
	r, err := newReader(ctx, g)
	if err != nil {
		return nil, err
	}
	if err := r.fold(ctx); err != nil {
		return nil, err
	}
	var list []*attention
	for n := range g.Nodes() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if a := r.attentionOf(n); a != nil {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	feed := r.runs()
	if feed == nil {
		return nil, nil
	}
	dims, err := r.shapes(list, feed)
	if err != nil {
		return nil, nil // the model cannot be run: no replacement
	}
	feeds := r.longer(feed)
	var spellers []*speller
	for _, a := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found := r.layoutOf(a, feed, dims)
		if found == nil {
			continue
		}
		rotation, ok := found.rotation(r, a, feeds)
		if !ok {
			continue
		}
		s := &speller{reader: r, attention: a, layout: found, feed: feed, rotation: rotation}
		if s.prepare() {
			spellers = append(spellers, s)
		}
	}
	made := map[*nn.Node]*layer{}
	layered := make([]*layer, len(spellers))
	instead := map[*nn.Value]*nn.Value{} // replaced values and their replacements
	if err := g.EditUntil(ctx, func(e *nn.Edit) {
		for i, s := range spellers {
			for _, f := range []*factor{&s.q, &s.k, &s.v} {
				if v := instead[f.layer.in[0]]; v != nil {
					f.layer.in[0] = v
				}
			}
			old := s.last.Out(0)
			if layered[i], instead[old] = s.spell(e); e.Err() != nil {
				return
			}
			made[layered[i].out[0].Producer()] = layered[i]
		}
	}); err != nil {
		return nil, err
	}
	for i, s := range spellers { // after unused parameters have been removed
		layered[i].name = s.label()
	}
	err = g.EditUntil(ctx, func(e *nn.Edit) {
		instead = tidy(ctx, e)
		for _, l := range made {
			for i, v := range l.in {
				for instead[v] != nil {
					v = instead[v]
				}
				l.in[i] = v
			}
		}
	})
	return made, err
}

// runs returns inputs on which the model runs, as small as possible.
func (r *reader) runs() nn.Feed {
	for _, open := range slices.Concat([][2]int{{2, 3}, {2, 7}}, standIns[:3]) {
		if feed, _, err := randomFeed(r.g.Inputs(), open); err == nil {
			if _, err := r.g.Eval(r.ctx, feed); err == nil {
				return feed
			}
		}
	}
	return nil
}

// longer returns feed and, if open axes allow them, longer inputs on which the model runs.
func (r *reader) longer(feed nn.Feed) []nn.Feed {
	for _, open := range standIns {
		if next, _, err := randomFeed(r.g.Inputs(), open); err == nil {
			if _, err := r.g.Eval(r.ctx, next); err == nil {
				return []nn.Feed{feed, next}
			}
		}
	}
	return []nn.Feed{feed}
}

// speller replaces one attention by a layer.
type speller struct {
	*reader
	*attention
	*layout
	feed     nn.Feed
	layer    layers.Attention
	weights  map[string]*tensor.Dense
	rotation *rotation // of queries and keys; nil: none
	windows  int       // number of parts of the batch with different masks; 0: the mask does not depend on the batch
	length   [2]op.Dim // of queries and keys
	path     string    // of the names of nodes
}

// prepare sets the fields of the layer, and reports whether the attention can be written as one.
func (s *speller) prepare() bool {
	t := s.scores.Type().Shape
	s.length = [2]op.Dim{t[len(t)-2], t[len(t)-1]}
	s.layer = layers.Attention{Heads: s.heads, Scale: s.scale}
	s.weights = map[string]*tensor.Dense{}
	biases := 0
	for i, f := range []*factor{&s.q, &s.k, &s.v} {
		biases += s.put([]string{"query", "key", "value"}[i], f.layer, s.layout.columns[i])
	}
	biases += s.put("output", s.output, nil)
	in := s.q.layer.in[0].Type()
	channels := in.Shape[in.Rank()-1]
	if biases != 0 && biases != 4 || !fixed(channels) || channels.Size != s.output.Layer.(layers.Linear).Out {
		return false
	}
	s.layer.NoBias = biases == 0
	if s.kvHeads != s.heads {
		s.layer.KVHeads = s.kvHeads
	}
	if s.heads*s.depth != channels.Size {
		s.layer.HeadSize = s.depth
	}
	if math.Abs(s.scale*math.Sqrt(float64(s.depth))-1) < 1e-5 {
		s.layer.Scale = 0
	}
	if o := s.rotation; o != nil {
		s.layer.Rotary, s.layer.Interleaved = o.base, o.interleaved
		if o.dim != s.depth {
			s.layer.RotaryDim = o.dim
		}
	}
	for i := range s.masks {
		if !s.mask(&s.masks[i]) {
			return false
		}
	}
	s.layer.Dropout, s.layer.Weights = round(float32(s.dropout)), s.shown != nil
	if s.shown != nil && (!s.stacked() || len(open(s.shown.Type())) > 1) {
		return false
	}
	s.masks = slices.DeleteFunc(s.masks, func(m mask) bool { return m.value == nil })
	if s.windows > 0 && (slices.Contains(s.orders[:], rowsBatch)) {
		return false
	}
	for i, f := range []*factor{&s.q, &s.k, &s.v} {
		if s.plain(f.rows.Type()) {
			continue
		}
		if n := s.length[min(i, 1)]; !fixed(n) {
			return false
		}
	}
	return len(open(s.last.Out(0).Type())) <= 1 || s.plain(s.last.Out(0).Type())
}

// plain reports whether values of a type need no reshaping.
func (s *speller) plain(t op.Type) bool { return t.Rank() == 3 && s.windows == 0 }

// open returns the axes of open length.
func open(t op.Type) (list []int) {
	for i, d := range t.Shape {
		if !fixed(d) {
			list = append(list, i)
		}
	}
	return list
}

// lengths returns the dimensions of a type in the form of Reshape.
func lengths(t op.Type) []int {
	dims := make([]int, t.Rank())
	for i, d := range t.Shape {
		if dims[i] = d.Size; !fixed(d) {
			dims[i] = -1
		}
	}
	return dims
}

// put adds the weights of a linear layer, or columns of them, and returns the number of biases.
func (s *speller) put(what string, l *layer, columns []int) int {
	w := l.weights["weight"]
	if l.in[0].Type().Rank() == 2 { // the layer is a Gemm
		w = transposed(s.ctx, w)
	}
	b := l.weights["bias"]
	if columns != nil {
		if w = picked(w, columns); b != nil {
			b = picked(b, columns)
		}
	}
	s.weights[what+".weight"] = w
	if b == nil {
		return 0
	}
	s.weights[what+".bias"] = b
	return 1
}

// spell replaces the nodes by the layer, and returns it together with the value that replaced their output.
func (s *speller) spell(e *nn.Edit) (*layer, *nn.Value) {
	softmax := s.nodes[0].Name()
	s.path = softmax[:strings.LastIndexByte(softmax, '/')+1]
	in := []*nn.Value{s.bring(e, 0), nil, nil, nil}
	for i, f := range []*factor{&s.k, &s.v} {
		switch {
		case f.layer.in[0] == s.q.layer.in[0] && s.orders[i+1] == s.orders[0]:
			in[1+2*i] = in[0]
		case i == 1 && f.layer.in[0] == s.k.layer.in[0] && s.orders[2] == s.orders[1]:
			in[3] = in[1]
		default:
			in[1+2*i] = s.bring(e, i+1)
		}
	}
	for _, m := range s.masks {
		term := s.term(e, m)
		if in[2] != nil {
			term = s.named(e, e.Node(op.Plain("Add"), in[2], term))
		}
		in[2] = term
	}
	switch {
	case in[3] != in[1]:
	case in[2] != nil:
		in = in[:3]
	case in[1] != in[0]:
		in = in[:2]
	default:
		in = in[:1]
	}
	outputs := e.ApplyAll(s.layer, in...)
	if e.Err() != nil {
		return nil, nil
	}
	y := outputs[0]
	out := y
	e.RenameNode(y.Producer(), e.New(s.path+y.Producer().Type())) // the layer's generated name does not follow the model's
	if s.orders[3] == rowsBatch {
		out = s.named(e, e.Node(std.TransposeConfig{Perm: []int{1, 0, 2}}, out))
	}
	if t := s.last.Out(0).Type(); !s.plain(t) {
		out = s.reshaped(e, out, t)
	}
	name := s.last.Name()
	e.Replace(s.last, nn.LayerFunc(func(*nn.Edit, ...*nn.Value) []*nn.Value { return []*nn.Value{out} }))
	if name != "" && s.path == "" && s.output.name != "" {
		e.RenameNode(y.Producer(), e.New(name))
	}
	if s.shown != nil {
		shown := s.reshaped(e, outputs[1], s.shown.Type())
		e.Rewire(s.shown, shown)
	}
	l := &layer{Layer: s.layer, kind: "attention", in: in, out: outputs, weights: s.weights}
	for _, v := range slices.Backward(outputs) {
		l.nodes = append(l.nodes, v.Producer())
	}
	return l, out
}

// label returns the name of the attention: that of its output layer without the last part, with a suffix if other parameters have names
// below it, too.
func (s *speller) label() string {
	name := parent(s.output.name)
	if name == "" {
		return ""
	}
	for p := range s.g.Params() {
		if !strings.HasPrefix(p.Name(), name+".") {
			continue
		}
		own := slices.ContainsFunc([]*layer{s.q.layer, s.k.layer, s.v.layer, s.output}, func(l *layer) bool { return l.name != "" && strings.HasPrefix(p.Name(), l.name) })
		if !own && p.Role() != nn.Constant && direct.Data(p) != s.weights["relative_position_bias_table"] {
			return name + ".attention"
		}
	}
	return name
}

// named names a node within the scope of the attention.
func (s *speller) named(e *nn.Edit, n *nn.Node) *nn.Value {
	if e.Err() != nil {
		return nil
	}
	if s.path != "" {
		e.RenameNode(n, e.New(s.path+n.Type()))
	}
	return n.Out(0)
}

// reshaped reshapes a value to the shape of a type with at most one open axis.
func (s *speller) reshaped(e *nn.Edit, v *nn.Value, t op.Type) *nn.Value {
	return s.shaped(e, v, lengths(t))
}

func (s *speller) shaped(e *nn.Edit, v *nn.Value, dims []int) *nn.Value {
	return s.named(e, e.Node(op.Plain("Reshape"), v, e.Ints(e.New("shape"), dims...)))
}

// bring returns the input of queries, keys or values as [batch, rows, channels].
func (s *speller) bring(e *nn.Edit, i int) *nn.Value {
	f, o := []*factor{&s.q, &s.k, &s.v}[i], s.orders[i]
	v := f.layer.in[0]
	if e.Err() != nil {
		return nil
	}
	t := v.Type()
	if !s.plain(t) {
		n, channels := s.length[min(i, 1)].Size, t.Shape[t.Rank()-1].Size
		switch {
		case s.windows > 0:
			v = s.shaped(e, v, []int{-1, s.windows, n, channels})
		case o == rowsBatch:
			v = s.shaped(e, v, []int{n, -1, channels})
		default:
			v = s.shaped(e, v, []int{-1, n, channels})
		}
	}
	if o == rowsBatch && e.Err() == nil {
		v = s.named(e, e.Node(std.TransposeConfig{Perm: []int{1, 0, 2}}, v))
	}
	return v
}

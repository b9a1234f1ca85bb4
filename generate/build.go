package generate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// build executes the steps as the generated source will, and sets the weights of the model.
func (r *reader) build() (*nn.Graph, error) {
	g := r.empty()
	err := g.EditUntil(r.ctx, func(e *nn.Edit) {
		made := map[*value]*nn.Value{}
		for _, v := range r.g.Inputs() {
			made[r.vals[v]] = e.Input(v.Name(), v.Type().String())
		}
		for _, s := range r.steps {
			s.build(e, made)
			if err := e.Err(); err != nil {
				return
			}
		}
		for _, v := range r.g.Outputs() {
			e.Output(v.Name(), made[r.val(v)])
		}
		if e.Err() == nil {
			r.fill(e)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	return g, nil
}

// fill sets the parameters to copies of the model's.
func (r *reader) fill(e *nn.Edit) {
	want := r.tensors()
	for _, p := range e.Params() {
		if err := r.ctx.Err(); err != nil {
			e.Fail(err)
			return
		}
		d := want[p.Name()]
		switch {
		case d != nil && direct.Data(p) != nil && d.Dtype() == direct.Data(p).Dtype() && slices.Equal(d.Shape(), direct.Data(p).Shape()):
			direct.SetData(e, p.Value(), d.Clone().(*tensor.Dense))
		case d != nil || p.Role() != nn.Constant:
			e.Failf("parameter %s would not get its values", p.Name())
			return
		}
	}
}

// empty returns a model without layers, of the operator sets that the steps are written for.
func (r *reader) empty() *nn.Graph {
	sets := map[string]int{}
	for domain, v := range r.g.Opsets() {
		if domain == "" || uses(r.steps, domain) {
			sets[domain] = v
		}
	}
	if len(sets) == 1 && sets[""] == nn.LatestOpset {
		return nn.New(r.g.Name())
	}
	return nn.NewGraph(r.g.Name(), r.g.Ops(), sets)
}

// uses reports whether a step is an operator of a domain, or one in a subgraph is.
func uses(steps []*step, domain string) bool {
	return slices.ContainsFunc(steps, func(s *step) bool {
		return s.layer == nil && s.op.Domain == domain || slices.ContainsFunc(s.bodies, func(b *body) bool { return uses(b.steps, domain) })
	})
}

func (s *step) build(e *nn.Edit, made map[*value]*nn.Value) {
	in := make([]*nn.Value, len(s.in))
	for i, a := range s.in {
		switch {
		case a.val != nil:
			in[i] = made[a.val]
		case a.con != nil:
			in[i] = a.con.build(e, s, made)
		}
	}
	var out []*nn.Value
	if s.alone {
		out = in
	} else if s.layer != nil {
		out = e.ApplyAll(s.layer.value().Interface().(nn.Layer), in...)
	} else {
		c := op.Config(s.op)
		if s.config != nil {
			c = s.config.value().Interface().(op.Config)
		}
		if len(s.bodies) > 0 {
			v := reflect.New(reflect.TypeOf(c)).Elem()
			v.Set(reflect.ValueOf(c))
			for k, x := range s.bodies {
				at := x.from
				b := x.build(e, in[at:at+len(s.capturedBy(k))])
				if b == nil {
					return
				}
				v.FieldByName(x.field).Set(reflect.ValueOf(b))
			}
			c = v.Interface().(op.Config)
		}
		out = e.NodeN(c, len(s.out), in[:s.inputs()]...).Outputs()
	}
	for i, v := range s.out {
		if v != nil && i < len(out) {
			made[v] = out[i]
		}
	}
}

// like returns the input that a scalar takes its element type from.
func (s *step) like(c *constant) *value {
	for _, v := range s.values() {
		if v.typ.DType == dtype.Of(c.data.Dtype()) {
			return v
		}
	}
	return nil
}

func (c *constant) build(e *nn.Edit, s *step, made map[*value]*nn.Value) *nn.Value {
	name := c.name.v.(string)
	switch c.kind {
	case conInts:
		return e.Ints(name, c.list.v.([]int)...)
	case conScalar:
		return e.Scalar(name, made[s.like(c)], reflect.ValueOf(c.list.v).Convert(reflect.TypeFor[float64]()).Float())
	case conSmall:
		v := e.Const(name, c.data.Clone().(*tensor.Dense))
		e.SetRole(v, nn.Constant)
		return v
	case conParam:
		return e.ParamOf(name, dtype.Of(c.data.Dtype()), c.fill, c.list.v.([]int)...)
	}
	v := e.Const(name, dtype.New(dtype.Of(c.data.Dtype()), c.list.v.([]int)...))
	e.SetRole(v, nn.Constant)
	return v
}

// fillOf returns how a parameter that a node reads as input i starts if the file has no values for it; −1: it is not one of
// the node's own inputs.
func fillOf(n *nn.Node, i int, t *tensor.Dense) initial.Filler {
	start := trait.NoStart
	if i >= 0 {
		start = n.Traits().StartAt(i)
	}
	switch {
	case start == trait.StartZero:
		return initial.Zeros{}
	case start != trait.StartOne && t.Dims() >= 2:
		return initial.FanIn{}
	}
	return initial.Ones{}
}

// errUnchecked says that the model could not be run on random inputs.
var errUnchecked = errors.New("not compared")

// compare runs both models on the same random inputs and returns the largest difference of an output.
func compare(ctx context.Context, a, b *nn.Graph) (float64, error) {
	var feed, want nn.Feed
	var failed error // at the first sizes
	for i, open := range standIns {
		random, name, err := randomFeed(a.Inputs(), open)
		if err != nil {
			return 0, fmt.Errorf("%w: input %s: %w", errUnchecked, name, err)
		}
		out, err := a.Eval(ctx, random)
		if err == nil {
			feed, want = random, out
			break
		}
		if i == 0 {
			failed = err
		}
	}
	if want == nil {
		return 0, fmt.Errorf("%w: the model does not run on random inputs: %w", errUnchecked, failed)
	}
	got, err := b.Eval(ctx, feed)
	if err != nil {
		return 0, err
	}
	worst := 0.0
	for _, v := range a.Outputs() {
		w, ok1 := want[v.Name()].(dtype.Value)
		x, ok2 := got[v.Name()].(dtype.Value)
		if !ok1 || !ok2 {
			return 0, fmt.Errorf("output %s is missing", v.Name())
		}
		d, err := dtype.Tolerance{Atol: 1e-4, Rtol: 1e-3}.Compare(x, w)
		if err != nil {
			return d, fmt.Errorf("output %s: %w", v.Name(), err)
		}
		worst = max(worst, d)
	}
	return worst, nil
}

// standIns are pairs of lengths for open axes, the first of a value and the others, which the
// comparison tries in turn until the model runs: a convolution along the first axis, or a stack of
// them, needs more than a few elements, and a table of positions has a maximum.
var standIns = [][2]int{{2, 64}, {16, 64}, {2, 640}, {2, 7}, {2, 3}}

// randomFeed are numbers for inputs; an error is about the input of the name. Axes of one symbol have one length.
func randomFeed(list []*nn.Value, open [2]int) (feed nn.Feed, name string, err error) {
	feed = nn.Feed{}
	symbols := map[string]int{}
	r := rand.New(rand.NewPCG(1, 2))
	for _, v := range list {
		t := v.Type()
		if t.Kind != op.Tensor || t.Unranked {
			return nil, v.Name(), fmt.Errorf("is a %v", t)
		}
		dims := make([]int, len(t.Shape))
		for i, d := range t.Shape {
			if dims[i] = d.Size; d.Known() && !d.Symbolic() {
				continue
			}
			n, ok := symbols[d.Sym]
			if !ok {
				n = open[min(i, 1)]
				if d.Sym != "" {
					symbols[d.Sym] = n
				}
			}
			dims[i] = n
		}
		if feed[v.Name()], err = random(t.DType, dims, r); err != nil {
			return nil, v.Name(), err
		}
	}
	return feed, "", nil
}

// random returns values that most models accept: small integers and floats around zero.
func random(t dtype.DType, dims []int, r *rand.Rand) (*tensor.Dense, error) {
	n, err := dtype.Count(dims)
	if err != nil {
		return nil, err
	}
	if t.IsFloat() {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return dtype.FromFloats(t, v, dims...)
	}
	v := make([]int, n)
	for i := range v {
		v[i] = r.IntN(2)
	}
	return dtype.FromInts(t, v, dims...)
}

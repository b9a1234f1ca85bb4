package train

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// Attached is a fork of a graph, sharing its tensors, with a loss: what a training step computes.
type Attached struct {
	Graph   *nn.Graph               // fork of the model, with the loss
	Loss    *nn.Value               // value of the loss, a scalar
	Targets []string                // inputs of the loss
	Params  []*nn.Param             // parameters of the fork that are trained
	Origin  map[*nn.Param]*nn.Param // maps the fork's parameters to the model's

	config Config
	groups grouping // of config
}

// Attach builds Config.Loss on a fork of g, for targets of the given types, "int64[N]"; the batch axis has the name of
// the output's. Without types there is one target: classes for losses over classes, otherwise the type of the output.
func (c Config) Attach(g *nn.Graph, targets ...string) (*Attached, error) {
	if g == nil {
		return nil, errors.New("train: there is no graph")
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	loss := c.Loss
	if loss == nil {
		loss = CrossEntropy{}
	}
	ctx := c.context()
	a := &Attached{config: c, groups: *c.grouping()}
	var err error
	if a.Graph, a.Origin, err = g.ForkUntil(ctx); err != nil {
		return nil, err
	}
	var name string
	err = a.Graph.EditUntil(ctx, func(e *nn.Edit) {
		out := e.Outputs()
		types, err := targetTypes(loss, out, targets)
		if err != nil {
			e.Fail(err)
			return
		}
		var want []*nn.Value
		for _, t := range types {
			v := e.Input(e.New("target"), targetType(t, out, false))
			if e.Err() != nil {
				return
			}
			want, a.Targets = append(want, v), append(a.Targets, v.Name())
		}
		v := loss.Build(e, out, want)
		if e.Err() != nil {
			return
		}
		if v == nil || v.Type().Rank() > 0 {
			e.Failf("the loss %T is not a scalar", loss)
			return
		}
		name = e.New("loss")
		e.Output(name, v)
	})
	if err != nil {
		return nil, trainError(err)
	}
	if a.Loss, err = a.Graph.Value(name); err != nil {
		return nil, err
	}
	var trained []*nn.Param
	for p := range a.Graph.Params() {
		if o := a.Origin[p]; o != nil && o.Trainable() {
			a.Params, trained = append(a.Params, p), append(trained, o)
		}
	}
	if len(a.Params) == 0 {
		return nil, &op.Error{Stage: "train", Err: errors.New("the graph has no trainable parameter: all are frozen, or none is a weight")}
	}
	return a, c.checkGroups(ctx, &a.groups, trained)
}

// Plan returns the update rule of a parameter of the fork and the factor on its rate, from the first of Config.Groups that matches the model's.
func (a *Attached) Plan(p *nn.Param) (optim.Rule, float64, error) {
	of := a.Origin[p]
	if of == nil {
		return nil, 0, &op.Error{Stage: "train", Err: errors.New("the parameter is not of the graph that the loss was attached to")}
	}
	r, err := a.config.planFor(&a.groups, of)
	return r.rule, r.rate, err
}

// targetTypes returns the given types or, without any, the type that the loss compares with the first output.
func targetTypes(l Loss, out []*nn.Value, given []string) ([]op.Type, error) {
	var types []op.Type
	for _, s := range given {
		t, err := op.ParseType(s)
		if err != nil {
			return nil, err
		}
		types = append(types, t)
	}
	if types != nil {
		return types, nil
	}
	if len(out) == 0 {
		return nil, errors.New("the model has no output")
	}
	t := out[0].Type()
	if t.Kind != op.Tensor || t.Unranked {
		return nil, fmt.Errorf("output %q is %v: give the types of the targets", out[0].Name(), t)
	}
	axis, classes := classTargets(l)
	if !classes {
		return []op.Type{t}, nil
	}
	if axis < 0 {
		axis += t.Rank()
	}
	shape := slices.Clone(t.Shape)
	if axis < 1 || axis >= len(shape) {
		return nil, fmt.Errorf("output %q is %v, it has no axis of classes", out[0].Name(), t)
	}
	shape = slices.Delete(shape, axis, axis+1)
	for len(shape) > 1 && shape[len(shape)-1] == op.D(1) { // spatial axes of a convolutional classifier
		shape = shape[:len(shape)-1]
	}
	return []op.Type{op.T(dtype.Int64, shape...)}, nil
}

// classTargets returns the axis of the class scores in the output; ok reports whether targets of the loss are classes.
func classTargets(l Loss) (axis int, ok bool) {
	switch l := l.(type) {
	case CrossEntropy:
		axis, ok = l.Axis, true
	case NLL:
		ok = true
	}
	if axis == 0 {
		axis = 1
	}
	return axis, ok
}

// Weight adds nodes that compute the weight of a batch when several batches make one update (see Weighted), as a
// float32 scalar; batch and targets are the inputs of the model and of the loss in the edited graph. nil means that
// gradients are added without weights.
func (c Config) Weight(e *nn.Edit, batch, targets []*nn.Value) *nn.Value {
	p := lossBuilder{e}
	if e.Err() != nil {
		return nil
	}
	if len(batch) == 0 {
		e.Failf("the model has no input to count samples by")
		return nil
	}
	samples := func() *nn.Value {
		n := p.node("Gather", nil, p.do("Shape", batch[0]), e.Ints(e.New("first"), 0))
		return p.node("Reshape", nil, p.cast(n, dtype.Float32), e.Ints(e.New("shape")))
	}
	l, ok := c.Loss.(interface{ entropy() CrossEntropy })
	if x, is := c.Loss.(CrossEntropy); is || c.Loss == nil {
		l, ok = x, true
	}
	if !ok || len(targets) == 0 || targets[0].Type().DType.IsFloat() {
		w, weighted := c.Loss.(Weighted)
		if !weighted {
			return samples()
		}
		switch n, err := w.Weight([]*tensor.Dense{dtype.New(dtype.Float32, 2, 1)}); {
		case err == nil && n < 0:
			return nil
		case err == nil && n == 2:
			return samples()
		}
		e.Failf("the loss %T weighs batches by its own method, which has no ONNX operators: gradients cannot be accumulated with it", c.Loss)
		return nil
	}
	return l.entropy().count(p, targets[0])
}

func (l CrossEntropy) entropy() CrossEntropy { return l }

// count returns the sum of the weights of the labels that are not ignored.
func (l CrossEntropy) count(p lossBuilder, y *nn.Value) *nn.Value {
	if l.Sum {
		return nil
	}
	ignored := p.do("Equal", y, p.scalar("ignored", y, l.ignore()))
	counts := p.cast(p.do("Not", ignored), dtype.Float32)
	if l.ClassWeights != nil && p.e.Err() == nil {
		class := p.do("Where", ignored, p.scalar("zero", y, 0), y)
		weights, err := dtype.FromFloats(dtype.Float32, l.ClassWeights, len(l.ClassWeights))
		if err != nil {
			p.e.Fail(err)
			return nil
		}
		counts = p.do("Mul", counts, p.do("Gather", p.e.Const(p.e.New("class_weights"), weights), class))
	}
	return p.reduce(counts, true)
}

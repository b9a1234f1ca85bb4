package step

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

// DefaultOpset is the version of the standard operator set that a step is written in, unless the model needs a later one.
const DefaultOpset = 18

// Exporter exports the training step of a model.
type Exporter struct {
	// Config is the training configuration. Loss, Rule, Groups, ClipNorm and Accumulate are exported; Context ends the export; the other fields are
	// not used. The program that runs the step computes the schedule and feeds its value as rate.
	Config  train.Config
	Targets []string // types of the targets, "int64[N]"; nil: chosen by the loss and the first output
	Opset   int      // version of the standard operator set; 0: DefaultOpset, or the model's if that is later
}

func (x Exporter) context() context.Context { return cmp.Or(x.Config.Context, context.Background()) }

// Export exports the step of g with the defaults: cross-entropy and AdamW.
func Export(g *nn.Graph) (*Model, error) { return Exporter{}.Export(g) }

// Export exports the step of g, which is not changed.
func (x Exporter) Export(g *nn.Graph) (*Model, error) {
	if g != nil { // Attach returns the error for nil
		if err := onnxio.CheckData(g); err != nil {
			return nil, fmt.Errorf("export step: %w", err)
		}
	}
	a, err := x.Config.Attach(g, x.Targets...)
	if err != nil {
		return nil, err
	}
	opset := x.Opset
	if opset == 0 {
		opset = max(DefaultOpset, a.Graph.Opsets()[""])
	}
	s := &Model{}
	w := x.writer(s, a)
	s.Graph, err = a.Graph.DeriveUntil(x.context(), nn.DeriveOptions{Loss: a.Loss, Params: a.Params, Opset: opset}, w.write)
	if err != nil {
		return nil, exportError(err)
	}
	s.first = w.first
	s.Start, err = w.start(x.context(), g.Name(), opset)
	if err != nil {
		return nil, exportError(err)
	}
	return s, nil
}

// writer returns a writer of the step for a graph with a loss.
func (x Exporter) writer(s *Model, a *train.Attached) *writer {
	for _, v := range a.Graph.Inputs() {
		s.Batch = append(s.Batch, v.Name())
	}
	return &writer{Exporter: x, step: s, of: a, params: slices.Collect(a.Graph.Params()), first: map[string]*tensor.Dense{}}
}

// exportError adds to an error that it is one of an export.
func exportError(err error) error {
	var e *op.Error
	if errors.As(err, &e) {
		c := *e
		c.Stage = "export step"
		return &c
	}
	return err
}

// writer adds the update to a derivation.
type writer struct {
	Exporter
	step   *Model
	of     *train.Attached
	params []*nn.Param // of the model, including frozen ones and statistics
	e      *nn.Edit
	b      *builder
	first  map[string]*tensor.Dense // initial values of the variables
	rate   *nn.Value                // float64
	count  *nn.Value                // float64, updates so far
	last   *nn.Value                // whether this batch is the last of an update; nil: each is

	stored bool // write training_info: variables are initializers, and rules are ONNX operators where they exist
}

// variable adds a variable: a value that the step reads as an input and updates.
func (w *writer) variable(name string, first *tensor.Dense) *nn.Value {
	if w.stored {
		return w.b.parameter(name, first)
	}
	return w.e.Input(w.e.New(name), op.TypeOf(first).String())
}

// counters returns the step number and the factor on the rate.
func (w *writer) counters() (count, rate *nn.Value) {
	if !w.stored {
		return w.e.Input(StepInput, "int64[]"), w.e.Input(RateInput, "float32[]")
	}
	return w.b.parameter(StepInput, zeroStep()), w.b.parameter(RateInput, unitRate())
}

// write writes the part of a step after the gradients.
func (w *writer) write(e *nn.Edit, d *nn.Derivation) {
	w.e, w.b = e, &builder{e: e, typ: dtype.Float32, casts: map[*nn.Value]*nn.Value{}}
	for _, name := range []string{StepInput, RateInput, SeedInput, LossName} {
		if slices.Contains(w.step.Batch, name) {
			e.Failf("an input of the model is called %q, as one of the step is: rename it first", name)
			return
		}
	}
	count, rate := w.counters()
	w.count, w.rate = w.b.cast(count, dtype.Float64), w.b.cast(rate, dtype.Float64)
	if d.Key != nil {
		w.key(d.Key, count)
	}
	grads, next := w.accumulated(d)
	grads = w.clipped(grads)
	for _, p := range w.of.Params {
		if g := grads[p]; g != nil {
			next = append(next, w.update(p, d.In[p], g)...)
		}
	}
	for _, p := range w.params {
		if v := d.Next[p]; v != nil {
			next = append(next, update{Variable{Name: d.In[p].Name(), Kind: Statistic}, v, direct.Data(p)})
		}
	}
	w.output(LossName, d.Loss)
	for _, u := range next {
		u.Next = u.Name + suffix
		w.output(u.Next, u.next)
		w.step.Variables, w.first[u.Name] = append(w.step.Variables, u.Variable), u.first
	}
}

// output makes v an output with the given name. An intermediate value of that name is renamed.
func (w *writer) output(name string, v *nn.Value) {
	if other := w.e.Lookup(name); other != nil {
		w.e.RenameValue(other, w.e.New(name+"_inner"))
	}
	w.e.Output(name, v)
}

// update is a variable with its next value and its initial value.
type update struct {
	Variable
	next  *nn.Value
	first *tensor.Dense
}

// clipped returns the gradients, scaled down so that their global norm is at most Config.ClipNorm.
func (w *writer) clipped(grads map[*nn.Param]*nn.Value) map[*nn.Param]*nn.Value {
	if w.Config.ClipNorm == 0 {
		return grads
	}
	var total optim.Term
	for _, p := range w.of.Params {
		if g := grads[p]; g != nil {
			square := w.b.Sum(w.b.Mul(g, g))
			if total == nil {
				total = square
			} else {
				total = w.b.Add(total, square)
			}
		}
	}
	if total == nil {
		return grads
	}
	norm := w.b.Add(w.b.Sqrt(total), w.b.Number(1e-6))
	scale := w.b.Min(w.b.Number(1), w.b.Div(w.b.Number(w.Config.ClipNorm), norm))
	list := map[*nn.Param]*nn.Value{}
	for _, p := range w.of.Params {
		if g := grads[p]; g != nil {
			list[p], _ = w.b.Mul(g, scale).(*nn.Value)
		}
	}
	return list
}

// update writes the update rule of one parameter.
func (w *writer) update(p *nn.Param, in, grad *nn.Value) []update {
	rule, factor, err := w.of.Plan(p)
	if err != nil {
		w.e.Fail(err)
		return nil
	}
	f, ok := rule.(optim.Formula)
	if !ok {
		w.e.Fail(&op.Error{Op: fmt.Sprintf("%T", rule), Err: errors.New("the update rule has no formula to export: it does not implement optim.Formula")})
		return nil
	}
	slots, err := rule.Init(direct.Data(p))
	if err != nil {
		w.e.Fail(err)
		return nil
	}
	b := *w.b
	b.typ, b.rank = in.Type().DType, in.Type().Rank()
	var terms []optim.Term
	var list []update
	for _, s := range slots {
		v := w.variable(in.Name()+"."+s.Name, s.Data)
		list = append(list, update{Variable: Variable{Name: v.Name(), Kind: State, Of: in.Name()}, first: s.Data})
		if numeric(s) {
			v = b.node(std.ReshapeConfig{}, v, w.e.Ints(w.e.New("shape")))
		}
		terms = append(terms, v)
	}
	rate := b.Mul(w.rate, b.Number(factor))
	next, after, err := w.formula(&b, f, in, grad, terms, rate)
	if err != nil {
		w.e.Fail(err)
	}
	for i, t := range after {
		v, _ := t.(*nn.Value)
		if numeric(slots[i]) {
			v = b.node(std.ReshapeConfig{}, v, w.e.Ints(w.e.New("shape"), 1))
		}
		list[i].next = w.due(v, list[i].Name)
	}
	v, _ := next.(*nn.Value)
	return append([]update{{Variable{Name: in.Name(), Kind: Parameter}, w.due(v, in.Name()), direct.Data(p)}}, list...)
}

// numeric reports whether a slot is a scalar rather than a tensor that follows the weight's shape.
func numeric(s optim.Slot) bool {
	return slices.Equal([]int(s.Data.Shape()), []int{1}) && slices.Equal(s.Axes, []int{-1})
}

// key makes the key of random operators from the inputs seed and step.
func (w *writer) key(key, count *nn.Value) {
	seed := w.e.Input(SeedInput, "int64[]")
	one := w.e.Ints(w.e.New("shape"), 1)
	part := func(v *nn.Value) *nn.Value {
		return w.b.node(std.CastConfig{To: dtype.Uint64}, w.b.node(std.ReshapeConfig{}, v, one))
	}
	both := w.b.node(std.ConcatConfig{}, part(seed), part(count))
	w.e.Rewire(key, both)
	w.e.RemoveInput(key.Name())
	w.step.Seeded = true
}

// start returns the model that outputs the initial values.
func (w *writer) start(ctx context.Context, name string, opset int) (*nn.Graph, error) {
	g := nn.NewGraph(name+"_start", w.of.Graph.Ops(), map[string]int{"": opset})
	err := g.EditUntil(ctx, func(e *nn.Edit) {
		b := &builder{e: e}
		for i, v := range w.step.Variables {
			d := w.first[v.Name]
			var x *nn.Value
			if same, ok := uniform(d); ok && d.Shape().TotalSize() > 1 {
				x = b.do("Expand", b.keep(same), e.Ints(e.New("shape"), d.Shape()...))
			} else {
				x = e.Const(fmt.Sprintf("value_%d", i), dtype.Clone(d)) // training may change the original
			}
			e.Output(v.Name, x)
		}
	})
	return g, err
}

// uniform returns the common value of all elements of d as a tensor of rank 0; ok is false if they differ.
func uniform(d *tensor.Dense) (*tensor.Dense, bool) {
	b, size := dtype.Bytes(d), dtype.Of(d.Dtype()).Size()
	if len(b) < size {
		return nil, false
	}
	for i := size; i < len(b); i += size {
		if !slices.Equal(b[i:i+size], b[:size]) {
			return nil, false
		}
	}
	one := dtype.New(dtype.Of(d.Dtype()))
	copy(dtype.Bytes(one), b[:size])
	return one, true
}

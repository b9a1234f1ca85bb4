package step

import (
	"context"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

// Inputs and outputs of the parts of a step.
const (
	weightInput  = "weight"  // float32, factor on the gradients of a batch
	scaleInput   = "scale"   // float64, factor on their sum
	shareInput   = "share"   // float64, weight of the new value in moving averages
	updatesInput = "updates" // int64, number of updates so far
	normName     = "norm"
	checkName    = "statistics" // sum of the squares of the statistics
)

// parts writes a step as two models, gradients and update, which a session runs in turn.
type parts struct {
	job   train.Job
	opset int

	loss     string
	params   []*nn.Param // that the loss depends on, in the order of the job
	stats    []*nn.Param
	inputs   map[*nn.Param]string // in the first part
	grads    map[*nn.Param]string // outputs of the first part
	sums     map[*nn.Param]string // inputs of the first part: accumulated gradients
	next     map[*nn.Param]string // statistics after a batch
	seeded   bool
	averages bool

	changes []change // of the second part
	fed     map[*nn.Param]string
	slopes  map[*nn.Param]string // gradients in the second part
}

// change is a tensor that the second part reads as an input and outputs updated.
type change struct {
	of          *nn.Param
	kind        VariableKind
	average     bool
	data        *tensor.Dense
	input, next string
}

func newParts(job train.Job) *parts {
	return &parts{
		job: job, opset: max(DefaultOpset, job.Graph.Opsets()[""]), averages: job.Config.EMA > 0,
		inputs: map[*nn.Param]string{}, grads: map[*nn.Param]string{}, sums: map[*nn.Param]string{}, next: map[*nn.Param]string{},
		fed: map[*nn.Param]string{}, slopes: map[*nn.Param]string{},
	}
}

// accumulates reports whether gradients are accumulated over several batches.
func (x *parts) accumulates() bool { return x.job.Config.Accumulate > 1 }

// gradients returns the first part: loss, gradients and the next statistics of one batch.
func (x *parts) gradients(ctx context.Context) (*nn.Graph, error) {
	o := nn.DeriveOptions{Loss: x.job.Loss, Params: x.job.Params, Opset: x.opset}
	g, err := x.job.Graph.DeriveUntil(ctx, o, func(e *nn.Edit, d *nn.Derivation) {
		w := &writer{e: e, b: &builder{e: e, typ: dtype.Float32}, step: &Model{}}
		if d.Key != nil {
			x.seeded = true
			w.key(d.Key, e.Input(e.New(StepInput), "int64[]"))
		}
		var weight optim.Term
		if x.accumulates() {
			weight = e.Input(e.New(weightInput), "float32[]")
		}
		x.loss = e.New(LossName)
		w.output(x.loss, d.Loss)
		for _, p := range x.job.Params {
			g := d.Grads[p]
			if g == nil {
				continue
			}
			name := d.In[p].Name()
			if x.accumulates() {
				sum := e.Input(e.New(name+".sum"), g.Type().String())
				g, _ = w.b.Add(sum, w.b.Mul(g, weight)).(*nn.Value)
				x.sums[p] = sum.Name()
			}
			x.params, x.inputs[p], x.grads[p] = append(x.params, p), name, e.New(name+".grad")
			w.output(x.grads[p], g)
		}
		x.statistics(w, d)
	})
	return g, exportError(err)
}

// statistics outputs the running statistics after the batch, and a number that is finite if they are.
func (x *parts) statistics(w *writer, d *nn.Derivation) {
	var total optim.Term
	for p := range x.job.Graph.Params() {
		v := d.Next[p]
		if v == nil {
			continue
		}
		name := d.In[p].Name()
		x.stats, x.inputs[p] = append(x.stats, p), name
		if !x.job.State(p).Follows {
			continue
		}
		x.next[p] = w.e.New(name + suffix)
		square := w.b.Sum(w.b.Mul(v, v))
		if total == nil {
			total = square
		} else {
			total = w.b.Add(total, square)
		}
		w.output(x.next[p], v)
	}
	if v, ok := total.(*nn.Value); ok {
		w.e.Output(checkName, v)
	}
}

// update returns the second part: norm, clipping, rules and averages.
func (x *parts) update(ctx context.Context) (*nn.Graph, error) {
	g := nn.NewGraph(x.job.Graph.Name()+"_update", x.job.Graph.Ops(), map[string]int{"": x.opset})
	base := x.base()
	err := g.EditUntil(ctx, func(e *nn.Edit) {
		b := &builder{e: e, typ: dtype.Float32, casts: map[*nn.Value]*nn.Value{}}
		config := x.job.Config
		w := &writer{Exporter: Exporter{Config: config}, step: &Model{}, of: &x.job.Attached, e: e, b: b}
		count := b.cast(e.Input(updatesInput, "int64[]"), dtype.Float64)
		w.rate = e.Input(RateInput, "float64[]")
		var scale, share optim.Term = b.Number(1), nil
		if x.accumulates() {
			scale = e.Input(scaleInput, "float64[]")
		}
		if x.averages {
			share = e.Input(shareInput, "float64[]")
		}
		values, grads := map[*nn.Param]*nn.Value{}, map[*nn.Param]*nn.Value{}
		for _, p := range x.params {
			values[p] = e.Input(e.New(p.Name()), op.TypeOf(direct.Data(p)).String())
			grads[p] = e.Input(e.New(p.Name()+".grad"), op.TypeOf(direct.Data(p)).String())
			x.fed[p], x.slopes[p] = values[p].Name(), grads[p].Name()
		}
		scale = x.norm(w, grads, scale)
		for _, p := range x.params {
			state := x.job.State(p)
			w.count = count
			if n := state.Updates - base; n > 0 {
				w.count, _ = b.Add(count, b.Number(float64(n))).(*nn.Value)
			}
			grad := grads[p]
			if config.ClipNorm > 0 || x.accumulates() {
				grad, _ = b.Mul(grad, scale).(*nn.Value)
			}
			for i, u := range w.update(p, values[p], grad) {
				c := change{of: p, kind: u.Kind, data: direct.Data(p), input: u.Name}
				if i > 0 {
					c.data = state.Slots[i-1].Data
				}
				x.give(e, c, u.next)
				if i == 0 && x.averages {
					x.average(w, p, u.next, state.Average, share)
				}
			}
		}
		for _, p := range x.stats {
			if a := x.job.State(p).Average; x.averages && a != nil {
				v := e.Input(e.New(p.Name()), op.TypeOf(direct.Data(p)).String())
				x.fed[p] = v.Name()
				x.average(w, p, v, a, share)
			}
		}
	})
	return g, exportError(err)
}

// base returns the smallest number of updates of a parameter so far.
func (x *parts) base() int {
	least := math.MaxInt
	for _, p := range x.params {
		least = min(least, x.job.State(p).Updates)
	}
	return least
}

// norm makes the norm of the gradients an output. It returns the factor on the gradients, including clipping.
func (x *parts) norm(w *writer, grads map[*nn.Param]*nn.Value, scale optim.Term) optim.Term {
	b := w.b
	var total optim.Term = b.Number(0)
	for _, p := range x.params {
		total = b.Add(total, b.Sum(b.Mul(grads[p], grads[p])))
	}
	norm := b.Mul(scale, b.Sqrt(total))
	v, _ := norm.(*nn.Value)
	w.e.Output(normName, v)
	if c := x.job.Config.ClipNorm; c > 0 {
		scale = b.Mul(scale, b.Min(b.Number(1), b.Div(b.Number(c), b.Add(norm, b.Number(1e-6)))))
	}
	return scale
}

// give makes v an output, the next value of an input.
func (x *parts) give(e *nn.Edit, c change, v *nn.Value) {
	c.next = e.New(c.input + suffix)
	e.Output(c.next, v)
	x.changes = append(x.changes, c)
}

// average moves the average of a parameter or a statistic towards its new value.
func (x *parts) average(w *writer, p *nn.Param, next *nn.Value, data *tensor.Dense, share optim.Term) {
	in := w.e.Input(w.e.New(p.Name()+".average"), op.TypeOf(data).String())
	v, _ := w.b.Add(in, w.b.Mul(w.b.Sub(next, in), share)).(*nn.Value)
	x.give(w.e, change{of: p, kind: State, average: true, data: data, input: in.Name()}, v)
}

// evaluation returns the model with its loss in inference mode; parameters and statistics that training changes are inputs.
func (x *parts) evaluation(ctx context.Context) (g *nn.Graph, inputs map[*nn.Param]string, outputs []string, err error) {
	g, origin, err := x.job.Graph.ForkUntil(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	inputs = map[*nn.Param]string{}
	err = g.EditUntil(ctx, func(e *nn.Edit) {
		for _, p := range e.Params() {
			o := origin[p]
			if !slices.Contains(x.params, o) && !slices.Contains(x.stats, o) {
				continue
			}
			v := e.Input(e.New(p.Name()), op.TypeOf(direct.Data(p)).String())
			inputs[o] = v.Name()
			e.Rewire(p.Value(), v)
		}
	})
	for _, v := range x.job.Outputs {
		outputs = append(outputs, v.Name())
	}
	return g, inputs, outputs, exportError(err)
}

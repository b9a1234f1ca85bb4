package step

import (
	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// accumulated sums the gradients of Config.Accumulate batches, weighted as in the trainer, in variables that are zeroed
// after an update. It returns their mean and the variables, and changes w.count to the number of updates so far.
func (w *writer) accumulated(d *nn.Derivation) (map[*nn.Param]*nn.Value, []update) {
	k := w.Config.Accumulate
	if k <= 1 {
		return d.Grads, nil
	}
	b := w.b
	size := b.constant(dtype.Float64, float64(k))
	done := b.do("Floor", b.do("Div", w.count, size))
	within := b.do("Sub", w.count, b.do("Mul", done, size))
	w.last = b.do("Equal", within, b.constant(dtype.Float64, float64(k-1)))
	w.count = done
	weight := w.weight()
	var list []update
	total := weight
	if weight != nil {
		total, list = w.sum(list, "accumulated_weight", "", dtype.New(dtype.Float32), weight)
	}
	means := map[*nn.Param]*nn.Value{}
	for _, p := range w.of.Params {
		g := d.Grads[p]
		if g == nil {
			continue
		}
		var term optim.Term = g
		if weight != nil {
			term = b.Mul(g, b.toNumber(weight))
		}
		v, _ := term.(*nn.Value)
		v, list = w.sum(list, d.In[p].Name()+".grad", d.In[p].Name(), dtype.New(g.Type().DType, direct.Data(p).Shape()...), v)
		if total != nil {
			v, _ = b.Div(v, b.toNumber(total)).(*nn.Value)
		}
		means[p] = v
	}
	return means, list
}

// sum adds x to a variable that starts as zeros, and returns the sum.
func (w *writer) sum(list []update, name, of string, zeros *tensor.Dense, x *nn.Value) (*nn.Value, []update) {
	in := w.variable(name, zeros)
	v := w.b.do("Add", in, x)
	next := w.b.do("Where", w.last, w.b.constant(typeOf(in), 0), v)
	return v, append(list, update{Variable{Name: in.Name(), Kind: State, Of: of}, next, zeros})
}

// weight returns the weight of the batch, nil if gradients are summed without weights.
func (w *writer) weight() *nn.Value {
	n := len(w.step.Batch) - len(w.of.Targets)
	var batch, targets []*nn.Value
	for i, name := range w.step.Batch {
		if v := w.e.Value(name); i < n {
			batch = append(batch, v)
		} else {
			targets = append(targets, v)
		}
	}
	return w.Config.Weight(w.e, batch, targets)
}

// due returns v if the batch is the last of an update, otherwise the previous value of the variable.
func (w *writer) due(v *nn.Value, name string) *nn.Value {
	if w.last == nil {
		return v
	}
	return w.b.do("Where", w.last, v, w.e.Value(name))
}

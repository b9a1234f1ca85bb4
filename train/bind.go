package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// binding is a fork of the graph with the loss, for targets of given types. The fork shares the
// graph's tensors, so a step on it trains the graph.
type binding struct {
	fork    *nn.Graph
	origin  map[*nn.Param]*nn.Param // from the fork's parameters to the graph's
	params  []*nn.Param             // of the fork: those that are trained
	inputs  []string
	targets []string
	types   []op.Type // of the targets
	open    []bool    // per target: sizes of axes besides the batch vary
	outputs []*nn.Value
	loss    *nn.Value
	lossBy  Loss
	feed    nn.Feed
	watch   []watched // all parameters of the graph
	apart   bool      // whether the parameters can be updated one by one
}

// watched is a parameter of the fork and its original in the graph, and whether it was frozen when the graph was forked.
type watched struct {
	copy, param *nn.Param
	frozen      bool
}

// bind renews the binding if it does not match the graph and the batch, and fills its feed.
func (t *Trainer) bind(ctx context.Context, b data.Sample) (*binding, error) {
	if slices.Contains(b.X, nil) || slices.Contains(b.Y, nil) {
		return nil, &op.Error{Stage: "train", Err: errors.New("a tensor of the batch is nil")}
	}
	if t.g.Version() != t.seen {
		if err := t.follow(ctx); err != nil {
			return nil, err
		}
	}
	if t.ranks != nil && len(b.X) == 0 && len(b.Y) == 0 {
		return nil, nil // all samples of the batch are on other ranks
	}
	if t.bound == nil || t.bound.stale() || !t.bound.fits(b.Y) {
		var open []bool
		if t.bound != nil {
			open = t.bound.vary(b.Y)
		}
		err := t.leave()
		if err != nil {
			return nil, err
		}
		if t.bound, err = t.attach(ctx, b.Y, open); err != nil {
			return nil, err
		}
	}
	d := t.bound
	if len(b.X) != len(d.inputs) {
		return nil, &op.Error{Stage: "train", Want: fmt.Sprintf("%d inputs %v", len(d.inputs), d.inputs), Got: len(b.X)}
	}
	for i, n := range d.inputs {
		d.feed[n] = b.X[i]
	}
	for i, n := range d.targets {
		d.feed[n] = b.Y[i]
	}
	err := t.checkSpread(b.Y)
	if c, ok := d.lossBy.(checker); ok && err == nil {
		err = c.check(d.outputs, b.Y)
	}
	if err != nil {
		t.place.name(err)
		return nil, &op.Error{Stage: "train", Err: err}
	}
	return d, nil
}

// attach forks the graph and builds the loss.
func (t *Trainer) attach(ctx context.Context, want []*tensor.Dense, open []bool) (*binding, error) {
	if err := t.follow(ctx); err != nil {
		return nil, err
	}
	d := &binding{feed: nn.Feed{}, open: open, lossBy: t.c.Loss}
	if d.open == nil {
		d.open = make([]bool, len(want))
	}
	if d.lossBy == nil {
		d.lossBy = chosenLoss(want, t.g.Outputs(), func(i int) bool { return t.spread(i, want[i]) })
	}
	if j, ok := d.lossBy.(Joint); ok {
		d.lossBy = j.filled(want)
	}
	var err error
	if d.fork, d.origin, err = t.fork(ctx); err != nil {
		return nil, err
	}
	var lossName string
	var notes []string
	err = d.fork.EditUntil(ctx, func(e *nn.Edit) {
		d.outputs = e.Outputs()
		for _, v := range e.Inputs() {
			d.inputs = append(d.inputs, v.Name())
		}
		var targets []*nn.Value
		for i, y := range want {
			typ := op.TypeOf(y)
			d.types = append(d.types, typ)
			v := e.Input(e.New("target"), targetType(typ, d.outputs, d.open[i]))
			targets = append(targets, v)
			d.targets = append(d.targets, v.Name())
		}
		loss := d.lossBy.Build(e, d.outputs, targets)
		if e.Err() != nil {
			return
		}
		if loss == nil {
			e.Failf("the loss %T returned nothing", d.lossBy)
			return
		}
		if loss.Type().Rank() > 0 {
			e.Failf("the loss %T is %v: want a scalar", d.lossBy, loss.Type())
			return
		}
		lossName = e.New("loss")
		e.Output(lossName, loss)
		notes = e.Notes()
	})
	if err == nil {
		err = t.unedited()
	}
	if err != nil {
		return nil, trainError(err)
	}
	if d.loss, err = d.fork.Value(lossName); err != nil {
		return nil, err
	}
	for p := range d.fork.Params() {
		o := d.origin[p]
		if o == nil {
			continue // a parameter of the loss
		}
		d.watch = append(d.watch, watched{p, o, o.Frozen()})
		if t.params[o] != nil {
			d.params = append(d.params, p)
		}
	}
	d.apart = t.apart()
	for _, n := range notes {
		if !slices.Contains(t.told, n) { // targets of two kinds, mixed and validated, make the loss be attached twice in each epoch
			t.told = append(t.told, n)
			t.say(Event{Kind: Note, Text: n})
		}
	}
	return d, nil
}

// trainError reports an error of the trainer's own edit.
func trainError(err error) error {
	var e *op.Error
	if errors.As(err, &e) {
		c := *e
		c.Stage = "train"
		return &c
	}
	return err
}

// targetType returns the type of a target input as text; its batch axis has the name of the output's.
func targetType(t op.Type, outputs []*nn.Value, open bool) string {
	dims := make([]string, t.Rank())
	for i, d := range t.Shape {
		dims[i] = d.String()
		if open {
			dims[i] = "?"
		}
	}
	if len(dims) > 0 {
		dims[0] = "?"
		if len(outputs) > 0 && outputs[0].Type().Rank() > 0 {
			if d := outputs[0].Type().Shape[0]; d.Sym != "" || d.Known() {
				dims[0] = d.String()
			}
		}
	}
	return fmt.Sprintf("%v[%s]", t.DType, strings.Join(dims, ","))
}

// stale reports whether tensors or the frozen set changed without an edit.
func (d *binding) stale() bool {
	for _, w := range d.watch {
		if direct.Data(w.copy) != direct.Data(w.param) || w.frozen != w.param.Frozen() {
			return true
		}
	}
	return false
}

// fits reports whether the targets have the types that the loss was built for, except for the batch size.
func (d *binding) fits(want []*tensor.Dense) bool {
	if len(want) != len(d.types) {
		return false
	}
	for i, y := range want {
		t := d.types[i]
		if dtype.Of(y.Dtype()) != t.DType || len(y.Shape()) != t.Rank() || !d.open[i] && !sameBeyondBatch(t, y) {
			return false
		}
	}
	return true
}

func sameBeyondBatch(t op.Type, y *tensor.Dense) bool {
	for k := 1; k < len(y.Shape()); k++ {
		if t.Shape[k].Size != y.Shape()[k] {
			return false
		}
	}
	return true
}

// vary reports for which targets other sizes have occurred, so that they become open.
func (d *binding) vary(want []*tensor.Dense) []bool {
	if len(want) != len(d.types) {
		return nil
	}
	open := slices.Clone(d.open)
	for i, y := range want {
		if len(y.Shape()) != d.types[i].Rank() || dtype.Of(y.Dtype()) != d.types[i].DType {
			open[i] = false
		} else if !sameBeyondBatch(d.types[i], y) {
			open[i] = true
		}
	}
	return open
}

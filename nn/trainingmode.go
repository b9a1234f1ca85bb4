package nn

import (
	"fmt"

	"github.com/graft-ml/graft/nn/dtype"
)

// TrainingMode makes nodes, those of subgraphs included, behave as in training wherever the graph runs: normalization
// uses the statistics of the batch, and dropout drops elements. Files can say so from operator set 14 on; a graph in an
// earlier one is converted. The edit fails if an operator has no such setting.
func (e *Edit) TrainingMode() {
	if e.err != nil {
		return
	}
	since := e.trainingSince()
	if since > e.Opset() {
		e.SetOpset(since)
	}
	e.trainAlways()
}

// trainingSince is the operator set in which all nodes can be told to train.
func (e *Edit) trainingSince() (since int) {
	e.made()
	for _, n := range e.g.nodes {
		if n.op == nil {
			continue
		}
		if t := n.op.Traits.Training; t != nil {
			since = max(since, t.Since)
		} else if n.op.State != nil {
			e.fail(&Error{Op: n.op.Name, Node: n.Label(), Err: fmt.Errorf("has no way to say in a file that it trains")})
		}
		for _, b := range n.bodies() {
			sub := &Edit{g: b.Graph, outer: e}
			since = max(since, sub.trainingSince())
			e.fail(sub.err)
		}
	}
	return since
}

func (e *Edit) trainAlways() {
	for _, n := range e.g.nodes {
		if e.err != nil {
			return
		}
		for _, b := range n.bodies() {
			sub := &Edit{g: b.Graph, acts: e.acts, outer: e}
			sub.trainAlways()
			sub.sortNodes()
			e.log, e.acts = append(e.log, sub.log...), sub.acts
			e.fail(sub.err)
		}
		t := n.traits().Training
		switch {
		case n.op == nil || t == nil:
		case t.Config != nil:
			e.setConfig(n, t.Config(n.config))
		default:
			in := make([]*Value, max(len(n.in), t.Input+1))
			copy(in, n.in)
			in[t.Input] = e.Const("training_mode", dtype.Scalar(true))
			e.setIn(n, in)
		}
	}
}

package nn

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// TrainingMode makes nodes, including those of subgraphs, behave as in training wherever the graph runs: normalization
// uses the statistics of the batch, and dropout drops elements. Files can express this from operator set 14 on; a
// graph in an earlier one is converted. The edit fails if an operator has no such setting.
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

// trainingSince returns the first operator set in which all nodes have a training mode.
func (e *Edit) trainingSince() (since int) {
	e.made()
	for _, n := range e.g.nodes() {
		if n.op == nil {
			continue
		}
		if t := n.op.Traits.Training; t != nil {
			since = max(since, t.Since)
		} else if n.op.State != nil {
			e.fail(&Error{Op: n.op.Name, Node: n.label(), Err: fmt.Errorf("has no form in ONNX that trains")})
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
	for _, n := range e.g.nodes() {
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
			e.addOutputs(n, t.Outputs)
		default:
			in := make([]*Value, max(len(n.in), t.Input+1))
			copy(in, n.in)
			in[t.Input] = e.Const("training_mode", dtype.Scalar(true))
			e.setIn(n, in)
		}
	}
}

// addOutputs adds outputs that nothing reads to a node, up to the given number.
func (e *Edit) addOutputs(n *Node, count int) {
	out := slices.Clone(n.out)
	for i := len(out); i < count; i++ {
		formal, _ := op.At(n.op.Out.List(), i)
		v := &Value{name: e.unique(out[0].name + "_" + formal.Name), graph: e.g}
		e.addValue(v)
		out = append(out, v)
	}
	e.setOut(n, out)
}

// TrainingNodes returns the nodes, including those of subgraphs, that behave as in training wherever the graph runs: they normalize by
// statistics of the batch, or drop elements. Files that were exported in training mode have such nodes.
func (g *Graph) TrainingNodes() (list []*Node) {
	g.there()
	defer g.locked().unlock()
	for _, n := range g.nodes() {
		if n.trainsAlways() {
			list = append(list, n)
		}
		for _, b := range n.bodies() {
			list = append(list, b.Graph.TrainingNodes()...)
		}
	}
	return list
}

// trainsAlways reports whether n behaves as in training wherever it runs.
func (n *Node) trainsAlways() bool {
	c := n.call()
	if c == nil || c.Op.Traits.Training == nil {
		return false
	}
	if t := c.Op.Traits.Training; t.Config == nil {
		on, known := c.Uniform(t.Input)
		return c.Has(t.Input) && known && on != 0
	}
	return c.Op.State != nil && c.Op.State(c) != nil
}

// InferenceMode makes the TrainingNodes behave as in inference, and returns their number. The edit
// fails if a training-only output of such a node, a running statistic, is read by another node or is
// an output of the graph.
func (e *Edit) InferenceMode() (nodes int) {
	if e.err != nil {
		return 0
	}
	e.made()
	for _, n := range slices.Clone(e.g.nodes()) {
		for _, b := range n.bodies() {
			sub := &Edit{g: b.Graph, acts: e.acts, outer: e}
			nodes += sub.InferenceMode()
			e.log, e.acts = append(e.log, sub.log...), sub.acts
			e.fail(sub.err)
		}
		if e.err != nil {
			return 0
		}
		if !n.trainsAlways() {
			continue
		}
		nodes++
		t := n.traits().Training
		if t.Config == nil {
			in, asked := slices.Clone(n.in), n.in[t.Input]
			in[t.Input] = nil
			e.setIn(n, in)
			e.sweep(asked)
			continue
		}
		for _, v := range n.out[1:] {
			if v != nil && (len(v.readers()) > 0 || slices.Contains(e.g.outputs, v)) {
				e.fail(&Error{Op: n.op.Name, Node: n.label(), Err: fmt.Errorf("its output %s, which exists only in training mode, is read", v.name)})
				return 0
			}
		}
		gone := n.out[1:]
		e.setOut(n, n.out[:1:1])
		for _, v := range gone {
			if v != nil {
				e.removeValue(v)
			}
		}
		e.setConfig(n, t.Off(n.config))
	}
	return nodes
}

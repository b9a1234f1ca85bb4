package train

import (
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op/trait"
)

// below finds the scores from which a model's output is computed if it ends in probabilities that takes accepts. Reshaping
// nodes between the two are repeated on the scores. ok is false if there are no such probabilities.
func below(e *nn.Edit, out *nn.Value, takes func(p *trait.Probabilities) bool) (v *nn.Value, n *nn.Node, ok bool) {
	if e.Err() != nil {
		return nil, nil, false
	}
	var shapes []*nn.Node
	for v := out; ; {
		n := v.Producer()
		if n.Op() == nil {
			return nil, nil, false
		}
		if p := scored(n); p != nil && takes(p) {
			x := n.In(0)
			for _, s := range slices.Backward(shapes) {
				in := s.Inputs()
				in[0] = x
				x = e.Repeat(s, in...).Out(0)
			}
			return x, n, e.Err() == nil
		}
		if !n.Op().Scheduling.View {
			return nil, nil, false
		}
		shapes = append(shapes, n)
		v = n.In(0)
	}
}

// Logits returns the scores that the probabilities out are computed from, by a Softmax or a Sigmoid for example, in the shape of out; out
// itself if it does not hold probabilities. Gradients of scores do not vanish where probabilities are close to 0 or 1.
func Logits(e *nn.Edit, out *nn.Value) *nn.Value {
	if x, _, ok := below(e, out, func(p *trait.Probabilities) bool { return p.Over != nil || each(p) }); ok {
		return x
	}
	return out
}

// scored returns the kind of probabilities that a node computes from scores; nil for other nodes.
func scored(n *nn.Node) *trait.Probabilities {
	if n.Op() == nil || n.Op().Traits.Probabilities == nil {
		return nil
	}
	return n.Op().Traits.Probabilities(n.Call())
}

// EndsInOne reports whether v holds the probabilities of exclusive classes (the result of a Softmax) rather than
// scores.
func EndsInOne(v *nn.Value) bool {
	p := scored(v.Producer())
	return p != nil && p.Over != nil
}

// logits returns the unnormalized scores of a classifier, with the classes moved to axis 1, and notes which nodes it
// skipped.
func logits(e *nn.Edit, loss string, out *nn.Value, axis int) *nn.Value {
	if e.Err() != nil {
		return nil
	}
	axis, ok := classAxis(e, loss, out, axis)
	if !ok {
		return nil
	}
	if x, n, ok := below(e, out, func(p *trait.Probabilities) bool { return p.Over != nil }); ok {
		if !overClasses(n, axis) {
			e.Failf("%s: %s %s does not go over the classes, axis %d of %v", loss, n.Type(), n.Label(), axis, out.Type())
			return nil
		}
		e.Note("%s: output %q ends in %s %s: the loss is computed from its input, the logits", loss, out.Name(), n.Type(), n.Label())
		out = x
	} else {
		other(e, loss, out)
	}
	return lossBuilder{e}.front(out, axis)
}

// other notes that a loss of scores takes probabilities of another kind for scores.
func other(e *nn.Edit, loss string, out *nn.Value) {
	if _, n, ok := below(e, out, func(*trait.Probabilities) bool { return true }); ok {
		e.Note("%s: output %q ends in %s %s: its results, which are probabilities already, are taken for scores; is this the loss for the targets?", loss, out.Name(), n.Type(), n.Label())
	}
}

// classAxis returns the axis of the classes: 1 unless the loss has another one.
func classAxis(e *nn.Edit, loss string, out *nn.Value, axis int) (int, bool) {
	rank := out.Type().Rank()
	if axis == 0 {
		axis = 1
	}
	if axis < 0 {
		axis += rank
	}
	if axis < 1 || rank >= 0 && axis >= rank {
		e.Failf("%s: the output %v has no axis of classes: want [N, classes, …]", loss, out.Type())
		return 0, false
	}
	return axis, true
}

// overClasses reports whether probabilities sum to 1 over the given axis only; other axes may be included if their length is 1.
func overClasses(n *nn.Node, classes int) bool {
	over := scored(n).Over
	for _, axis := range over {
		if axis != classes && n.In(0).Type().Shape[axis].Size != 1 {
			return false
		}
	}
	return slices.Contains(over, classes)
}

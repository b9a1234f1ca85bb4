package train

import (
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
)

// reshapers change no element; a loss on logits looks through them.
var reshapers = []string{"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"}

// below finds what a final activation of one of the given types was applied to. The shape
// changes between the activation and out are repeated behind it. ok is false when there is no
// such activation.
func below(e *nn.Edit, out *nn.Value, types ...string) (v *nn.Value, n *nn.Node, ok bool) {
	if e.Err() != nil {
		return nil, nil, false
	}
	var shapes []*nn.Node
	for v := out; ; {
		n := v.Producer()
		if n == nil || n.Domain() != "" {
			return nil, nil, false
		}
		if slices.Contains(types, n.Type()) {
			x := n.In(0)
			for _, s := range slices.Backward(shapes) {
				in := s.Inputs()
				in[0] = x
				x = e.Node(s.Config(), in...).Out(0)
			}
			return x, n, e.Err() == nil
		}
		if !slices.Contains(reshapers, n.Type()) {
			return nil, nil, false
		}
		shapes = append(shapes, n)
		v = n.In(0)
	}
}

// logits returns the unnormalized scores behind a classifier's output, with the classes on axis 1
// wherever they were, and says what it looked through.
func logits(e *nn.Edit, loss string, out *nn.Value, axis int) *nn.Value {
	if e.Err() != nil {
		return nil
	}
	axis, ok := classAxis(e, loss, out, axis)
	if !ok {
		return nil
	}
	if x, n, ok := below(e, out, "Softmax", "LogSoftmax"); ok {
		if !overClasses(e, n, axis) {
			e.Failf("%s: %s %s does not go over the classes, axis %d of %v", loss, n.Type(), n.Label(), axis, out.Type())
			return nil
		}
		e.Note("%s: output %q ends in %s %s: the loss looks through it, at its logits", loss, out.Name(), n.Type(), n.Label())
		out = x
	}
	return pieces{e}.front(out, axis)
}

// classAxis is the axis of the classes: 1 unless a loss says another one.
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

// overClasses says whether a softmax normalizes over the given axis alone.
func overClasses(e *nn.Edit, n *nn.Node, classes int) bool {
	t := n.In(0).Type()
	axis := softmaxAxis(n)
	if axis == nil {
		def := -1
		if e.Opset() < 13 {
			def = 1
		}
		axis = &def
	}
	a := *axis
	if a < 0 {
		a += t.Rank()
	}
	if a != classes {
		return false
	}
	if e.Opset() >= 13 {
		return true
	}
	for _, d := range t.Shape[a+1:] { // earlier versions take all axes from there on together
		if d.Size != 1 {
			return false
		}
	}
	return true
}

func softmaxAxis(n *nn.Node) *int {
	switch c := n.Config().(type) {
	case op.SoftmaxConfig:
		return c.Axis
	case op.LogSoftmaxConfig:
		return c.Axis
	}
	return nil
}

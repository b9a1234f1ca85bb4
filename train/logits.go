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

// logits returns the unnormalized scores behind a classifier's output, with the classes on axis
// 1, and says what it looked through. normalized tells that they are logarithms of
// probabilities already.
func logits(e *nn.Edit, loss string, out *nn.Value) (x *nn.Value, normalized bool) {
	x, n, ok := below(e, out, "Softmax", "LogSoftmax")
	switch {
	case e.Err() != nil:
		return nil, false
	case !ok:
		return out, false
	case !overClasses(e, n):
		if n.Type() == "LogSoftmax" {
			return out, false
		}
		e.Failf("%s: %s %s does not go over the classes, axis 1 of %v", loss, n.Type(), n.Label(), out.Type())
		return nil, false
	case n.Type() == "LogSoftmax":
		e.Note("%s: output %q ends in LogSoftmax %s: the loss takes it as logarithms of probabilities", loss, out.Name(), n.Label())
		return out, true
	}
	e.Note("%s: output %q ends in Softmax %s: the loss looks through it, at its logits", loss, out.Name(), n.Label())
	return x, false
}

// overClasses says whether a softmax normalizes over axis 1 alone.
func overClasses(e *nn.Edit, n *nn.Node) bool {
	t := n.In(0).Type()
	if t.Rank() < 2 {
		return t.Rank() == 1
	}
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
	if a != 1 {
		return false
	}
	if e.Opset() >= 13 {
		return true
	}
	for _, d := range t.Shape[2:] { // earlier versions take all axes from there on together
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

package generate

import (
	"slices"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// mask determines the layer's form of a mask, and reports whether there is one; value is nil if the layer needs none.
func (s *speller) mask(m *mask) bool {
	at, shape := s.dims[m.at], s.dims[m.value]
	if len(at) < 3 || len(shape) > len(at) || at[len(at)-2] != s.queries || at[len(at)-1] != s.keys {
		return false
	}
	stack, of := at[:len(at)-2], make([]int, len(at)-2)
	for i := range of {
		of[i] = 1
		if k := i - len(at) + len(shape); k >= 0 {
			of[i] = shape[k]
		}
	}
	flat := !slices.ContainsFunc(of, func(n int) bool { return n != 1 })
	switch {
	case s.layer.Window == nil && s.relative(m):
		m.value = nil
	case flat && !s.layer.Causal && s.causal(m):
		s.layer.Causal, m.value = true, nil
	case flat && len(shape) <= 4:
	case !s.stacked():
		return false
	case len(stack) == 2 && stack[0] == s.batch && stack[1] == s.heads:
		return of[0] == 1 || s.windows == 0
	case len(stack) == 1 && of[0] == s.batch*s.heads && s.windows == 0:
	case len(stack) == 3 && stack[2] == s.heads && fixed(m.at.Type().Shape[1]) && (s.windows == 0 || s.windows == stack[1]):
		s.windows = stack[1]
	default:
		return false
	}
	return true
}

// causal reports whether a mask hides the keys after each query, whatever the inputs are.
func (s *speller) causal(m *mask) bool {
	shape := s.dims[m.value]
	if s.queries < 2 || s.queries != s.keys || len(shape) < 2 || shape[len(shape)-2] != s.queries || shape[len(shape)-1] != s.keys || !s.shapesAlone(m.value) {
		return false
	}
	x := s.tensor(m.value)
	if x == nil {
		got, err := s.g.Eval(s.ctx, s.feed, m.value.Name())
		if err != nil {
			return false
		}
		if x, _ = got[m.value.Name()].(*tensor.Dense); x == nil {
			return false
		}
	}
	var hidden func(i int) bool
	if m.where || m.not {
		list, ok := x.Data().([]bool)
		if !ok {
			return false
		}
		hidden = func(i int) bool { return list[i] == m.where }
	} else {
		list, err := dtype.Float64s(x)
		if err != nil || slices.ContainsFunc(list, func(f float64) bool { return f != 0 && f > -1e4 }) {
			return false
		}
		hidden = func(i int) bool { return list[i] != 0 }
	}
	for i := range s.queries * s.keys {
		if hidden(i) != (i%s.keys > i/s.keys) {
			return false
		}
	}
	return true
}

// shapesAlone reports whether a value depends on no more than constants and the shapes of others.
func (s *speller) shapesAlone(v *nn.Value) bool {
	if v == nil || s.tensor(v) != nil {
		return v == nil || v.Param() == nil || v.Param().Role() == nn.Constant || hides(direct.Data(v.Param()))
	}
	n := v.Producer()
	return n != nil && len(n.Bodies()) == 0 && !n.Op().Random && (measures(n) || !slices.ContainsFunc(n.Inputs(), func(x *nn.Value) bool { return !s.shapesAlone(x) }))
}

// hides reports whether a tensor keeps scores as they are or hides them, and so is not learned.
func hides(d *tensor.Dense) bool {
	list, err := dtype.Float64s(d)
	return err == nil && !slices.ContainsFunc(list, func(x float64) bool { return x != 0 && x > -1e4 }) && slices.ContainsFunc(list, func(x float64) bool { return x != 0 })
}

// term returns the value that a mask adds to scores [batch, heads, queries, keys].
func (s *speller) term(e *nn.Edit, m mask) *nn.Value {
	v := m.value
	if at, shape := s.dims[m.at], s.dims[m.value]; len(at) == 3 && len(shape) == 3 && shape[0] == s.batch*s.heads && shape[0] > 1 {
		t := v.Type()
		if fixed(t.Shape[1]) && fixed(t.Shape[2]) {
			v = s.shaped(e, v, []int{-1, s.heads, t.Shape[1].Size, t.Shape[2].Size})
		} else {
			rest := s.named(e, e.Node(std.ShapeConfig{Start: 1}, v))
			all := s.named(e, e.Node(std.ConcatConfig{Axis: 0}, e.Ints(e.New("heads"), -1, s.heads), rest))
			v = s.named(e, e.Node(op.Plain("Reshape"), v, all))
		}
	}
	if !m.where && !m.not {
		return v
	}
	low, zero := e.Scalar(e.New("low"), s.scores, m.low), e.Scalar(e.New("zero"), s.scores, 0)
	if m.not {
		low, zero = zero, low
	}
	return s.named(e, e.Node(op.Plain("Where"), v, low, zero))
}

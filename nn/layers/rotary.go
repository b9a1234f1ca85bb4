package layers

import (
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

// rotary is a rotation of pairs of channels by an angle that grows with the position: position·base^(−2i/dim) for pair i.
type rotary struct {
	base        float64
	dim         int // the first channels, which are rotated
	rest        int // the others
	interleaved bool
	cos, sin    *nn.Value // of the angles, [positions, dim/2]
}

// rotation returns the rotation of queries and keys with a number of channels.
func (m Attention) rotation(e *nn.Edit, channels int) *rotary {
	dim := m.RotaryDim
	if dim == 0 {
		dim = channels
	}
	switch {
	case e.Err() != nil:
	case !(m.Rotary > 1) || math.IsInf(m.Rotary, 0): // NaN is refused, too
		e.Failf("Rotary is %g: want a base above 1", m.Rotary)
	case dim < 0 || dim > channels || dim%2 != 0:
		e.Failf("cannot rotate %d of the %d channels of a head: want an even number of them", dim, channels)
	}
	return &rotary{base: m.Rotary, dim: dim, rest: channels - dim, interleaved: m.Interleaved}
}

// frequencies returns the angles at position 1, in float32 as other implementations compute them.
func (r *rotary) frequencies() []float64 {
	f := make([]float64, r.dim/2)
	for i := range f {
		f[i] = float64(1 / float32(math.Pow(r.base, float64(2*i)/float64(r.dim))))
	}
	return f
}

// angles computes the tables for the positions of x, [batch, heads, positions, channels].
func (r *rotary) angles(e *nn.Edit, name string, x *nn.Value) {
	if e.Err() != nil {
		return
	}
	t := x.Type()
	frequencies := r.frequencies()
	if d := t.Shape[t.Rank()-2]; d.Known() && !d.Symbolic() {
		cos, sin := make([]float64, 0, d.Size*len(frequencies)), make([]float64, 0, d.Size*len(frequencies))
		for i := range d.Size {
			for _, f := range frequencies {
				angle := float64(float32(i) * float32(f))
				cos, sin = append(cos, math.Cos(angle)), append(sin, math.Sin(angle))
			}
		}
		r.cos, r.sin = floats(e, name+".cos", x, cos, d.Size, len(frequencies)), floats(e, name+".sin", x, sin, d.Size, len(frequencies))
		return
	}
	length := slice(e, name+".length", put(e, "", "Shape", nil, x), 0, t.Rank()-2, t.Rank()-1, 1)
	at := put(e, "", "Range", nil, constant(e, name+".first", []int64{0}), squeeze(e, "", length, 0), constant(e, name+".next", []int64{1}))
	if e.Err() != nil {
		return
	}
	at = put(e, "", "Cast", attrs{"to": int(t.DType)}, put(e, "", "Unsqueeze", nil, at, e.Ints(name+".axes", 1)))
	angles := put(e, name+".angles", "Mul", nil, at, floats(e, name+".frequencies", x, frequencies, 1, len(frequencies)))
	r.cos, r.sin = put(e, name+".cos", "Cos", nil, angles), put(e, name+".sin", "Sin", nil, angles)
}

// rotate rotates x, [batch, heads, positions, channels].
func (r *rotary) rotate(e *nn.Edit, name string, x *nn.Value) *nn.Value {
	r.angles(e, name, x)
	if e.Err() != nil {
		return nil
	}
	rank := x.Type().Rank()
	part := func(what string, from, to, step int) *nn.Value {
		return slice(e, name+"."+what, x, rank-1, from, to, step)
	}
	a, b := part("first", 0, r.dim/2, 1), part("second", r.dim/2, r.dim, 1)
	if r.interleaved {
		a, b = part("even", 0, r.dim, 2), part("odd", 1, r.dim, 2)
	}
	times := func(x, table *nn.Value) *nn.Value { return put(e, "", "Mul", nil, x, table) }
	y := []*nn.Value{
		put(e, "", "Sub", nil, times(a, r.cos), times(b, r.sin)),
		put(e, "", "Add", nil, times(b, r.cos), times(a, r.sin)),
	}
	axis := rank - 1
	if r.interleaved {
		for i := range y {
			y[i] = put(e, "", "Unsqueeze", nil, y[i], e.Ints(name+".axes", rank))
		}
		y = []*nn.Value{reshape(e, name+".pairs", put(e, "", "Concat", attrs{"axis": rank}, y...), append(make([]int, rank-1), r.dim)...)}
	}
	if r.rest > 0 {
		y = append(y, part("rest", r.dim, r.dim+r.rest, 1))
	}
	if len(y) == 1 {
		return y[0]
	}
	return put(e, name+".rotated", "Concat", attrs{"axis": axis}, y...)
}

// floats returns a tensor of the element type of x that is not trained.
func floats(e *nn.Edit, name string, x *nn.Value, data []float64, dims ...int) *nn.Value {
	if e.Err() != nil {
		return nil
	}
	d, err := dtype.FromFloats(x.Type().DType, data, dims...)
	if e.Fail(err); err != nil {
		return nil
	}
	v := e.Const(name, d)
	e.SetRole(v, nn.Constant)
	return v
}

package nn

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// count returns how many values a size has.
func (t *tracer) count() int { return len(t.points) }

func (t *tracer) fixed(n int) size { return slices.Repeat(size{n}, t.count()) }

// shape returns the shape of the site's value.
func (s *Site) shape() []size {
	if s.t.samples > 1 {
		return s.shapeOf(nil)
	}
	return s.shapeOf(s.Value())
}

// shapeOf returns the shape of v, the value of the site: from the nodes at all sample points or, if there is only one
// graph, from the symbols of v.
func (s *Site) shapeOf(v *Value) []size {
	first := s.at[0].Shape()
	list := make([]size, len(first))
	for k := range list {
		if len(s.at) > 1 {
			for _, n := range s.at {
				if len(n.Shape()) != len(first) {
					s.Failf("the rank depends on a symbol")
					return nil
				}
				list[k] = append(list[k], n.Shape()[k])
			}
			continue
		}
		list[k] = s.t.fixed(first[k])
		if v != nil && v.typ.Kind == op.Tensor && k < len(v.typ.Shape) {
			if d, ok := s.t.eval(v.typ.Shape[k]); ok {
				list[k] = d
			}
		}
	}
	return list
}

// eval returns a dimension at each sample point.
func (t *tracer) eval(d op.Dim) (size, bool) {
	if d.Sym == "" {
		return t.fixed(d.Size), d.Known()
	}
	out := make(size, t.count())
	for i, p := range t.points {
		n, err := d.Eval(p)
		if err != nil {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

// sizes returns a field that is a slice of integers, each of which may depend on symbols.
func (s *Site) sizes(field string) []size {
	rows := make([][]int, len(s.at))
	for k := range s.at {
		rows[k] = numbers(s.field(k, field))
	}
	return s.transpose(rows)
}

// transpose converts numbers listed by graph to sizes.
func (s *Site) transpose(rows [][]int) []size {
	list := make([]size, len(rows[0]))
	for i := range list {
		for _, r := range rows {
			if len(r) != len(list) {
				s.Failf("the number of dimensions depends on a symbol")
				return nil
			}
			list[i] = append(list[i], r[i])
		}
		if len(rows) == 1 {
			list[i] = s.t.fixed(rows[0][i])
		}
	}
	return list
}

// vector returns an int64 vector of sizes: a constant, or computed from shapes.
func (s *Site) vector(list []size) *Value {
	if s.t.e.err != nil {
		return nil
	}
	var parts []*Value
	var run []int
	flush := func() {
		parts = append(parts, s.t.e.Ints("const_"+fmt.Sprint(s.t.consts), run...))
		s.t.consts++
		run = nil
	}
	for _, d := range list {
		if d.constant() {
			run = append(run, d[0])
			continue
		}
		if len(run) > 0 {
			flush()
		}
		parts = append(parts, s.length(d))
	}
	if len(run) > 0 || len(list) == 0 {
		flush()
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return s.Node(std.ConcatConfig{Axis: 0}, parts...)
}

// length returns a size as a vector of one element, read from the shape of a value with that dimension or computed from
// the sizes of inputs.
func (s *Site) length(d size) *Value {
	key := fmt.Sprint([]int(d))
	if v := s.t.lengths[key]; v != nil {
		return v
	}
	v := s.measure(d)
	if v == nil {
		v = s.calculate(d)
	}
	if v == nil {
		s.Failf("the number %s cannot be computed from the shapes of inputs", s.sizeText(d))
		return nil
	}
	s.t.lengths[key] = v
	return v
}

func (s *Site) sizeText(d size) string {
	text := ""
	for i, n := range d {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d at %s", n, sizeText(s.t.points[i]))
	}
	return text
}

// measure finds a value with a dimension of that size.
func (s *Site) measure(d size) *Value {
	for _, src := range s.t.sources {
		for k, x := range src.shape {
			if slices.Equal(x, d) {
				return s.Node(std.GatherConfig{}, s.shapeNode(src.v), s.vector([]size{s.t.fixed(k)}))
			}
		}
	}
	return nil
}

func (s *Site) shapeNode(v *Value) *Value {
	if s.t.shapes[v] == nil {
		s.t.shapes[v] = s.Node(std.ShapeConfig{}, v)
	}
	return s.t.shapes[v]
}

// calculate tries a·x+b, x/a and a·x·y for the known sizes x and y.
func (s *Site) calculate(d size) *Value {
	var list []size
	for _, src := range s.t.sources {
		for _, x := range src.shape {
			if !slices.ContainsFunc(list, func(y size) bool { return slices.Equal(x, y) }) {
				list = append(list, x)
			}
		}
	}
	for _, x := range list {
		if a, b, ok := line(x, d); ok {
			return s.plus(s.times(s.length(x), a), b)
		}
		if a, ok := ratio(x, d); ok {
			return s.Node(op.Plain("Div"), s.length(x), s.vector([]size{s.t.fixed(a)}))
		}
	}
	for i, x := range list {
		for _, y := range list[i:] {
			if a, ok := ratio(d, product(x, y)); ok {
				return s.times(s.Node(op.Plain("Mul"), s.length(x), s.length(y)), a)
			}
		}
	}
	return nil
}

func (s *Site) times(v *Value, a int) *Value {
	if a == 1 {
		return v
	}
	return s.Node(op.Plain("Mul"), v, s.vector([]size{s.t.fixed(a)}))
}

func (s *Site) plus(v *Value, b int) *Value {
	if b == 0 {
		return v
	}
	return s.Node(op.Plain("Add"), v, s.vector([]size{s.t.fixed(b)}))
}

// line finds d = a·x + b in integers.
func line(x, d size) (a, b int, ok bool) {
	for i := range x {
		if x[i] != x[0] {
			if (d[i]-d[0])%(x[i]-x[0]) != 0 {
				return 0, 0, false
			}
			a = (d[i] - d[0]) / (x[i] - x[0])
			break
		}
	}
	b = d[0] - a*x[0]
	for i := range x {
		if d[i] != a*x[i]+b {
			return 0, 0, false
		}
	}
	return a, b, a != 0
}

// ratio finds x = a·d.
func ratio(x, d size) (a int, ok bool) {
	if d[0] == 0 || x[0]%d[0] != 0 {
		return 0, false
	}
	a = x[0] / d[0]
	for i := range x {
		if x[i] != a*d[i] {
			return 0, false
		}
	}
	return a, a != 0
}

func product(list ...size) size {
	p := slices.Repeat(size{1}, len(list[0]))
	for _, d := range list {
		for i := range p {
			p[i] *= d[i]
		}
	}
	return p
}

func total(shape []size, count int) size {
	return product(append([]size{slices.Repeat(size{1}, count)}, shape...)...)
}

func sameShapes(a, b []size) bool {
	return slices.EqualFunc(a, b, func(x, y size) bool { return slices.Equal(x, y) })
}

// reshape changes the shape of v from from to to. Dimensions that depend on symbols become 0 (the input's dimension) or
// −1, or are computed from shapes.
func (s *Site) reshape(v *Value, from, to []size) *Value {
	if s.t.e.err != nil || sameShapes(from, to) {
		return v
	}
	if !slices.Equal(total(from, s.t.count()), total(to, s.t.count())) {
		s.Failf("reshapes a tensor to another number of elements: %s and %s", s.sizeText(total(from, s.t.count())), s.sizeText(total(to, s.t.count())))
		return nil
	}
	return s.Node(op.Plain("Reshape"), v, s.target(from, to))
}

// target returns the second input of a Reshape.
func (s *Site) target(from, to []size) *Value {
	if s.t.e.err != nil {
		return nil
	}
	to = slices.Clone(to)
	zero := slices.ContainsFunc(to, func(d size) bool { return d.is(0) })
	open := -1
	for k, d := range to {
		switch {
		case d.constant() || zero:
		case k < len(from) && slices.Equal(from[k], d):
			to[k] = s.t.fixed(0)
		case open < 0:
			open = k
		}
	}
	if open >= 0 {
		to[open] = s.t.fixed(-1)
	}
	return s.vector(to)
}

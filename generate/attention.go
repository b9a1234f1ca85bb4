package generate

import (
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/op/trait"
)

// attention is softmax(scale·Q·Kᵀ + masks)·V between linear layers, written in several nodes.
type attention struct {
	scale          float64
	masks          []mask
	q, k, v        factor
	scores         *nn.Value // Q·Kᵀ
	weights, mixed factor    // the attention weights, and their product with V
	joined         *nn.Value // the concatenated heads, input of the last layer
	output         *layer
	dropout        float64    // of the weights, in training
	shown          *nn.Value  // the weights, if others read them, too
	last           *nn.Node   // that the last layer ends in
	nodes          []*nn.Node // all of them
}

// factor is a stack of matrices: of heads.
type factor struct {
	v      *nn.Value
	axes   []int     // of v: those of the stack, rows and columns; −1: it is repeated along one that it lacks
	rows   *nn.Value // result of a linear layer that contains the elements of v
	scale  float64   // of the elements
	turned bool      // elements are combined with others on the way, as a rotation does
	layer  *layer    // the layer that computes rows
	nodes  []*nn.Node
}

// inOrder returns the axes of a factor, rows before columns; those of keys are turned.
func (f *factor) inOrder(keys bool) []int {
	axes := slices.Clone(f.axes)
	if n := len(axes); keys {
		axes[n-2], axes[n-1] = axes[n-1], axes[n-2]
	}
	return axes
}

// mask is a mask of the scores.
type mask struct {
	value *nn.Value // a term; or a condition
	low   float64   // of a condition: the number that takes the place of a score
	where bool      // it is a condition: low where it holds
	not   bool      // it is a condition: low where it does not hold
	at    *nn.Value // the scores that it changes
}

// attentionOf returns the attention that a softmax belongs to; nil if it is not exactly an attention between linear layers.
func (r *reader) attentionOf(n *nn.Node) *attention {
	if c := attrs[std.SoftmaxConfig](n); !ofStandard(n, "Softmax") || c.Axis != nil && *c.Axis != -1 && *c.Axis != n.In(0).Type().Rank()-1 {
		return nil
	}
	a := &attention{scale: 1, nodes: []*nn.Node{n}}
	if !r.toScores(a, n.In(0), n) || !r.toOutput(a, n.Out(0)) {
		return nil
	}
	for i, f := range []*factor{&a.q, &a.k, &a.v} {
		if before := len(a.nodes); !r.source(f, &a.nodes) {
			if a.nodes = a.nodes[:before]; i == 2 || !r.rotated(f, &a.nodes) {
				return nil
			}
		}
		a.nodes = append(a.nodes, f.nodes...)
	}
	a.scale *= a.q.scale * a.k.scale
	if a.v.scale != 1 || r.leaves(a) {
		return nil
	}
	return a
}

// toScores traces the input of the softmax back to the product of queries and keys.
func (r *reader) toScores(a *attention, v *nn.Value, by *nn.Node) bool {
	n := v.Producer()
	if n == nil || len(readersOf(v)) != 1 {
		return false
	}
	a.nodes = append(a.nodes, n)
	if q, k, out, ok := matrices(n, nil); ok && r.tensor(q.v) == nil && r.tensor(k.v) == nil && inOrder(out) {
		a.q, a.k, a.scores = q, k, v
		return true
	}
	if x, s, ok := r.scaled(n); ok {
		a.scale *= s
		return r.toScores(a, x, n)
	}
	switch t := n.Traits(); {
	case t.Moves == trait.MovedInOrder && moves(n):
		return r.toScores(a, n.In(0), n)
	case a.scale != 1: // it would also scale the mask
		return false
	case t.Arithmetic == trait.Adds && len(n.Inputs()) == 2:
		for i := range 2 {
			b := *a
			b.nodes = slices.Clone(a.nodes)
			if r.tensor(n.In(i)) == nil && r.toScores(&b, n.In(i), n) {
				*a = b
				a.masks = append(a.masks, mask{value: n.In(1 - i), at: n.In(i)})
				return true
			}
		}
	case ofStandard(n, "Where"):
		for i := 1; i <= 2; i++ {
			if low, ok := r.number(n.In(i)); ok && low <= -1e4 && r.toScores(a, n.In(3-i), n) {
				a.masks = append(a.masks, mask{value: n.In(0), low: low, where: i == 1, not: i == 2, at: n.In(3 - i)})
				return true
			}
		}
	}
	return false
}

// toOutput follows the softmax through the product with the values to the linear layer after it.
func (r *reader) toOutput(a *attention, v *nn.Value) bool {
	for mixed := false; ; {
		n, others := r.toMix(v, mixed)
		if n == nil || others && (mixed || a.shown != nil) {
			return false
		}
		if others {
			a.shown = v
		}
		if l, last, nodes := r.projectionOf(v, n); mixed && l != nil {
			a.joined, a.output, a.last, a.nodes = v, l, last, append(a.nodes, nodes...)
			return true
		}
		a.nodes = append(a.nodes, n)
		if p, x, out, ok := matrices(n, v); ok && !mixed && r.tensor(x.v) == nil && inOrder(p.axes) {
			mixed = true
			a.weights, a.v, a.mixed = p, x, factor{v: n.Out(0), axes: out}
			v = n.Out(0)
			continue
		}
		if p, ok := r.drops(n, v); ok && !mixed && a.dropout == 0 && a.shown == nil {
			a.dropout, v = p, n.Out(0)
			continue
		}
		t := n.Traits()
		if !moves(n) || n.In(0) != v || !mixed && t.Moves != trait.MovedInOrder || len(n.Outputs()) != 1 {
			return false
		}
		v = n.Out(0)
	}
}

// toMix returns the reader of a value that leads to the last layer or, for weights, the product with
// the values. others reports whether there are other readers, or the value is an output of the model.
func (r *reader) toMix(v *nn.Value, mixed bool) (next *nn.Node, others bool) {
	users, output := readersOf(v), slices.Contains(r.g.Outputs(), v)
	if len(users) == 1 {
		return users[0], output
	}
	if mixed {
		return nil, false
	}
	for _, n := range users {
		if _, x, _, ok := matrices(n, v); ok && r.tensor(x.v) == nil {
			if next != nil {
				return nil, false
			}
			next = n
		}
	}
	return next, true
}

// drops returns the probability of a Dropout of v whose mask is not used.
func (r *reader) drops(n *nn.Node, v *nn.Value) (p float64, ok bool) {
	if !ofStandard(n, "Dropout") || n.In(0) != v || n.In(2) != nil || !alone(n, r.g.Outputs()) {
		return 0, false
	}
	p = 0.5
	if n.In(1) != nil {
		if p, ok = r.number(n.In(1)); !ok {
			return 0, false
		}
	}
	return p, p > 0 && p < 1
}

// readersOf returns the nodes that read the elements of a value rather than its shape.
func readersOf(v *nn.Value) []*nn.Node {
	return slices.DeleteFunc(slices.Clone(v.Users()), measures)
}

// measures reports whether a node reads only the shape of its input.
func measures(n *nn.Node) bool { return ofStandard(n, "Shape") }

// leaves reports whether nodes outside read intermediate values of the attention.
func (r *reader) leaves(a *attention) bool {
	inside := map[*nn.Node]bool{}
	for _, n := range a.nodes {
		inside[n] = true
	}
	var stays func(v *nn.Value) bool
	stays = func(v *nn.Value) bool {
		return !slices.Contains(r.g.Outputs(), v) && !slices.ContainsFunc(v.Users(), func(u *nn.Node) bool {
			return !inside[u] && !r.constant(u) && (v.Type().DType.IsFloat() && !measures(u) && !moves(u) || slices.ContainsFunc(u.Outputs(), func(y *nn.Value) bool { return y != nil && !stays(y) }))
		})
	}
	for _, n := range a.nodes {
		if a.shown != nil && n == a.shown.Producer() {
			continue // it is an output of the layer
		}
		if n != a.last && slices.ContainsFunc(n.Outputs(), func(v *nn.Value) bool { return v != nil && !stays(v) }) {
			return true
		}
	}
	return false
}

// inOrder reports whether axes are those of the value, in order.
func inOrder(axes []int) bool {
	for i, k := range axes {
		if i != k {
			return false
		}
	}
	return true
}

// matrices returns the factors of a product of stacks of matrices, and the axes of the result. The
// first factor is the one that has the rows of the product, or first, if that is given.
func matrices(n *nn.Node, first *nn.Value) (a, b factor, out []int, ok bool) {
	if len(n.Inputs()) != 2 || n.In(0) == nil || n.In(1) == nil || n.In(0) == n.In(1) {
		return a, b, nil, false
	}
	a, b = factor{v: n.In(0)}, factor{v: n.In(1)}
	switch {
	case ofStandard(n, "MatMul") && (first == nil || first == a.v):
		ra, rb := a.v.Type().Rank(), b.v.Type().Rank()
		rank := max(ra, rb)
		if min(ra, rb) < 2 || rank < 3 {
			return a, b, nil, false
		}
		for i := range rank {
			a.axes, b.axes, out = append(a.axes, max(i-rank+ra, -1)), append(b.axes, max(i-rank+rb, -1)), append(out, i)
		}
		return a, b, out, true
	case ofStandard(n, "Einsum"):
		left, to, found := strings.Cut(strings.ReplaceAll(attrs[std.EinsumConfig](n).Equation, " ", ""), "->")
		ta, tb, two := strings.Cut(left, ",")
		if !found || !two || strings.Contains(left, ".") || len(to) < 2 {
			return a, b, nil, false
		}
		if first == b.v || first == nil && !strings.Contains(ta, to[len(to)-2:len(to)-1]) {
			a, b, ta, tb = b, a, tb, ta
		}
		return labelled(a, b, ta, tb, to, first != nil)
	}
	return a, b, nil, false
}

// labelled assigns labels to the axes of a product's factors. The rows and columns are the last labels
// of the product or, with ofFirst, the rows are those of the first factor.
func labelled(a, b factor, ta, tb, to string, ofFirst bool) (_, _ factor, out []int, ok bool) {
	stack, row, column, between := to[:len(to)-2], to[len(to)-2:len(to)-1], to[len(to)-1:], ""
	for _, l := range ta {
		if s := string(l); strings.Contains(tb, s) && !strings.Contains(to, s) {
			between += s
		}
	}
	if ofFirst {
		if len(ta) < 2 {
			return a, b, nil, false
		}
		stack, row, column = ta[:len(ta)-2], ta[len(ta)-2:len(ta)-1], ""
		for _, l := range tb {
			if !strings.ContainsRune(ta, l) {
				column += string(l)
			}
		}
	}
	of := func(term, labels string) (axes []int) {
		for _, l := range labels {
			axes = append(axes, strings.IndexRune(term, l))
		}
		return axes
	}
	a.axes, b.axes, out = of(ta, stack+row+between), of(tb, stack+between+column), of(to, stack+row+column)
	count := func(axes []int) int {
		return len(axes) - len(slices.DeleteFunc(slices.Clone(axes), func(i int) bool { return i >= 0 }))
	}
	ok = len(between) == 1 && len(column) == 1 && count(a.axes) == len(ta) && count(b.axes) == len(tb) && count(out) == len(to) && len(to) == len(out) &&
		strings.Contains(ta, row) && strings.Contains(tb, column)
	return a, b, out, ok
}

// parent returns a name without its last part.
func parent(name string) string { return name[:max(strings.LastIndexByte(name, '.'), 0)] }

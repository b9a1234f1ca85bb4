package generate

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// rotation is the rotation of pairs of channels in an attention, by angles proportional to the position.
type rotation struct {
	base        float64
	dim         int // number of leading channels that are rotated
	interleaved bool
}

// mostRotating is the maximum number of nodes of a rotation.
const mostRotating = 64

// rotated traces a factor back through any operators to the only linear layer that it depends on. Their other inputs must
// depend only on constants and shapes, like the sines and cosines of a rotation. rotation checks the numbers later.
func (r *reader) rotated(f *factor, into *[]*nn.Node) bool {
	f.layer, f.rows, f.nodes, f.scale, f.turned = nil, nil, nil, 1, true
	var nodes []*nn.Node
	seen := map[*nn.Value]bool{}
	var back func(v *nn.Value) bool
	back = func(v *nn.Value) bool {
		if v == nil || seen[v] || r.given(v) {
			return true
		}
		seen[v] = true
		n := v.Producer()
		if n == nil || len(n.Bodies()) > 0 || n.Op().Random || len(nodes) > mostRotating {
			return false
		}
		if l, of := r.projection(n); l != nil {
			if f.layer == nil {
				f.layer, f.rows, f.nodes = l, v, of
			}
			return f.rows == v
		}
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
		return !slices.ContainsFunc(n.Inputs(), func(x *nn.Value) bool { return !back(x) })
	}
	if !back(f.v) || f.layer == nil {
		return false
	}
	*into = append(*into, nodes...)
	return true
}

// given reports whether a value depends only on constants, parameters and shapes.
func (r *reader) given(v *nn.Value) bool {
	if v == nil || r.tensor(v) != nil {
		return true
	}
	n := v.Producer()
	return n != nil && len(n.Bodies()) == 0 && !n.Op().Random && (measures(n) || !slices.ContainsFunc(n.Inputs(), func(x *nn.Value) bool { return !r.given(x) }))
}

// rotation finds the rotation of queries and keys: nil, true if there is none; false if the layer does not support it.
// It is measured on feeds, of which the longest are the most informative.
func (l *layout) rotation(r *reader, a *attention, feeds []nn.Feed) (*rotation, bool) {
	if !a.q.turned && !a.k.turned {
		return nil, true
	}
	if !a.q.turned || !a.k.turned {
		return nil, false
	}
	var found *rotation
	for _, feed := range feeds {
		for i, f := range []*factor{&a.q, &a.k} {
			x, y, ok := l.turning(r, a, i, f, feed)
			if !ok {
				return nil, false
			}
			if found == nil {
				if found = rotationOf(x, y, l.depth); found == nil {
					return nil, false
				}
			}
			if !found.holds(x, y, l.depth) {
				return nil, false
			}
		}
	}
	return found, found != nil
}

// turning returns the elements of the heads of a factor before and after its rotation, for random numbers, by matrix,
// position and channel.
func (l *layout) turning(r *reader, a *attention, i int, f *factor, feed nn.Feed) (before, after [][][]float64, ok bool) {
	got, err := r.g.Eval(r.ctx, feed, f.rows.Name(), a.scores.Name())
	if err != nil {
		return nil, nil, false
	}
	dims := [2][]int{}
	for k, v := range []*nn.Value{f.rows, a.scores} {
		d, ok := got[v.Name()].(*tensor.Dense)
		if !ok {
			return nil, nil, false
		}
		dims[k] = []int(d.Shape().Clone())
	}
	x, err := random(f.rows.Type().DType, dims[0], rand.New(rand.NewPCG(3, uint64(i))))
	if err != nil {
		return nil, nil, false
	}
	numbers := maps.Clone(feed)
	numbers[f.rows.Name()] = x
	if got, err = r.g.Eval(r.ctx, numbers, f.v.Name()); err != nil {
		return nil, nil, false
	}
	y, _ := got[f.v.Name()].(*tensor.Dense)
	rowsOf, err := dtype.Float64s(x)
	out, err2 := dtype.Float64s(y)
	if err != nil || err2 != nil {
		return nil, nil, false
	}
	stack := dims[1][:len(dims[1])-2]
	at, rows, depth := places([]int(y.Shape()), f.inOrder(i == 1), stack)
	channels := dims[0][len(dims[0])-1]
	if depth != l.depth || len(at) != len(l.headOf)*rows*depth || len(rowsOf) != l.batch*rows*channels {
		return nil, nil, false
	}
	for k, p := range at {
		g, t, j := k/(rows*depth), k/depth%rows, k%depth
		if t == 0 && j == 0 {
			before, after = append(before, make([][]float64, rows)), append(after, make([][]float64, rows))
		}
		row, head := l.orders[i].row(l.batchOf[g], t, l.batch, rows), l.headOf[g]
		if i == 1 {
			head /= l.heads / l.kvHeads
		}
		before[g][t] = append(before[g][t], rowsOf[row*channels+l.columns[i][head*depth+j]])
		after[g][t] = append(after[g][t], out[p])
	}
	return before, after, true
}

// rotationOf finds the rotation from x to y; it returns nil if it is not one with angles of a common base.
func rotationOf(x, y [][][]float64, depth int) *rotation {
	if len(x) == 0 || len(x[0]) < 2 {
		return nil
	}
	last := len(x[0]) - 1
	dim := 0
	for j := range depth {
		if x[0][last][j] != y[0][last][j] {
			dim = j + 1
		}
	}
	if dim += dim % 2; dim < 2 || dim > depth {
		return nil
	}
	for _, interleaved := range []bool{false, true} {
		for _, base := range bases(x[0][1], y[0][1], dim, interleaved) {
			if found := (&rotation{base, dim, interleaved}); found.holds(x, y, depth) {
				return found
			}
		}
	}
	return nil
}

// bases returns candidates for the base of the angles, rounded or not, from the angle of the second pair at position 1.
func bases(x, y []float64, dim int, interleaved bool) (list []float64) {
	if dim < 4 {
		return []float64{1e4}
	}
	i, k := (&rotation{dim: dim, interleaved: interleaved}).pair(1)
	angle := math.Atan2(x[i]*y[k]-x[k]*y[i], x[i]*y[i]+x[k]*y[k])
	if !(angle > 0) {
		return nil
	}
	base := math.Pow(angle, -float64(dim)/2)
	for _, digits := range []int{1, 2, 3, 4} {
		if b, err := strconv.ParseFloat(strconv.FormatFloat(base, 'e', digits-1, 64), 64); err == nil && b > 1 {
			list = append(list, b)
		}
	}
	return list
}

// pair returns the channels of pair i.
func (o *rotation) pair(i int) (first, second int) {
	if o.interleaved {
		return 2 * i, 2*i + 1
	}
	return i, i + o.dim/2
}

// holds reports whether y is the rotation of x.
func (o *rotation) holds(x, y [][][]float64, depth int) bool {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-4*(1+math.Abs(b)) }
	for g := range x {
		for t := range x[g] {
			a, b := x[g][t], y[g][t]
			for j := o.dim; j < depth; j++ {
				if a[j] != b[j] {
					return false
				}
			}
			for i := range o.dim / 2 {
				angle := float64(t) * math.Pow(o.base, -float64(2*i)/float64(o.dim))
				sin, cos := math.Sincos(angle)
				first, second := o.pair(i)
				if !near(b[first], a[first]*cos-a[second]*sin) || !near(b[second], a[second]*cos+a[first]*sin) {
					return false
				}
			}
		}
	}
	return true
}

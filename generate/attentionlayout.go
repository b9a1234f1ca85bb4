package generate

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// layout describes which elements of the linear layers make up the matrices of an attention. It is found by running numbered elements
// through the operators between the layers and the products.
type layout struct {
	batch, heads, kvHeads, depth int
	queries, keys                int
	batchOf, headOf              []int    // by the matrix of the stack
	orders                       [4]order // of queries, keys, values and the output
	columns                      [3][]int // of the layers of queries, keys and values: those of one head after the other
	dims                         map[*nn.Value][]int
}

// order is the order of the rows of a layer.
type order int

const (
	noOrder   order = iota
	batchRows       // [batch, rows]
	rowsBatch       // [rows, batch]
)

// shapes returns those, on inputs, of the values that attentions are made of.
func (r *reader) shapes(list []*attention, feed nn.Feed) (map[*nn.Value][]int, error) {
	dims := map[*nn.Value][]int{}
	var want []string
	for _, a := range list {
		values := []*nn.Value{a.scores, a.weights.v, a.mixed.v, a.joined, a.q.v, a.k.v, a.v.v, a.q.rows, a.k.rows, a.v.rows, a.last.Out(0)}
		for _, m := range a.masks {
			values = append(values, m.value, m.at)
		}
		for _, v := range values {
			if x := r.tensor(v); x != nil {
				dims[v] = slices.Clone([]int(x.Shape()))
			} else if dims[v] == nil {
				dims[v], want = []int{}, append(want, v.Name())
			}
		}
	}
	got, err := r.g.Eval(r.ctx, feed, want...)
	if err != nil {
		return nil, err
	}
	for v := range dims {
		if x, ok := got[v.Name()].(*tensor.Dense); ok {
			dims[v] = slices.Clone([]int(x.Shape()))
		}
	}
	return dims, nil
}

// layoutOf finds the layout of an attention; it returns nil if rows or channels are mixed in another way.
func (r *reader) layoutOf(a *attention, feed nn.Feed, dims map[*nn.Value][]int) *layout {
	l := &layout{dims: dims}
	numbers := nn.Feed{}
	for name, x := range feed {
		numbers[name] = x
	}
	for _, v := range []*nn.Value{a.q.rows, a.k.rows, a.v.rows, a.mixed.v} {
		if numbers[v.Name()] = numbered(v.Type().DType, l.dims[v]); numbers[v.Name()].(*tensor.Dense) == nil {
			return nil
		}
	}
	ends := []*nn.Value{a.q.v, a.k.v, a.v.v, a.joined}
	got, err := r.g.Eval(r.ctx, numbers, names(ends)...)
	if err != nil {
		return nil
	}
	var found [4][]float64
	for i, v := range ends {
		x, ok := got[v.Name()].(*tensor.Dense)
		if found[i], err = dtype.Float64s(x); !ok || err != nil {
			return nil
		}
	}
	stack := l.dims[a.scores][:len(l.dims[a.scores])-2]
	l.queries, l.keys = l.dims[a.scores][len(stack)], l.dims[a.scores][len(stack)+1]
	if !l.outputs(a, found[3]) {
		return nil
	}
	weights := l.dims[a.weights.v]
	if w := weights[len(weights)-2:]; w[0] != l.queries || w[1] != l.keys {
		return nil
	}
	for i, f := range []*factor{&a.q, &a.k, &a.v} {
		along := stack
		if i == 2 {
			along = weights[:len(weights)-2]
		}
		if l.orders[i] = l.input(i, f, along, found[i]); l.orders[i] == noOrder {
			return nil
		}
	}
	if l.sharing() {
		return l
	}
	return nil
}

func names(list []*nn.Value) (s []string) {
	for _, v := range list {
		s = append(s, v.Name())
	}
	return s
}

// numbered returns a tensor with consecutive numbers; nil if its type cannot represent all of them exactly.
func numbered(t dtype.DType, dims []int) *tensor.Dense {
	n, err := dtype.Count(dims)
	if most := map[dtype.DType]int{dtype.Float32: 1 << 23, dtype.Float64: 1 << 24}[t]; err != nil || n == 0 || n > most {
		return nil
	}
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(i)
	}
	d, err := dtype.FromFloats(t, list, dims...)
	if err != nil {
		return nil
	}
	return d
}

// places returns the positions in a tensor of the elements of a stack of matrices, by matrix, row and column.
func places(shape, axes, stack []int) (at []int, rows, columns int) {
	rows, columns = shape[axes[len(axes)-2]], shape[axes[len(axes)-1]]
	dims := append(slices.Clone(stack), rows, columns)
	strides := make([]int, len(shape))
	for i, n := len(shape)-1, 1; i >= 0; i-- {
		strides[i] = n
		n *= shape[i]
	}
	at = []int{0}
	for k, n := range dims {
		next := make([]int, 0, len(at)*n)
		for _, x := range at {
			for i := range n {
				if axes[k] >= 0 && shape[axes[k]] > 1 {
					next = append(next, x+i*strides[axes[k]])
				} else {
					next = append(next, x)
				}
			}
		}
		at = next
	}
	return at, rows, columns
}

// outputs determines the heads from the last layer, which reads their concatenation.
func (l *layout) outputs(a *attention, joined []float64) bool {
	shape := l.dims[a.mixed.v]
	stack := make([]int, len(shape)-2)
	for i := range stack {
		stack[i] = shape[a.mixed.axes[i]]
	}
	at, rows, depth := places(shape, a.mixed.axes, stack)
	matrices := len(at) / max(rows*depth, 1)
	channels := l.dims[a.joined][len(l.dims[a.joined])-1]
	if rows != l.queries || matrices*rows*depth != len(joined) || depth == 0 || channels%depth != 0 {
		return false
	}
	l.heads, l.depth, l.batch = channels/depth, depth, matrices*depth/channels
	from := make([]int, len(at))
	for i, x := range at {
		from[x] = i
	}
	rowOf := make([]int, matrices*rows) // by row of a matrix: the row that the last layer reads
	l.headOf, l.batchOf = make([]int, matrices), make([]int, matrices)
	for i, x := range joined {
		g, t, e := from[int(x)]/(rows*depth), from[int(x)]/depth%rows, from[int(x)]%depth
		row, h := i/channels, i%channels/depth
		if i%depth != e || e > 0 && (l.headOf[g] != h || rowOf[g*rows+t] != row) {
			return false
		}
		l.headOf[g], rowOf[g*rows+t] = h, row
	}
	l.orders[3] = batchRows
	if l.batch > 1 && rowOf[0] == 0 && rows > 1 && rowOf[1] != 1 {
		l.orders[3] = rowsBatch
	}
	for g := range matrices {
		l.batchOf[g] = rowOf[g*rows] / rows
		if l.orders[3] == rowsBatch {
			l.batchOf[g] = rowOf[g*rows]
		}
		for t := range rows {
			if rowOf[g*rows+t] != l.orders[3].row(l.batchOf[g], t, l.batch, rows) {
				return false
			}
		}
	}
	return true
}

// row returns the index of a row.
func (o order) row(b, t, batch, rows int) int {
	if o == rowsBatch {
		return t*batch + b
	}
	return b*rows + t
}

// input finds the columns of a layer for each head.
func (l *layout) input(i int, f *factor, stack []int, found []float64) order {
	at, rows, depth := places(l.dims[f.v], f.inOrder(i == 1), stack)
	want := l.keys
	if i == 0 {
		want = l.queries
	}
	if rows != want || depth != l.depth || len(at) != len(l.headOf)*rows*depth {
		return noOrder
	}
	channels := l.dims[f.rows][len(l.dims[f.rows])-1]
	columns := make([]int, l.heads*depth)
	o := noOrder
	for try := batchRows; try <= rowsBatch && o == noOrder; try++ {
		o = try
		for i := range columns {
			columns[i] = -1
		}
		for k, x := range at {
			g, t, j := k/(rows*depth), k/depth%rows, k%depth
			if f.turned && t > 0 {
				continue // the first position is not rotated
			}
			n := int(math.Round(found[x] / f.scale))
			c := &columns[l.headOf[g]*depth+j]
			if *c < 0 {
				*c = n % channels
			}
			if n/channels != try.row(l.batchOf[g], t, l.batch, rows) || n%channels != *c {
				o = noOrder
				break
			}
		}
	}
	l.columns[i] = columns
	return o
}

// sharing determines how many query heads share one head of keys and values.
func (l *layout) sharing() bool {
	same := func(i, a, b int) bool {
		return slices.Equal(l.columns[i][a*l.depth:][:l.depth], l.columns[i][b*l.depth:][:l.depth])
	}
	group := 1
	for group < l.heads && same(1, 0, group) && same(2, 0, group) {
		group++
	}
	if l.heads%group != 0 {
		return false
	}
	l.kvHeads = l.heads / group
	for i := 1; i <= 2; i++ {
		var list []int
		for h := range l.heads {
			if !same(i, h, h/group*group) {
				return false
			}
			if h%group == 0 {
				list = append(list, l.columns[i][h*l.depth:][:l.depth]...)
			}
		}
		l.columns[i] = list
	}
	return true
}

// stacked reports whether the matrices of a stack are ordered [batch, heads].
func (l *layout) stacked() bool {
	for g := range l.headOf {
		if l.headOf[g] != g%l.heads || l.batchOf[g] != g/l.heads {
			return false
		}
	}
	return true
}

// fixed reports whether a dimension has a fixed length.
func fixed(d op.Dim) bool { return d.Known() && !d.Symbolic() }

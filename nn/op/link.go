package op

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
)

// link is an operator on float32 elements that can run block by block, as part of a chain: its result
// has n elements, each of which depends on one element of each operand.
type link struct {
	n       int
	reads   []access // the operands
	inPlace []int    // operands in whose memory run may write
	run     func(dst []float32, in []operand)
}

// operand is what a link reads in a block: as many elements as the block has, or where one is set the
// same element everywhere.
type operand struct {
	elems []float32
	one   bool
}

// access says which element of kernel input slot belongs to element i of the result: number
// i/inner%count.
type access struct{ slot, inner, count int }

// whole says whether the input has the elements of the result.
func (a access) whole(n int) bool { return a.inner == 1 && a.count == n }

// accessOf is the access to an input of the given shape that broadcasts to shape out; false if its axes
// are repeated in between or in short runs.
func accessOf(slot int, shape, out []int) (access, bool) {
	a := access{slot, 1, 1}
	at := func(k int) int { // the length of axis k of out in shape
		if k -= len(out) - len(shape); k >= 0 {
			return shape[k]
		}
		return 1
	}
	k := len(out) - 1
	for ; k >= 0 && at(k) == 1; k-- {
		a.inner *= out[k]
	}
	for ; k >= 0 && at(k) == out[k]; k-- {
		a.count *= out[k]
	}
	for ; k >= 0; k-- {
		if at(k) != 1 {
			return a, false
		}
	}
	if a.count == 1 && count1(out) == 1 {
		a.inner = 1
	}
	return a, !a.steady() || a.inner >= shortRun
}

// steady says whether the same element belongs to several in a row, but not to all.
func (a access) steady() bool { return a.inner > 1 && a.count > 1 }

// shortRun is how many elements in a row belong to the same one at least, if it is not one alone.
const shortRun = 16

// repeats says whether the elements repeat in the same way in each block of a chain.
func (a access) repeats() bool { return a.inner == 1 && a.count > 1 && chainBlock%a.count == 0 }

// block is the operand for elements lo to hi of the result, which lie in one block and where a is steady
// belong to one element. buffer is for what repeats.
func (a access) block(src []float32, n, lo, hi int, buffer []float32) operand {
	at := lo / a.inner % a.count
	switch {
	case a.inner > 1 || a.count == 1 && n > 1:
		return operand{src[at : at+1], true}
	case at+hi-lo <= a.count:
		return operand{elems: src[at:][:hi-lo]}
	case a.repeats():
		return operand{elems: buffer[at:][:hi-lo]}
	}
	a.fill(buffer[:hi-lo], src, at)
	return operand{elems: buffer[:hi-lo]}
}

// fill sets buffer to what is read from number at on, again and again.
func (a access) fill(buffer, src []float32, at int) {
	for i := 0; i < len(buffer); at = 0 {
		i += copy(buffer[i:], src[at:a.count])
	}
}

// link of a function of single elements.
func (r pointwiseOp) link(c *Call) *link {
	f := r.of(c.Config).f32
	n := linkable(c)
	if f == nil || n == 0 {
		return nil
	}
	return &link{n, []access{{0, 1, n}}, []int{0}, func(dst []float32, in []operand) { f(nil, dst, in[0].elems) }}
}

// gradLink is link of its gradient.
func (r pointwiseOp) gradLink(c *Call) *link {
	f := r.of(c.Config.(pointwiseGrad).Of).g32
	n := linkable(c)
	if f == nil || n == 0 || c.Has(2) {
		return nil
	}
	l := &link{n, []access{{0, 1, n}}, []int{0}, func(dst []float32, in []operand) { f(nil, dst, in[0].elems, in[len(in)-1].elems) }}
	if c.Has(1) {
		l.reads = append(l.reads, access{1, 1, n})
	}
	return l
}

// link of an operator with two operands.
func (r binary) link(c *Call) *link {
	n := linkable(c)
	if n == 0 || r.result() || c.In[1].DType != dtype.Float32 {
		return nil
	}
	out := sizes(c.Out[0].Shape)
	shapes := [2][]Dim{}
	shapes[0], shapes[1] = operands(c)
	l := &link{n: n}
	for i, s := range shapes {
		a, ok := accessOf(i, sizes(s), out)
		if !ok {
			return nil
		}
		l.reads = append(l.reads, a)
		if a.whole(n) {
			l.inPlace = append(l.inPlace, i)
		}
	}
	p := r.pairs32()
	l.run = func(dst []float32, in []operand) {
		switch {
		case in[1].one:
			p.vs(dst, in[0].elems, in[1].elems[0])
		case in[0].one:
			p.sv(dst, in[0].elems[0], in[1].elems)
		default:
			p.vv(dst, in[0].elems, in[1].elems)
		}
	}
	return l
}

// linkable is the number of elements of a result of float32, 0 of what is none.
func linkable(c *Call) int {
	if c.In[0].DType != dtype.Float32 || c.Out[0].DType != dtype.Float32 || !c.Out[0].Static() {
		return 0
	}
	return count1(sizes(c.Out[0].Shape))
}

// mayOverwrite says whether the link may write in the memory of operand i.
func (l *link) mayOverwrite(i int) bool { return slices.Contains(l.inPlace, i) }

package loops

import "slices"

// Loop is a pattern: output 0 of the call is float32 and has N elements, each of which depends on one element of each
// operand. Kernels with this pattern are fused and run block by block.
type Loop struct {
	N       int      // elements of the result
	Reads   []Access // the operands
	InPlace []int    // operands whose memory Run may write to
	// Run computes len(dst) elements from the same elements of the operands. It runs in one goroutine.
	Run func(dst []float32, in []Block)

	fused *fused // several loops, instead of the fields above
}

// PatternName is "elementwise loop".
func (*Loop) PatternName() string { return "elementwise loop" }

// Block is an operand of a Loop, restricted to one block. Elems has as many elements as the block, or, if One is set, a
// single one that is used for all of them.
type Block struct {
	Elems []float32
	One   bool
}

// Access describes which element of kernel input Slot is used for element i of the result: number i/Inner%Count.
type Access struct{ Slot, Inner, Count int }

// Whole reports whether the input has n elements, the number of the result, which correspond to its elements one to one.
func (a Access) Whole(n int) bool { return a.Inner == 1 && a.Count == n }

// Broadcast returns the access to an input whose shape is broadcast to shape out. It reports false if no Loop can read
// the input so: it is repeated along an inner axis, or along the last axes in runs shorter than shortRun.
func Broadcast(slot int, shape, out []int) (Access, bool) {
	a := Access{slot, 1, 1}
	at := func(k int) int { // the length of axis k of out in shape
		if k -= len(out) - len(shape); k >= 0 {
			return shape[k]
		}
		return 1
	}
	k := len(out) - 1
	for ; k >= 0 && at(k) == 1; k-- {
		a.Inner *= out[k]
	}
	for ; k >= 0 && at(k) == out[k]; k-- {
		a.Count *= out[k]
	}
	for ; k >= 0; k-- {
		if at(k) != 1 {
			return a, false
		}
	}
	return a, !a.steady() || a.Inner >= shortRun
}

// steady reports whether one element is used for several consecutive results, but not for all.
func (a Access) steady() bool { return a.Inner > 1 && a.Count > 1 }

// shortRun is the smallest run of consecutive elements of the result for which one element of a broadcast input may be
// used.
const shortRun = 16

// repeats reports whether the elements repeat in the same way in each block.
func (a Access) repeats() bool { return a.Inner == 1 && a.Count > 1 && block%a.Count == 0 }

// block returns the operand for elements lo to hi of the result, which are in one block and, where a is steady,
// use one element. buffer is for repeated elements.
func (a Access) block(src []float32, n, lo, hi int, buffer []float32) Block {
	at := lo / a.Inner % a.Count
	switch {
	case a.Inner > 1 || a.Count == 1 && n > 1:
		return Block{src[at : at+1], true}
	case at+hi-lo <= a.Count:
		return Block{Elems: src[at:][:hi-lo]}
	case a.repeats():
		return Block{Elems: buffer[at:][:hi-lo]}
	}
	a.fill(buffer[:hi-lo], src, at)
	return Block{Elems: buffer[:hi-lo]}
}

// fill sets buffer to the elements from number at on, cyclically.
func (a Access) fill(buffer, src []float32, at int) {
	for i := 0; i < len(buffer); at = 0 {
		i += copy(buffer[i:], src[at:a.Count])
	}
}

// mayOverwrite reports whether the loop may write in the memory of operand i.
func (l *Loop) mayOverwrite(i int) bool { return slices.Contains(l.InPlace, i) }

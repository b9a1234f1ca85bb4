package reduce

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// ReduceOp names a reduction.
type ReduceOp uint8

const (
	ReduceSum   ReduceOp = iota // sum; 0 if empty
	ReduceMean                  // mean; NaN if empty
	ReduceMax                   // maximum; NaN if any element is; -Inf if empty
	ReduceMin                   // minimum; NaN if any element is; +Inf if empty
	ReduceProd                  // product; 1 if empty
	ReduceSumSq                 // sum of squares
	ReduceL1                    // sum of absolute values
)

// start returns the result of an empty reduction.
func start[T kernel.Float](op ReduceOp) T {
	switch op {
	case ReduceMax:
		return T(math.Inf(-1))
	case ReduceMin:
		return T(math.Inf(1))
	case ReduceProd:
		return 1
	}
	return 0
}

// Reduce reduces the middle dimension of x [outer, axis, inner] to dst [outer, inner].
func Reduce[T kernel.Float](p *kernel.Pool, op ReduceOp, outer, axis, inner int, dst, x []T) {
	dst, x = dst[:outer*inner], x[:outer*axis*inner]
	if len(dst) == 0 {
		return
	}
	if shards := min(p.Threads(), axis/manyRows, axis*inner/kernel.ElementGrain); outer == 1 && inner > columnBlock && shards > 1 && (op == ReduceSum || op == ReduceMean) {
		sumShards(p, shards, axis, inner, dst, x)
		if op == ReduceMean {
			elementwise.BinaryScalarInto(elementwise.OpDiv, dst, dst, T(axis))
		}
		return
	}
	if outer == 1 && inner > columnBlock && axis > 0 {
		// Few, long rows: divide the columns among threads.
		p.Range(kernel.CeilDiv(inner, columnBlock), max(1, kernel.ElementGrain/(columnBlock*axis)), func(lo, hi int) {
			lo, hi = lo*columnBlock, min(inner, hi*columnBlock)
			reduceRows(p, op, axis, dst[lo:hi], x[lo:], inner)
		})
		return
	}
	p.Range(outer, max(1, kernel.ElementGrain/max(1, axis*inner)), func(lo, hi int) {
		for o := lo; o < hi; o++ {
			if inner == 1 {
				dst[o] = reduceLong(p, op, x[o*axis:][:axis])
			} else {
				reduceRows(p, op, axis, dst[o*inner:][:inner], x[o*axis*inner:], inner)
			}
		}
	})
}

// columnBlock is the minimum number of columns per thread in a reduction of rows.
const columnBlock = 16

// manyRows is the minimum number of rows for which the cost of another partial sum is negligible.
const manyRows = 64

// sumShards sums the rows of x in shards, and then the partial sums. Each thread reads whole rows, often
// those that it has computed.
func sumShards[T kernel.Float](p *kernel.Pool, shards, rows, inner int, dst, x []T) {
	sums := kernel.Borrow[T]((shards - 1) * inner)
	defer kernel.GiveBack(sums)
	p.Run(shards, func(_, i int) {
		to := dst
		if i > 0 {
			to = (*sums)[(i-1)*inner:][:inner]
		}
		lo, hi := i*rows/shards, (i+1)*rows/shards
		reduceRows(p, ReduceSum, hi-lo, to, x[lo*inner:], inner)
	})
	for i := range shards - 1 {
		elementwise.BinaryInto(elementwise.OpAdd, dst, dst, (*sums)[i*inner:][:inner])
	}
}

// longRow is the number of elements that are reduced between checks whether the pool is stopped.
const longRow = kernel.LongRow

// reduceLong is reduceRow in parts.
func reduceLong[T kernel.Float](p *kernel.Pool, op ReduceOp, x []T) T {
	if len(x) <= longRow {
		return reduceRow(op, x)
	}
	part, join := op, op
	switch op {
	case ReduceMean:
		part, join = ReduceSum, ReduceSum
	case ReduceSumSq, ReduceL1:
		join = ReduceSum
	}
	var parts []T
	for at := 0; at < len(x); at += longRow {
		p.Check()
		parts = append(parts, reduceRow(part, x[at:min(at+longRow, len(x))]))
	}
	r := reduceRow(join, parts)
	if op == ReduceMean {
		r /= T(len(x))
	}
	return r
}

// reduceRow reduces one contiguous line.
func reduceRow[T kernel.Float](op ReduceOp, x []T) T {
	switch op {
	case ReduceSum:
		return vector.BlockSum(x)
	case ReduceMean:
		return vector.BlockSum(x) / T(len(x))
	case ReduceMax:
		return vector.Largest(x)
	case ReduceSumSq:
		return vector.BlockSumSq(x)
	case ReduceL1:
		return vector.BlockSumAbs(x)
	case ReduceMin:
		return vector.Smallest(x)
	}
	return vector.Product(x)
}

// reduceRows reduces rows of x with stride ld to one.
func reduceRows[T kernel.Float](p *kernel.Pool, op ReduceOp, rows int, dst, x []T, ld int) {
	for i := range dst {
		dst[i] = start[T](op)
	}
	often := max(1, kernel.LongRow/max(len(dst), 16)) // rows between checks
	for r := range rows {
		if r%often == often-1 {
			p.Check()
		}
		row := x[r*ld:][:len(dst)]
		switch op {
		case ReduceSum, ReduceMean:
			elementwise.BinaryInto(elementwise.OpAdd, dst, dst, row)
		case ReduceMax:
			elementwise.BinaryInto(elementwise.OpMax, dst, dst, row)
		case ReduceMin:
			elementwise.BinaryInto(elementwise.OpMin, dst, dst, row)
		case ReduceProd:
			elementwise.BinaryInto(elementwise.OpMul, dst, dst, row)
		case ReduceSumSq:
			for i, v := range row {
				dst[i] += v * v
			}
		case ReduceL1:
			for i, v := range row {
				dst[i] += max(v, -v)
			}
		}
	}
	if op == ReduceMean {
		elementwise.BinaryScalarInto(elementwise.OpDiv, dst, dst, T(rows))
	}
}

// ReduceAxes reduces the given axes (each at least 0 and below the rank, in any
// order) of x, which has the given shape. dst has the remaining dimensions in their
// order. scratch may be nil.
func ReduceAxes[T kernel.Float](p *kernel.Pool, op ReduceOp, shape, axes []int, dst, x []T, scratch func(n int) []T) {
	dims, gone := merge(shape, axes)
	// Mean, sum of squares and absolute values are not reductions of themselves:
	// the last stages are sums.
	count := 1
	for i, d := range dims {
		if gone[i] {
			count *= d
		}
	}
	stage := op
	if op == ReduceMean {
		stage = ReduceSum
	}
	if !slices.Contains(gone, true) { // one element each
		dims, gone = append(dims, 1), append(gone, true)
	}
	for {
		i := lastIndex(gone)
		rest := slices.Concat(dims[:i], dims[i+1:])
		left := slices.Concat(gone[:i], gone[i+1:])
		to := dst
		final := !slices.Contains(left, true)
		if !final {
			to = kernel.Take(scratch, size(rest))
		}
		Reduce(p, stage, size(dims[:i]), dims[i], size(dims[i+1:]), to, x)
		if final {
			if op == ReduceMean {
				n := size(rest)
				elementwise.BinaryScalar(p, elementwise.OpDiv, dst[:n], dst[:n], T(count))
			}
			return
		}
		if stage == ReduceSumSq || stage == ReduceL1 {
			stage = ReduceSum
		}
		x, dims, gone = to, rest, left
	}
}

// merge joins neighbouring dimensions that are both reduced or both kept.
func merge(shape, axes []int) (dims []int, gone []bool) {
	for d, n := range shape {
		g := slices.Contains(axes, d)
		if last := len(dims) - 1; last >= 0 && gone[last] == g {
			dims[last] *= n
			continue
		}
		dims, gone = append(dims, n), append(gone, g)
	}
	return dims, gone
}

func lastIndex(gone []bool) int {
	i := len(gone) - 1
	for !gone[i] {
		i--
	}
	return i
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

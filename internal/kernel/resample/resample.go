package resample

import (
	"unsafe"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// Resampling maps an axis of Old elements to New elements, each a weighted sum of old ones.
type Resampling[T kernel.Float] struct {
	Old, New int
	start    []int // the taps of new element j are number start[j] to start[j+1]
	index    []int // of an old element
	weight   []T
	rows     *rowResampling // for float32 where the elements of the axis are neighbours; nil: none
}

// Taps returns the old elements that new element j is the weighted sum of, and their weights.
type Taps func(j int) (index []int, weight []float64)

// Bytes returns at most how many bytes the resampling takes that has so many new elements and taps in total.
func Bytes[T kernel.Float](new, taps int) int64 {
	each := int64(8 + unsafe.Sizeof(T(0)))
	if kernel.SIMD && kernel.IsFloat32[T]() {
		each += 12 // rowResampling
	}
	return 8*int64(new+1) + each*int64(taps)
}

// checkEvery is the number of taps that are prepared between checks whether the pool is stopped.
const checkEvery = kernel.CheckEvery

// NewResampling returns the resampling with the given taps of all new elements; taps of weight 0 are dropped.
func NewResampling[T kernel.Float](p *kernel.Pool, old, new int, taps Taps) *Resampling[T] {
	pace, count := p.Pace(), 0
	for j := range new {
		pace.Did(1)
		index, _ := taps(j)
		count += len(index)
	}
	r := &Resampling[T]{Old: old, New: new, start: kernel.Uncleared[int](new + 1)[:1], index: kernel.Uncleared[int](count)[:0], weight: kernel.Uncleared[T](count)[:0]}
	r.start[0] = 0
	for j := range new {
		pace.Did(1)
		index, weight := taps(j)
		for k, w := range weight {
			pace.Did(4)
			if T(w) != 0 {
				r.index, r.weight = append(r.index, index[k]), append(r.weight, T(w))
			}
		}
		r.start = append(r.start, len(r.index))
	}
	if kernel.SIMD && kernel.IsFloat32[T]() {
		r.rows = newRowResampling(p, any(r).(*Resampling[float32]))
	}
	return r
}

// Back returns the transposed resampling, from New to Old elements, which computes the gradient.
func (r *Resampling[T]) Back(p *kernel.Pool) *Resampling[T] {
	pace := p.Pace()
	begin := kernel.Zeros[int](p, r.Old+1) // of the taps of each old element
	for _, i := range r.index {
		pace.Did(2)
		begin[i+1]++
	}
	at := kernel.Uncleared[int](r.Old)
	for i := range at {
		pace.Did(1)
		at[i] = begin[i]
		begin[i+1] += begin[i]
	}
	index, weight := kernel.Uncleared[int](len(r.index)), kernel.Uncleared[float64](len(r.index))
	for j := range r.New {
		for k := r.start[j]; k < r.start[j+1]; k++ {
			pace.Did(4)
			i := r.index[k]
			index[at[i]], weight[at[i]] = j, float64(r.weight[k])
			at[i]++
		}
	}
	return NewResampling[T](p, r.New, r.Old, func(i int) ([]int, []float64) {
		return index[begin[i]:begin[i+1]], weight[begin[i]:begin[i+1]]
	})
}

// Run resamples src [outer, Old, inner] to dst [outer, New, inner].
func (r *Resampling[T]) Run(p *kernel.Pool, outer, inner int, dst, src []T) {
	if len(dst) == 0 {
		return
	}
	if inner > 1 {
		work := inner * (1 + len(r.index)/r.New)
		p.Range(outer*r.New, max(1, kernel.ElementGrain/work), func(lo, hi int) {
			pace := p.Pace()
			for k := lo; k < hi; k++ {
				o, j := k/r.New, k%r.New
				r.element(&pace, j, dst[k*inner:][:inner], src[o*r.Old*inner:][:r.Old*inner])
			}
		})
		return
	}
	p.Range(outer, max(1, kernel.ElementGrain/(r.New+len(r.index))), func(lo, hi int) {
		d, s := dst[lo*r.New:hi*r.New], src[lo*r.Old:]
		if r.rows != nil {
			r.rows.run(p, hi-lo, kernel.Float32s(d), kernel.Float32s(s))
			return
		}
		for o := range hi - lo {
			r.row(p, d[o*r.New:][:r.New], s[o*r.Old:][:r.Old])
		}
	})
}

// element makes new element j, a row as long as dst.
func (r *Resampling[T]) element(pace *kernel.Pace, j int, dst, src []T) {
	index, weight := r.index[r.start[j]:r.start[j+1]], r.weight[r.start[j]:r.start[j+1]]
	row := func(k int) []T { return src[index[k]*len(dst):][:len(dst)] }
	switch len(index) {
	case 0:
		clear(dst)
		return
	case 1:
		elementwise.BinaryScalarInto(elementwise.OpMul, dst, row(0), weight[0])
		return
	}
	vector.Affine2(dst, row(0), row(1), weight[0], weight[1], 0)
	for k := 2; k < len(index); k++ {
		pace.Did(len(dst))
		vector.AddScaled(weight[k], row(k), dst)
	}
}

// row makes all new elements of a row.
func (r *Resampling[T]) row(p *kernel.Pool, dst, src []T) {
	pace := p.Pace()
	for j := range dst {
		var sum T
		for k, end := r.start[j], r.start[j+1]; k < end; {
			part := min(end, k+checkEvery)
			pace.Did(part - k)
			for ; k < part; k++ {
				sum += r.weight[k] * src[r.index[k]]
			}
		}
		dst[j] = sum
	}
}

// rowResampling holds the arguments of resampleRows for one row.
type rowResampling struct {
	old, new int
	reach    int     // number of elements read from the beginning of a row
	taps     []int64 // of each block
	base     []int64 // of each tap
	index    []int32 // of each lane of each tap
	weight   []float32
}

// newRowResampling returns nil if the elements of a tap are too far apart, or most lanes of the taps unused.
func newRowResampling(p *kernel.Pool, r *Resampling[float32]) *rowResampling {
	lanes := 8
	if kernel.AVX512 {
		lanes = 16
	}
	rows := &rowResampling{old: r.Old, new: r.New, taps: kernel.Uncleared[int64](kernel.CeilDiv(r.New, lanes))[:0]}
	pace, total := p.Pace(), 0
	for lo := 0; lo < r.New; lo += lanes {
		pace.Did(8 * lanes)
		hi, most := min(r.New, lo+lanes), 0
		for j := lo; j < hi; j++ {
			most = max(most, r.start[j+1]-r.start[j])
		}
		rows.taps, total = append(rows.taps, int64(most)), total+most
	}
	if total*lanes > 2*len(r.index)+checkEvery {
		return nil
	}
	rows.base, rows.index, rows.weight = kernel.Uncleared[int64](total)[:0], kernel.Zeros[int32](p, total*lanes), kernel.Zeros[float32](p, total*lanes)
	for block, most := range rows.taps {
		lo := block * lanes
		for t := range int(most) {
			pace.Did(8 * lanes)
			if !rows.tap(r, t, lo, min(r.New, lo+lanes), lanes) {
				return nil
			}
		}
	}
	return rows
}

// tap adds tap number t of new elements lo to hi; false if two registers do not hold all old elements.
func (rows *rowResampling) tap(r *Resampling[float32], t, lo, hi, lanes int) bool {
	first, last := r.Old, 0
	for j := lo; j < hi; j++ {
		if k := r.start[j] + t; k < r.start[j+1] {
			first, last = min(first, r.index[k]), max(last, r.index[k])
		}
	}
	at := len(rows.base) * lanes
	index, weight := rows.index[at:], rows.weight[at:]
	for j := lo; j < hi; j++ {
		if k := r.start[j] + t; k < r.start[j+1] {
			index[j-lo], weight[j-lo] = int32(r.index[k]-first), r.weight[k]
		}
	}
	rows.base, rows.reach = append(rows.base, int64(first)), max(rows.reach, first+2*lanes)
	return last-first < 2*lanes
}

// run resamples n rows of src. Registers read beyond the end of rows; at the end of src a copy is read instead.
func (rows *rowResampling) run(p *kernel.Pool, n int, dst, src []float32) {
	inside := n
	for inside > 0 && (inside-1)*rows.old+rows.reach > len(src) {
		inside--
	}
	rows.some(p, inside, dst, src)
	if inside == n {
		return
	}
	copied := kernel.Zeros[float32](p, (n-inside-1)*rows.old+rows.reach)
	kernel.Copy(p, copied, src[inside*rows.old:][:(n-inside)*rows.old])
	rows.some(p, n-inside, dst[inside*rows.new:], copied)
}

func (rows *rowResampling) some(p *kernel.Pool, n int, dst, src []float32) {
	switch work := max(rows.new, len(rows.index)); {
	case n == 0:
	case len(rows.base) == 0: // no new element has a tap
		kernel.Clear(p, dst[:n*rows.new])
	case work <= kernel.LongRow && n > max(1, kernel.LongRow/work):
		for some := max(1, kernel.LongRow/work); n > 0; {
			p.Check()
			rows.some(p, min(some, n), dst, src)
			if n -= some; n > 0 {
				dst, src = dst[some*rows.new:], src[some*rows.old:]
			}
		}
	case work <= kernel.LongRow:
		resampleRows(n, rows.new, rows.old, &rows.taps[0], &rows.base[0], &rows.index[0], &rows.weight[0], &src[0], &dst[0])
	default:
		lanes := len(rows.index) / len(rows.base)
		for r := range n {
			tap := 0
			step := max(1, kernel.LongRow/(work/rows.new)/lanes) * lanes
			for lo := 0; lo < rows.new; lo += step {
				p.Check()
				hi := min(rows.new, lo+step)
				taps := rows.taps[lo/lanes : kernel.CeilDiv(hi, lanes)]
				if tap < len(rows.base) {
					resampleRows(1, hi-lo, rows.old, &taps[0], &rows.base[tap], &rows.index[tap*lanes], &rows.weight[tap*lanes], &src[r*rows.old], &dst[r*rows.new+lo])
				} else {
					clear(dst[r*rows.new+lo:][:hi-lo])
				}
				for _, n := range taps {
					tap += int(n)
				}
			}
		}
	}
}

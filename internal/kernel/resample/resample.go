package resample

import (
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

// NewResampling returns the resampling with the given taps of all new elements; taps of weight 0 are dropped.
func NewResampling[T kernel.Float](old, new int, taps Taps) *Resampling[T] {
	r := &Resampling[T]{Old: old, New: new, start: make([]int, 1, new+1)}
	for j := range new {
		index, weight := taps(j)
		for k, w := range weight {
			if T(w) != 0 {
				r.index, r.weight = append(r.index, index[k]), append(r.weight, T(w))
			}
		}
		r.start = append(r.start, len(r.index))
	}
	if kernel.SIMD && kernel.IsFloat32[T]() {
		r.rows = newRowResampling(any(r).(*Resampling[float32]))
	}
	return r
}

// Back returns the transposed resampling, from New to Old elements, which computes the gradient.
func (r *Resampling[T]) Back() *Resampling[T] {
	index, weight := make([][]int, r.Old), make([][]float64, r.Old)
	for j := range r.New {
		for k := r.start[j]; k < r.start[j+1]; k++ {
			i := r.index[k]
			index[i], weight[i] = append(index[i], j), append(weight[i], float64(r.weight[k]))
		}
	}
	return NewResampling[T](r.New, r.Old, func(i int) ([]int, []float64) { return index[i], weight[i] })
}

// Run resamples src [outer, Old, inner] to dst [outer, New, inner].
func (r *Resampling[T]) Run(p *kernel.Pool, outer, inner int, dst, src []T) {
	if len(dst) == 0 {
		return
	}
	if inner > 1 {
		work := inner * (1 + len(r.index)/r.New)
		p.Range(outer*r.New, max(1, kernel.ElementGrain/work), func(lo, hi int) {
			for k := lo; k < hi; k++ {
				o, j := k/r.New, k%r.New
				r.element(j, dst[k*inner:][:inner], src[o*r.Old*inner:][:r.Old*inner])
			}
		})
		return
	}
	p.Range(outer, max(1, kernel.ElementGrain/(r.New+len(r.index))), func(lo, hi int) {
		d, s := dst[lo*r.New:hi*r.New], src[lo*r.Old:]
		if r.rows != nil {
			r.rows.run(hi-lo, kernel.Float32s(d), kernel.Float32s(s))
			return
		}
		for o := range hi - lo {
			r.row(d[o*r.New:][:r.New], s[o*r.Old:][:r.Old])
		}
	})
}

// element makes new element j, a row as long as dst.
func (r *Resampling[T]) element(j int, dst, src []T) {
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
		vector.AddScaled(weight[k], row(k), dst)
	}
}

// row makes all new elements of a row.
func (r *Resampling[T]) row(dst, src []T) {
	for j := range dst {
		var sum T
		for k := r.start[j]; k < r.start[j+1]; k++ {
			sum += r.weight[k] * src[r.index[k]]
		}
		dst[j] = sum
	}
}

// rowResampling is what resampleRows reads, for one row.
type rowResampling struct {
	old, new int
	reach    int     // how many elements from the begin of a row on are read
	taps     []int64 // of each block
	base     []int64 // of each tap
	index    []int32 // of each lane of each tap
	weight   []float32
}

// newRowResampling returns nil if the elements of a tap are too far apart.
func newRowResampling(r *Resampling[float32]) *rowResampling {
	lanes := 8
	if kernel.AVX512 {
		lanes = 16
	}
	rows := &rowResampling{old: r.Old, new: r.New}
	for lo := 0; lo < r.New; lo += lanes {
		hi, most := min(r.New, lo+lanes), 0
		for j := lo; j < hi; j++ {
			most = max(most, r.start[j+1]-r.start[j])
		}
		rows.taps = append(rows.taps, int64(most))
		for t := range most {
			if !rows.tap(r, t, lo, hi, lanes) {
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
	index, weight := make([]int32, lanes), make([]float32, lanes)
	for j := lo; j < hi; j++ {
		if k := r.start[j] + t; k < r.start[j+1] {
			index[j-lo], weight[j-lo] = int32(r.index[k]-first), r.weight[k]
		}
	}
	rows.base, rows.reach = append(rows.base, int64(first)), max(rows.reach, first+2*lanes)
	rows.index, rows.weight = append(rows.index, index...), append(rows.weight, weight...)
	return last-first < 2*lanes
}

// run resamples n rows of src. Registers read beyond the end of rows; at the end of src a copy is read instead.
func (rows *rowResampling) run(n int, dst, src []float32) {
	inside := n
	for inside > 0 && (inside-1)*rows.old+rows.reach > len(src) {
		inside--
	}
	rows.some(inside, dst, src)
	if inside == n {
		return
	}
	copied := make([]float32, (n-inside-1)*rows.old+rows.reach)
	copy(copied, src[inside*rows.old:][:(n-inside)*rows.old])
	rows.some(n-inside, dst[inside*rows.new:], copied)
}

func (rows *rowResampling) some(n int, dst, src []float32) {
	switch {
	case n == 0:
	case len(rows.base) == 0: // no new element has a tap
		clear(dst[:n*rows.new])
	default:
		resampleRows(n, rows.new, rows.old, &rows.taps[0], &rows.base[0], &rows.index[0], &rows.weight[0], &src[0], &dst[0])
	}
}

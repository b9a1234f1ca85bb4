package cli

import "image"

// resampler scales channels [c, h, w] bilinearly. Pixels are squares, whose values are at their centers, as in PyTorch's
// interpolate with align_corners=False; the values at the border continue outwards.
type resampler struct {
	v          []float64
	h, w       int
	rows, cols []tap
}

// tap is an element of one axis of the result: (1−t)·v[a] + t·v[b].
type tap struct {
	a, b int
	t    float64
}

// resampled scales v [c, h, w] to a size.
func resampled(v []float64, h, w int, size image.Point) resampler {
	return resampler{v, h, w, taps(h, size.Y), taps(w, size.X)}
}

func taps(from, to int) []tap {
	list := make([]tap, to)
	for i := range list {
		at := max(0, (float64(i)+0.5)*float64(from)/float64(to)-0.5)
		a := min(int(at), from-1)
		list[i] = tap{a, min(a+1, from-1), at - float64(a)}
	}
	return list
}

// at returns an element of the result.
func (r resampler) at(channel, y, x int) float64 {
	row, col := r.rows[y], r.cols[x]
	v := r.v[channel*r.h*r.w:]
	top := v[row.a*r.w+col.a]*(1-col.t) + v[row.a*r.w+col.b]*col.t
	if row.t == 0 {
		return top
	}
	low := v[row.b*r.w+col.a]*(1-col.t) + v[row.b*r.w+col.b]*col.t
	return top*(1-row.t) + low*row.t
}

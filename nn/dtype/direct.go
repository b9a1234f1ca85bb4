package dtype

import "gorgonia.org/tensor"

// direct converts between pairs of types that half-precision models convert all the time, without
// the way over float64, and says whether from and to are such a pair.
func direct(dst, src *tensor.Dense, to, from DType) bool {
	switch {
	case from == Float32 && to == Float16:
		each(dst, src, F16From)
	case from == Float16 && to == Float32:
		each(dst, src, F16.Float32)
	case from == Float32 && to == BFloat16:
		each(dst, src, BF16From)
	case from == BFloat16 && to == Float32:
		each(dst, src, BF16.Float32)
	case from == Float32 && to == Float64:
		each(dst, src, func(v float32) float64 { return float64(v) })
	case from == Float64 && to == Float32:
		each(dst, src, func(v float64) float32 { return float32(v) })
	case from == Bool && to == Float32:
		d := Slice[float32](dst)
		for i, v := range Bytes(src) {
			d[i] = float32(v)
		}
	case from == Int64 && to == Float32:
		each(dst, src, func(v int64) float32 { return float32(v) })
	case from == Int32 && to == Float32:
		each(dst, src, func(v int32) float32 { return float32(v) })
	case from == Complex64 && to == Complex128:
		each(dst, src, func(v complex64) complex128 { return complex128(v) })
	case from == Complex128 && to == Complex64:
		each(dst, src, func(v complex128) complex64 { return complex64(v) })
	default:
		return false
	}
	return true
}

func each[D, S any](dst, src *tensor.Dense, f func(S) D) {
	d := Slice[D](dst)
	for i, v := range Slice[S](src) {
		d[i] = f(v)
	}
}

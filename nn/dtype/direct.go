package dtype

import "gorgonia.org/tensor"

// direct converts between pairs of types that models convert all the time, without the way over float64 or int64, and reports whether from and to are such a pair.
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
		plain[float64, float32](dst, src)
	case from == Float64 && to == Float32:
		plain[float32, float64](dst, src)
	case from == Bool && to == Float32:
		d := Slice[float32](dst)
		for i, v := range Bytes(src) {
			d[i] = float32(v)
		}
	case from == Bool && to == Int64:
		d := Slice[int64](dst)
		for i, v := range Bytes(src) {
			d[i] = int64(v)
		}
	case from == Int64 && to == Float32:
		plain[float32, int64](dst, src)
	case from == Int32 && to == Float32:
		plain[float32, int32](dst, src)
	case from == Uint8 && to == Float32:
		plain[float32, uint8](dst, src)
	case from == Int64 && to == Int32:
		plain[int32, int64](dst, src)
	case from == Int32 && to == Int64:
		plain[int64, int32](dst, src)
	case from == Float32 && to == Int64:
		d := Slice[int64](dst)
		for i, v := range Slice[float32](src) {
			d[i] = Truncate(float64(v))
		}
	case from == Complex64 && to == Complex128:
		each(dst, src, func(v complex64) complex128 { return complex128(v) })
	case from == Complex128 && to == Complex64:
		each(dst, src, func(v complex128) complex64 { return complex64(v) })
	default:
		return false
	}
	return true
}

// plain converts as Go does.
func plain[D, S float32 | float64 | int32 | int64 | uint8](dst, src *tensor.Dense) {
	d := Slice[D](dst)
	for i, v := range Slice[S](src)[:len(d)] {
		d[i] = D(v)
	}
}

func each[D, S any](dst, src *tensor.Dense, f func(S) D) {
	d := Slice[D](dst)
	for i, v := range Slice[S](src) {
		d[i] = f(v)
	}
}

package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// powScalar is a to the power of b; it knows the exponents that networks use.
func powScalar[T kernel.Float](dst, a []T, b T) {
	switch b {
	case 2:
		elementwise.Mul(nil, dst, a, a)
	case 0.5:
		elementwise.Sqrt(nil, dst, a)
	case -1:
		elementwise.BinaryScalar(nil, elementwise.OpRDiv, dst, a, 1)
	case 3:
		buffer := kernel.Borrow[T](blockSize)
		defer kernel.GiveBack(buffer)
		for lo := 0; lo < len(dst); lo += blockSize {
			v := a[lo:min(lo+blockSize, len(a))]
			square := (*buffer)[:len(v)]
			elementwise.Mul(nil, square, v, v)
			elementwise.Mul(nil, dst[lo:][:len(v)], square, v)
		}
	case 1:
		copy(dst, a)
	default:
		elementwise.PowScalar(nil, dst, a, b)
	}
}

// powVectors returns a to the power of b.
func powVectors[T kernel.Float]() pair[T, T] {
	return pair[T, T]{
		vv: func(dst, a, b []T) { elementwise.Pow(nil, dst, a, b) },
		vs: powScalar[T],
		sv: alikeFirst(func(dst, a, b []T) { elementwise.Pow(nil, dst, a, b) }),
	}
}

// powByBase is b·a^(b−1), 0 where b is.
func powByBase[T kernel.Float]() pair[T, T] {
	vv := func(dst, a, b []T) {
		buffer := kernel.Borrow[T](blockSize)
		defer kernel.GiveBack(buffer)
		for lo := 0; lo < len(dst); lo += blockSize {
			t := (*buffer)[:min(blockSize, len(dst)-lo)]
			by := b[lo:][:len(t)]
			elementwise.BinaryScalar(nil, elementwise.OpAdd, t, by, -1)
			elementwise.Pow(nil, t, a[lo:][:len(t)], t)
			elementwise.Mul(nil, t, t, by)
			for i, v := range by {
				if v == 0 {
					t[i] = 0
				}
			}
			copy(dst[lo:], t)
		}
	}
	return pair[T, T]{
		vv: vv,
		vs: func(dst, a []T, b T) {
			if b == 0 {
				clear(dst)
				return
			}
			powScalar(dst, a, b-1)
			elementwise.Scale(nil, b, dst, dst)
		},
		sv: alikeFirst(vv),
	}
}

// powByExponent returns a^b·log(a), 0 where a is and b is not negative.
func powByExponent[T kernel.Float]() pair[T, T] {
	vv := func(dst, a, b []T) {
		buffer := kernel.Borrow[T](2 * blockSize)
		defer kernel.GiveBack(buffer)
		power, log := (*buffer)[:blockSize], (*buffer)[blockSize:]
		for lo := 0; lo < len(dst); lo += blockSize {
			n := min(blockSize, len(dst)-lo)
			base, by, p := a[lo:][:n], b[lo:][:n], power[:n]
			elementwise.Pow(nil, p, base, by)
			elementwise.Log(nil, log[:n], base)
			elementwise.Mul(nil, p, p, log[:n])
			for i, v := range base {
				if v == 0 && by[i] >= 0 {
					p[i] = 0
				}
			}
			copy(dst[lo:], p)
		}
	}
	return pair[T, T]{vv: vv, vs: alikeSecond(vv), sv: alikeFirst(vv)}
}

// fmodVectors returns the remainder of a/b.
func fmodVectors[T kernel.Float]() pair[T, T] {
	vv := func(dst, a, b []T) { elementwise.Fmod(nil, dst, a, b) }
	return pair[T, T]{
		vv: vv,
		vs: func(dst, a []T, b T) { elementwise.FmodScalar(nil, dst, a, b) },
		sv: alikeFirst(vv),
	}
}

// alikeFirst is f for a first operand that is the same everywhere.
func alikeFirst[T kernel.Float](f func(dst, a, b []T)) func(dst []T, a T, b []T) {
	return func(dst []T, a T, b []T) {
		buffer := kernel.Borrow[T](blockSize)
		defer kernel.GiveBack(buffer)
		many := (*buffer)[:blockSize]
		for lo := 0; lo < len(dst); lo += blockSize {
			n := min(blockSize, len(dst)-lo)
			elementwise.Fill(nil, many[:n], a)
			f(dst[lo:][:n], many[:n], b[lo:][:n])
		}
	}
}

// alikeSecond is f for a second operand that is the same everywhere.
func alikeSecond[T kernel.Float](f func(dst, a, b []T)) func(dst, a []T, b T) {
	of := alikeFirst(func(dst, b, a []T) { f(dst, a, b) })
	return func(dst, a []T, b T) { of(dst, b, a) }
}

package optim

// The functions below do the first elements of an update with vector
// instructions and return how many that were, 0 where there are none for F or
// for this machine. Their results have the bits of the Go loops.

func sgdVector[F float](w, g, b []F, lr, decay, momentum, take F) int {
	x, ok := any(&w).(*[]float32)
	n := len(w) &^ 7
	if !simd || !ok || n == 0 {
		return 0
	}
	k := [4]float32{float32(lr), float32(decay), float32(momentum), float32(take)}
	sgdVec(n, &(*x)[0], first(&g), first(&b), &k)
	return n
}

func adamVector[F float](w, g, m, v []F, k [9]F) int {
	x, ok := any(&w).(*[]float32)
	n := len(w) &^ 7
	if !simd || !ok || n == 0 {
		return 0
	}
	var f [9]float32
	for i, c := range k {
		f[i] = float32(c)
	}
	adamVec(n, &(*x)[0], first(&g), first(&m), first(&v), &f)
	return n
}

// first is the address of the first of some float32.
func first[F float](v *[]F) *float32 { return &(*any(v).(*[]float32))[0] }

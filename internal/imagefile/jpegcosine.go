package imagefile

// Numbers with 13 bits after the point, as the transform of Loeffler, Ligtenberg and Moschytz
// needs them.
const (
	c0298 = 2446
	c0390 = 3196
	c0541 = 4433
	c0765 = 6270
	c0899 = 7373
	c1175 = 9633
	c1501 = 12299
	c1847 = 15137
	c1961 = 16069
	c2053 = 16819
	c2562 = 20995
	c3072 = 25172
)

// inverseCosine writes the samples of a block of coefficients, in the integers and with the
// roundings of libjpeg's accurate transform.
func inverseCosine(c *[64]int32, out []uint8, stride int) {
	for x := range 8 {
		cosine8(c[x:], 8, 11)
	}
	for y := range 8 {
		cosine8(c[8*y:], 1, 18)
		for x := range 8 {
			out[y*stride+x] = clamp(int(c[8*y+x]) + 128)
		}
	}
}

// cosine8 transforms eight numbers with stride step and shifts the results.
func cosine8(v []int32, step int, shift uint) {
	at := func(i int) int32 { return v[i*step] }
	z := (at(2) + at(6)) * c0541
	t2, t3 := z-at(6)*c1847, z+at(2)*c0765
	t0, t1 := (at(0)+at(4))<<13, (at(0)-at(4))<<13
	even := [4]int32{t0 + t3, t1 + t2, t1 - t2, t0 - t3}

	a, b, c, d := at(7), at(5), at(3), at(1)
	z1, z2, z3, z4 := a+d, b+c, a+c, b+d
	z5 := (z3 + z4) * c1175
	z1, z2, z3, z4 = -z1*c0899, -z2*c2562, z5-z3*c1961, z5-z4*c0390
	odd := [4]int32{d*c1501 + z1 + z4, c*c3072 + z2 + z3, b*c2053 + z2 + z4, a*c0298 + z1 + z3}
	half := int32(1) << (shift - 1)
	for i, e := range even {
		v[i*step] = (e + odd[i] + half) >> shift
		v[(7-i)*step] = (e - odd[i] + half) >> shift
	}
}

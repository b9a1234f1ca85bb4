package data

import "math/rand/v2"

// Order returns the order of n samples in an epoch: a permutation of 0 … n−1 that depends only on the arguments.
func Order(n int, seed uint64, epoch int) []int {
	return rand.New(rand.NewPCG(mix(seed, uint64(epoch)), order)).Perm(n)
}

// Rand returns the source of randomness for sample i of an epoch.
func Rand(seed uint64, epoch, i int) *rand.Rand {
	e := mix(seed, uint64(epoch))
	return rand.New(rand.NewPCG(e, mix(e^sample, uint64(i))))
}

// Constants that separate two streams of random numbers.
const (
	order  = 0x6f72646572
	sample = 0x73616d706c65
)

// mix hashes two numbers to one (the finalizer of SplitMix64), so that
// neighbouring seeds, epochs and indices start far apart.
func mix(a, b uint64) uint64 {
	z := a + (b+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

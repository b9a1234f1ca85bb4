package kernel

import (
	"bytes"
	"testing"
)

// TestCopyOfUnequalLengths: Copy copies as many elements as both slices have, in parts too.
func TestCopyOfUnequalLengths(t *testing.T) {
	for _, n := range []int{3, CopyPart - 1, CopyPart + 1} {
		for _, more := range []int{-2, 0, 5} {
			src, got, want := bytes.Repeat([]byte{7, 1, 2}, n)[:n], make([]byte, n+more), make([]byte, n+more)
			Copy(nil, got, src)
			copy(want, src)
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes into %d differ", n, n+more)
			}
		}
	}
}

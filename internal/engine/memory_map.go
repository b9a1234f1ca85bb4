//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package engine

import (
	"syscall"

	"github.com/graft-ml/graft/internal/budget"
)

// mapBytes asks the system for n zeroed bytes, and returns nil if it refuses. Pages take no memory before they are
// accessed.
func mapBytes(n int64) []byte {
	if n != int64(int(n)) {
		return nil
	}
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	budget.Outside(n)
	preferHugePages(b)
	return b
}

func unmapBytes(b []byte) {
	_ = syscall.Munmap(b) // fails only for what mapBytes did not return
	budget.Outside(-int64(len(b)))
}

//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package engine

// mapBytes and unmapBytes leave all memory to Go.
func mapBytes(int64) []byte { return nil }

func unmapBytes([]byte) {}

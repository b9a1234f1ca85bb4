//go:build !linux

package engine

// preferHugePages leaves the size of pages to the system.
func preferHugePages([]byte) {}

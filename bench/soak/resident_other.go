//go:build !linux

package main

import "runtime/metrics"

// resident returns the memory that Go has obtained from the system, in bytes, without memory outside of its heap.
func resident() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

package main

import (
	"fmt"
	"os"
)

// resident returns the memory that the process has, in bytes.
func resident() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var total, pages int64
	if _, err := fmt.Sscan(string(b), &total, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

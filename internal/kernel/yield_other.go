//go:build !linux

package kernel

import "runtime"

// yield lets others run.
func yield() { runtime.Gosched() }

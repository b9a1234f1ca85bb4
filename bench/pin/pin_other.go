//go:build !linux

// Package pin keeps threads on processors of their own, on Linux only.
package pin

import "github.com/graft-ml/graft/internal/kernel"

// Threads does nothing here.
func Threads(*kernel.Pool) {}

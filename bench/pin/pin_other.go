//go:build !linux

// Package pin binds threads to separate processors, on Linux only.
package pin

import "github.com/graft-ml/graft/internal/kernel"

// Threads does nothing here.
func Threads(*kernel.Pool) {}

// Package goroutine numbers goroutines, for locks that a goroutine must not take twice.
package goroutine

import (
	"runtime"

	"github.com/petermattis/goid"
)

// ID returns the number of the calling goroutine, which is positive. Package goid reads it where it knows the layout of Go's runtime;
// it is parsed from a stack trace where that does not give the same.
var ID = func() func() int64 {
	if goid.Get() != traced() {
		return traced
	}
	return goid.Get
}()

func traced() int64 {
	var text [64]byte
	return goid.ExtractGID(text[:runtime.Stack(text[:], false)])
}

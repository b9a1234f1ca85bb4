//go:build unix

package onnxio

import (
	"syscall"
	"testing"
	"time"
)

// spent returns the processor time of the process: that of the clock depends on what else the machine does.
func spent(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

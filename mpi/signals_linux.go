package mpi

import (
	"syscall"
	"unsafe"
)

// handlers are the dispositions of all signals, as the kernel describes them.
type handlers [65]kernelAction

// A kernelAction has the size of struct kernel_sigaction: a handler, flags, a restorer and a mask of 64 signals.
type kernelAction [4]uint64

// maskBytes is the size of the kernel's mask.
const maskBytes = 8

// signalHandlers reads the dispositions. It asks the kernel, not the C library: communication libraries replace the
// functions of the latter.
func signalHandlers() *handlers {
	h := new(handlers)
	for signal := range h[1:] {
		h[signal+1] = sigaction(signal+1, nil)
	}
	return h
}

// restore restores the handlers that have changed since. Signals without a handler are not changed:
// the C library uses some itself.
func (h *handlers) restore() {
	for signal, action := range h {
		if action[0] != 0 && sigaction(signal, nil) != action {
			sigaction(signal, &action)
		}
	}
}

func sigaction(signal int, set *kernelAction) (was kernelAction) {
	// Signals that cannot have a handler, such as SIGKILL, give an error and remain zero.
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(&was)), maskBytes, 0, 0)
	return was
}

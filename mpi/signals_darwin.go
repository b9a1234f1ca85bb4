package mpi

import "github.com/ebitengine/purego"

// handlers are the dispositions of all signals.
type handlers [32]action

// An action is struct sigaction: a handler, a mask and flags.
type action struct {
	handler     uintptr
	mask, flags int32
}

var libcSigaction func(signal int32, set, was *action) int32

// signalHandlers reads the dispositions.
func signalHandlers() *handlers {
	h := new(handlers)
	system, err := purego.Dlopen("/usr/lib/libSystem.B.dylib", purego.RTLD_NOW)
	if err != nil {
		return h
	}
	purego.RegisterLibFunc(&libcSigaction, system, "sigaction")
	for signal := range h[1:] {
		libcSigaction(int32(signal+1), nil, &h[signal+1])
	}
	return h
}

// restore restores the handlers that have changed since. Signals without a handler are not changed.
func (h *handlers) restore() {
	if libcSigaction == nil {
		return
	}
	for signal := range h {
		var now action
		if h[signal].handler != 0 && libcSigaction(int32(signal), nil, &now) == 0 && now != h[signal] {
			libcSigaction(int32(signal), &h[signal], nil)
		}
	}
}

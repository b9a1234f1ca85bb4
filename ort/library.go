//go:build linux || darwin || windows

package ort

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"
)

// A library is a loaded ONNX Runtime.
type library struct {
	api
	path, version string
	env           handle
	cpu           handle // memory info
	alloc         handle // of the CPU, the library's own
}

var (
	loaded   = map[string]*library{} // by the name under which they were loaded; libraries are never unloaded
	loadedMu sync.Mutex
)

// open loads the library that is named, or the first of the usual places.
func open(named string) (*library, error) {
	m := &missing{named: named, by: "Library"}
	if named == "" {
		m.named, m.by = os.Getenv("GRAFT_ORT"), "GRAFT_ORT"
	}
	loadedMu.Lock()
	defer loadedMu.Unlock()
	if l := loaded[m.named]; l != nil {
		return l, nil
	}
	for _, file := range candidates(m.named) {
		base, err := symbolOf(file, "OrtGetApiBase")
		if err != nil {
			if why := err.Error(); m.named != "" || !absent(file, why) {
				m.broken = append(m.broken, strings.Join(strings.Fields(why), " "))
			}
			continue
		}
		l := &library{path: file}
		if err := cmp.Or(l.bind(base), l.start()); err != nil {
			m.broken = append(m.broken, fmt.Sprintf("%s: %v", file, err))
			continue
		}
		loaded[m.named] = l
		return l, nil
	}
	return nil, m
}

// absent reports whether the loader's error is that the file itself is missing, rather than one of its dependencies.
func absent(file, why string) bool {
	return strings.HasPrefix(why, file+": cannot open") || strings.Contains(why, "("+file+",") && strings.Contains(why, "no such file") || strings.Contains(why, "could not be found")
}

// start creates the objects that all sessions share.
func (l *library) start() error {
	const warning, deviceAllocator, defaultMemory = 3, 0, 0 // only errors are logged
	if err := l.err("start", l.createEnv(warning, "graft", &l.env)); err != nil {
		return err
	}
	_ = l.err("telemetry", l.disableTelemetry(l.env)) // where it has any
	if err := l.err("memory", l.createMemory("Cpu", deviceAllocator, 0, defaultMemory, &l.cpu)); err != nil {
		return err
	}
	return l.err("allocator", l.allocator(&l.alloc))
}

// providerNames returns the execution providers of the library, as it spells them.
func (l *library) providerNames() ([]string, error) {
	var list unsafe.Pointer
	var n int32
	if err := l.err("providers", l.providers(&list, &n)); err != nil {
		return nil, err
	}
	names := make([]string, n)
	for i, p := range unsafe.Slice((*unsafe.Pointer)(list), n) {
		names[i] = goString(p)
	}
	return names, l.err("providers", l.releaseProviders(list, n))
}

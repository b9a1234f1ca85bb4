//go:build linux || darwin || windows

package ort

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
)

// session is a model that is ready to run on a device.
type session struct {
	d       *Device
	mu      sync.RWMutex // held by runs; locked to close
	p       handle       // 0: closed
	inputs  []string
	outputs []string
}

// options returns those of a session on the device.
func (d *Device) options() (handle, error) {
	l, r := d.lib, d.of
	var o handle
	if err := l.err("session options", l.createSessionOptions(&o)); err != nil {
		return 0, err
	}
	const errorsOnly, allOptimizations = 3, 99
	err := l.err("session options", l.setSeverity(o, errorsOnly))
	if err == nil {
		err = l.err("session options", l.setOptimization(o, allOptimizations))
	}
	if err == nil && r.Threads > 0 {
		err = l.err("session options", l.setThreads(o, int32(r.Threads)))
	}
	if err == nil {
		err = d.provide(o)
	}
	if err != nil {
		l.releaseSessionOptions(o)
		return 0, err
	}
	return o, nil
}

// provide asks for the provider.
func (d *Device) provide(options handle) error {
	l, p := d.lib, d.provider
	set := maps.Clone(d.of.Options)
	if set == nil {
		set = map[string]string{}
	}
	if p.device != "" && set[p.device] == "" {
		set[p.device] = strconv.Itoa(d.of.Device)
	}
	var names, texts []string
	for _, k := range slices.Sorted(maps.Keys(set)) {
		names, texts = append(names, k), append(texts, set[k])
	}
	keys, k := cStrings(names)
	values, v := cStrings(texts)
	defer runtime.KeepAlive(k)
	defer runtime.KeepAlive(v)
	what, n := "provider "+p.name, uintptr(len(names))
	own := map[string]dedicated{"CUDA": l.cuda, "ROCM": l.rocm, "Tensorrt": l.trt}[p.name]
	switch {
	case p.name == "CPU":
		if n > 0 {
			return fmt.Errorf("ort: %s takes no options", what)
		}
		return nil
	case p.short != "":
		return l.err(what, l.append(options, p.short, keys, values, n))
	case p.name == "OpenVINO" && l.openVINO != nil:
		return l.err(what, l.openVINO(options, keys, values, n))
	case own.create == nil || own.append == nil:
		return fmt.Errorf("ort: %s: ONNX Runtime %s has no function to enable it", what, l.version)
	}
	var o handle
	if err := l.err(what, own.create(&o)); err != nil {
		return err
	}
	defer own.release(o)
	if err := l.err(what, own.update(o, keys, values, n)); err != nil {
		return err
	}
	return l.err(what, own.append(options, o))
}

// load prepares a graph.
func (d *Device) load(g *nn.Graph) (*session, error) {
	var file bytes.Buffer
	if err := onnxio.Write(&file, g); err != nil {
		return nil, err
	}
	return d.loadBytes(file.Bytes())
}

func (d *Device) loadBytes(model []byte) (*session, error) {
	o, err := d.options()
	if err != nil {
		return nil, err
	}
	l := d.lib
	defer l.releaseSessionOptions(o)
	s := &session{d: d}
	if err := l.err("load", l.createSession(l.env, unsafe.Pointer(unsafe.SliceData(model)), uintptr(len(model)), o, &s.p)); err != nil {
		return nil, err
	}
	runtime.KeepAlive(model)
	if s.inputs, err = s.names(l.inputCount, l.inputName); err == nil {
		s.outputs, err = s.names(l.outputCount, l.outputName)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) names(count func(handle, *uintptr) handle, name func(handle, uintptr, handle, *unsafe.Pointer) handle) ([]string, error) {
	l := s.d.lib
	var n uintptr
	if err := l.err("load", count(s.p, &n)); err != nil {
		return nil, err
	}
	list := make([]string, n)
	for i := range list {
		var text unsafe.Pointer
		if err := l.err("load", name(s.p, uintptr(i), l.alloc, &text)); err != nil {
			return nil, err
		}
		list[i] = goString(text)
		if err := l.err("load", l.free(l.alloc, text)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// close waits for runs, and frees the memory of the library.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.p != 0 {
		s.d.lib.releaseSession(s.p)
		s.p = 0
	}
}

// run computes outputs from values of the device or of the CPU. Those of which stay is true come out on the device, the others
// in the CPU's memory.
func (s *session) run(ctx context.Context, in map[string]*value, stay func(name string) bool) (out map[string]*value, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.p == 0 {
		return nil, errors.New("ort: the model is closed")
	}
	l := s.d.lib
	var b, o handle
	if err := l.err("run", l.createBinding(s.p, &b)); err != nil {
		return nil, err
	}
	defer l.releaseBinding(b)
	for _, name := range s.inputs {
		v := in[name]
		if v == nil {
			return nil, fmt.Errorf("ort: input %s has no value", name)
		}
		if err := l.err("input "+name, l.bindInput(b, name, v.p)); err != nil {
			return nil, err
		}
	}
	for _, name := range s.outputs {
		where := l.cpu
		if stay != nil && stay(name) {
			where = s.d.memory
		}
		if err := l.err("output "+name, l.bindOutput(b, name, where)); err != nil {
			return nil, err
		}
	}
	if err := l.err("run", l.createRunOptions(&o)); err != nil {
		return nil, err
	}
	stop := s.d.stopping(ctx, o)
	err = l.err("run", l.runWithBinding(s.p, o, b))
	stop()
	runtime.KeepAlive(in)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	var list unsafe.Pointer
	var n uintptr
	if err := l.err("run", l.boundOutputs(b, l.alloc, &list, &n)); err != nil {
		return nil, err
	}
	out = map[string]*value{}
	for i, p := range unsafe.Slice((*handle)(list), n) {
		out[s.outputs[i]] = &value{lib: l, p: p}
	}
	return out, l.err("run", l.free(l.alloc, list))
}

// stopping ends a run when ctx is done. The returned function must be called after the run; it frees the options.
func (d *Device) stopping(ctx context.Context, options handle) func() {
	var mu sync.Mutex
	over := false
	off := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			_ = d.lib.err("stop", d.lib.terminate(options)) // the run continues then
		}
	})
	return func() {
		off()
		mu.Lock()
		defer mu.Unlock()
		over = true
		d.lib.releaseRunOptions(options)
	}
}

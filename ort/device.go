//go:build linux || darwin || windows

package ort

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/step"
	"gorgonia.org/tensor"
)

// Device is a loaded library and a device of one of its providers. It is safe for concurrent use.
type Device struct {
	of       Runtime
	lib      *library
	provider provider
	memory   handle // where values are

	mu     sync.Mutex
	movers map[string]*session // copies to the device and from it, by type
}

// Open loads the library and selects the provider. If the library is not found, the error lists the places.
func (r Runtime) Open() (*Device, error) {
	p, err := providerOf(r.Provider)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Device < 0 || r.Threads < 0:
		return nil, fmt.Errorf("ort: device %d, %d threads: want 0 or more", r.Device, r.Threads)
	case r.Device > 0 && p.device == "":
		return nil, fmt.Errorf("ort: provider %s takes no device number: want 0, got %d", p.name, r.Device)
	}
	l, err := open(r.Library)
	if err != nil {
		return nil, err
	}
	have, err := l.providerNames()
	if err != nil {
		return nil, err
	}
	if err := p.among(have, "ONNX Runtime "+l.version+" at "+l.path); err != nil {
		return nil, err
	}
	d := &Device{of: r, lib: l, provider: p, memory: l.cpu, movers: map[string]*session{}}
	if p.memory != "" {
		const deviceAllocator, defaultMemory = 0, 0
		if err := l.err("memory", l.createMemory(p.memory, deviceAllocator, int32(r.Device), defaultMemory, &d.memory)); err != nil {
			return nil, err
		}
		runtime.AddCleanup(d, l.releaseMemory, d.memory)
	}
	o, err := d.options() // a library may have a provider without its dependencies
	if err != nil {
		return nil, err
	}
	l.releaseSessionOptions(o)
	return d, nil
}

// Library returns the file and the version of the library.
func (d *Device) Library() (path, version string) { return d.lib.path, d.lib.version }

// String returns one line: "ONNX Runtime 1.22.0, CPU".
func (d *Device) String() string { return "ONNX Runtime " + d.lib.version + ", " + d.provider.name }

// Load prepares a model to run.
func (d *Device) Load(g *nn.Graph) (step.Program, error) {
	s, err := d.load(g)
	if err != nil {
		return nil, err
	}
	p := &program{session: s, checks: map[string]func(d *tensor.Dense) error{}}
	for _, v := range g.Inputs() {
		p.checks[v.Name()] = checkOf(v)
	}
	return p, nil
}

// Put copies a tensor to the device.
func (d *Device) Put(t *tensor.Dense) (step.DeviceTensor, error) {
	v, err := d.lib.enter(t)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	out, err := d.move(v, true)
	if err != nil {
		return nil, err // no nil *value
	}
	return out, nil
}

// Get copies a value from the device to a tensor.
func (d *Device) Get(v step.DeviceTensor) (*tensor.Dense, error) {
	from, ok := v.(*value)
	if !ok || from.p == 0 {
		return nil, fmt.Errorf("ort: the value, a %T, does not belong to this device or was released", v)
	}
	here, err := d.move(from, false)
	if err != nil {
		return nil, err
	}
	defer here.Release()
	out, err := d.lib.leave(here.p)
	if err != nil {
		return nil, err
	}
	t, ok := out.(*tensor.Dense)
	if !ok {
		return nil, fmt.Errorf("ort: the value is a %T, want a tensor", out)
	}
	return t, nil
}

// move copies a value by an Identity, which every provider has: the run brings it to where the output is bound.
func (d *Device) move(v *value, there bool) (*value, error) {
	t, shape, err := d.lib.typeOf(v.p)
	if err != nil {
		return nil, err
	}
	s, err := d.mover(fmt.Sprintf("%v[%s]", t, strings.TrimSuffix(strings.Repeat("?,", len(shape)), ",")))
	if err != nil {
		return nil, err
	}
	out, err := s.run(context.Background(), map[string]*value{"from": v}, func(string) bool { return there })
	if err != nil {
		return nil, err
	}
	return out["to"], nil
}

func (d *Device) mover(typ string) (*session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.movers[typ]; s != nil {
		return s, nil
	}
	g := nn.New("move")
	if err := g.Edit(func(e *nn.Edit) { e.Output("to", e.Input("from", typ)) }); err != nil {
		return nil, err
	}
	s, err := d.load(g)
	if err == nil {
		d.movers[typ] = s
		runtime.AddCleanup(d, d.lib.releaseSession, s.p)
	}
	return s, err
}

// program is a model on the device.
type program struct {
	*session
	checks map[string]func(d *tensor.Dense) error // of the inputs
}

// checkOf compares tensors with the type of an input; the error of the library would not name the input.
func checkOf(v *nn.Value) func(d *tensor.Dense) error {
	name, want := v.Name(), v.Type()
	if !strings.HasPrefix(want.String(), want.DType.String()+"[") { // of no known rank, or a sequence
		return func(*tensor.Dense) error { return nil }
	}
	return func(d *tensor.Dense) error {
		got := dtype.Of(d.Dtype())
		fits := want.DType == got && len(want.Shape) == d.Dims()
		for i, n := range want.Shape {
			fits = fits && (!n.Known() || n.Size == d.Shape()[i])
		}
		if !fits {
			return fmt.Errorf("ort: input %s: want %v, got %v%s", name, want, got, strings.ReplaceAll(fmt.Sprint([]int(d.Shape())), " ", ","))
		}
		return nil
	}
}

// check refuses a value that no input of the model takes.
func (p *program) check(name string, v dtype.Value) error {
	check := p.checks[name]
	if check == nil {
		return fmt.Errorf("ort: the model has no input %s, it has %s", name, strings.Join(p.inputs, ", "))
	}
	if d, ok := v.(*tensor.Dense); ok {
		return check(d)
	}
	return nil
}

// Run computes the outputs, see step.Program.
func (p *program) Run(ctx context.Context, given nn.Feed, has map[string]step.DeviceTensor, stay func(string) bool) (nn.Feed, map[string]step.DeviceTensor, error) {
	in := map[string]*value{}
	for name, v := range has {
		x, ok := v.(*value)
		if !ok || x.p == 0 {
			return nil, nil, fmt.Errorf("ort: input %s: the value, a %T, does not belong to this device or was released", name, v)
		}
		in[name] = x
	}
	for name, x := range given {
		if err := p.check(name, x); err != nil {
			return nil, nil, err
		}
		v, err := p.d.lib.enter(x)
		if err != nil {
			return nil, nil, fmt.Errorf("input %s: %w", name, err)
		}
		defer v.Release()
		in[name] = v
	}
	out, err := p.run(ctx, in, stay)
	if err != nil {
		return nil, nil, err
	}
	back, on := nn.Feed{}, map[string]step.DeviceTensor{}
	for name, v := range out {
		if stay != nil && stay(name) {
			on[name] = v
			continue
		}
		var x dtype.Value
		if err == nil {
			x, err = p.d.lib.leave(v.p)
		}
		v.Release()
		back[name] = x
	}
	if err != nil {
		for _, v := range on {
			v.Release()
		}
		return nil, nil, err
	}
	return back, on, nil
}

// Close frees the model's memory.
func (p *program) Close() error {
	p.close()
	return nil
}

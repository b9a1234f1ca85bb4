package onnxio_test

import (
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

// TestReadersBesideEdit calls every method of a graph that needs no arguments while another goroutine edits the graph. Under the
// race detector, a method that takes no lock is found.
func TestReadersBesideEdit(t *testing.T) {
	g := nn.New("net")
	nntest.Edit(t, g, func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 3}, layers.ReLU{}, layers.Linear{Out: 2}}, e.Input("x", "float32[N,4]")))
	})
	read := func() {
		v := reflect.ValueOf(g)
		for i := range v.NumMethod() {
			f := v.Method(i)
			if f.Type().NumIn() > 0 && !f.Type().IsVariadic() || f.Type().NumIn() > 1 {
				continue
			}
			for _, out := range f.Call(nil) {
				if out.Kind() == reflect.Func && out.Type().CanSeq() {
					for range out.Seq() {
					}
				}
			}
		}
	}
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer close(done)
		for range 50 {
			if err := g.Edit(func(e *nn.Edit) {
				e.Insert(e.Inputs()[0], layers.Sigmoid{})
				e.SetMeta("k", "v")
				e.SetFrozen(e.Params()[0], true)
				e.SetName("other")
			}); err != nil {
				t.Error(err)
			}
			runtime.Gosched()
			if err := g.Edit(func(e *nn.Edit) {
				e.Remove(e.Find(nn.Ops("Sigmoid")))
				e.SetMeta("k", "")
				e.SetFrozen(e.Params()[0], false)
			}); err != nil {
				t.Error(err)
			}
		}
	})
	for {
		select {
		case <-done:
			group.Wait()
			return
		default:
		}
		read()
	}
}

package misuse

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

// TestListIsUpToDate: the list names what the packages export today.
func TestListIsUpToDate(t *testing.T) {
	want, err := exec.Command("go", "run", "./gen", filepath.Join("..", "..")).Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("list_test.go")
	if err != nil || string(got) != string(want) {
		t.Errorf("list_test.go is not what gen writes: go generate ./internal/misuse (%v)", err)
	}
}

// TestZeroValues calls every exported function, and every exported method of every zero value, with zero arguments; pointers to
// structs once as nil and once as zero structs.
func TestZeroValues(t *testing.T) {
	t.Chdir(t.TempDir()) // for what writes files
	limit := nn.MemoryLeft()
	t.Cleanup(func() { nn.LimitMemory(limit) })
	for name, f := range functions {
		call(t, name, reflect.ValueOf(f))
	}
	for name, typ := range types {
		if typ.Kind() == reflect.Interface {
			continue
		}
		for m := range reflect.PointerTo(typ).NumMethod() {
			if reflect.PointerTo(typ).Method(m).Name == "Format" { // package fmt calls it
				attempt(t, name+".Format", func() { _ = fmt.Sprintf("%v", reflect.New(typ).Interface()) })
				continue
			}
			call(t, name+"."+reflect.PointerTo(typ).Method(m).Name, reflect.New(typ).Method(m))
		}
	}
}

// TestMisusedEdits calls every method of an edit, and builds every layer, with zero arguments, on a graph that is there.
func TestMisusedEdits(t *testing.T) {
	for m := range reflect.TypeFor[*nn.Edit]().NumMethod() {
		name := "nn.Edit." + reflect.TypeFor[*nn.Edit]().Method(m).Name + " in an edit"
		inEdit(t, func(e *nn.Edit) { call(t, name, reflect.ValueOf(e).Method(m)) })
	}
	for name, typ := range types {
		if layer, ok := reflect.New(typ).Interface().(nn.Layer); ok {
			inEdit(t, func(e *nn.Edit) {
				attempt(t, name+".Build without inputs", func() { layer.Build(e) })
				attempt(t, name+".Build of nil", func() { layer.Build(e, nil) })
			})
		}
	}
	g := small(t)
	for m := range reflect.TypeFor[*nn.Graph]().NumMethod() {
		call(t, "nn.Graph."+reflect.TypeFor[*nn.Graph]().Method(m).Name+" of a graph", reflect.ValueOf(g).Method(m))
	}
}

// TestNilHandles calls every method of nil nodes, values and parameters, which are what a failed edit returns.
func TestNilHandles(t *testing.T) {
	for _, handle := range []any{(*nn.Node)(nil), (*nn.Value)(nil), (*nn.Param)(nil)} {
		v := reflect.ValueOf(handle)
		for m := range v.NumMethod() {
			call(t, fmt.Sprintf("nil %v.%s", v.Type(), v.Type().Method(m).Name), v.Method(m))
		}
	}
	//lint:ignore SA1012 the mistake
	if _, err := small(t).Run(nil); err == nil {
		t.Error("a run without a context")
	}
}

func small(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("small")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 3}, layers.ReLU{}, layers.Linear{Out: 2}}, e.Input("x", "float32[N,4]")))
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// inEdit runs f in an edit, whatever comes of the edit.
func inEdit(t *testing.T, f func(e *nn.Edit)) {
	t.Helper()
	attempt(t, "an edit", func() { _ = small(t).Edit(f) })
}

// call calls a function with zero arguments.
func call(t *testing.T, name string, f reflect.Value) {
	t.Helper()
	for i, zero := range []func(reflect.Type) reflect.Value{reflect.Zero, pointed} {
		var args []reflect.Value
		differ := false
		for k := range f.Type().NumIn() {
			a := zero(f.Type().In(k))
			if f.Type().In(k) == reflect.TypeFor[context.Context]() {
				a = reflect.ValueOf(context.Background())
			} else if f.Type().In(k) == reflect.TypeFor[*testing.T]() {
				return // a test of its own
			}
			differ = differ || a.Kind() == reflect.Pointer && !a.IsNil()
			args = append(args, a)
		}
		if f.Type().IsVariadic() {
			args = args[:len(args)-1]
		}
		if i == 0 || differ {
			attempt(t, name, func() { f.Call(args) })
		}
	}
}

// pointed returns the zero value of a type, for a pointer to a struct of this module a pointer to a zero one.
func pointed(t reflect.Type) reflect.Value {
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && strings.HasPrefix(t.Elem().PkgPath(), "github.com/graft-ml/graft/") {
		return reflect.New(t.Elem())
	}
	return reflect.Zero(t)
}

// attempt fails where f ends in a panic of the runtime, or does not end.
func attempt(t *testing.T, name string, f func()) {
	t.Helper()
	done := make(chan string, 1)
	go func() {
		defer func() {
			what := ""
			switch r := recover().(type) {
			case nil:
			case runtime.Error:
				what = fmt.Sprintf("%v\n%s", r, frames())
			case error, string:
			default:
				what = fmt.Sprintf("panics with %T %v", r, r)
			}
			done <- what
		}()
		f()
	}()
	select {
	case what := <-done:
		if what != "" {
			t.Errorf("%s: %s", name, what)
		}
	case <-time.After(20 * time.Second):
		t.Errorf("%s: does not end", name)
	}
}

// frames returns the places in this module that a panic went through, the innermost first.
func frames() string {
	var list []string
	for line := range strings.Lines(string(debug.Stack())) {
		if strings.HasPrefix(line, "\t") && strings.Contains(line, "graft") && !strings.Contains(line, "internal/misuse") {
			list = append(list, strings.Fields(line)[0])
		}
	}
	return strings.Join(slices.Clip(list[:min(len(list), 4)]), "\n")
}

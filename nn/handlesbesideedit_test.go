package nn_test

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// looped is a network with a Loop: its handles include those of a subgraph.
func looped(t *testing.T) *nn.Graph {
	g := nn.New("net")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Apply(nn.Sequential{layers.Linear{Out: 4}, layers.ReLU{}, layers.Linear{Out: 2}}, e.Input("x", "float32[N,4]"))
		w := e.Param("w", initial.Full{Value: 3}, 2)
		body := e.Body("body", []string{"int64[]", "bool[]", "float32[N,2]"}, []*nn.Value{w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			return []*nn.Value{e.Node(op.Plain("Identity"), in[1]).Out(0), e.Node(op.Plain("Mul"), in[2], in[3]).Out(0)}
		})
		n, err := dtype.FromSlice([]int64{2}, 1)
		e.Fail(err)
		e.Output("y", e.Node(std.LoopConfig{Body: body}, e.Const("n", n), nil, x).Out(0))
	})
	return g
}

// handles returns the nodes, values, parameters and subgraphs of the graph.
func handles(g *nn.Graph) (list []any) {
	seen := map[any]bool{}
	add := func(x any) {
		if !reflect.ValueOf(x).IsNil() && !seen[x] {
			seen[x] = true
			list = append(list, x)
		}
	}
	for n := range g.Nodes() {
		add(n)
		for _, v := range slices.Concat(n.Inputs(), n.Outputs(), n.Captured()) {
			add(v)
			add(v.Param())
		}
		for _, b := range n.Bodies() {
			add(b)
			list = append(list, handles(b.Graph)...)
		}
	}
	c := g.Channels()
	add(c)
	for _, x := range c.Groups() {
		add(x)
	}
	return list
}

// describe calls all methods of a handle that take no argument or small numbers and describes the results. What points to
// something is described by the pointer.
func describe(x any) (text string) {
	v := reflect.ValueOf(x)
	for i := range v.NumMethod() {
		name, f := v.Type().Method(i).Name, v.Method(i)
		if name == "Changed" || name == "Graph" || f.Type().NumIn() > 1 || f.Type().IsVariadic() {
			continue
		}
		var in []reflect.Value
		if f.Type().NumIn() == 1 {
			if f.Type().In(0).Kind() != reflect.Int {
				continue
			}
			in = append(in, reflect.ValueOf(0))
		}
		for _, out := range f.Call(in) {
			if out.Kind() == reflect.Pointer || out.Kind() == reflect.Struct {
				continue // calls and traits are made anew, types are described by String
			}
			text += fmt.Sprint(name, "=", out.Interface(), "\n")
		}
	}
	return text
}

// Every method of every handle may be called while other goroutines edit the graph, and sees no edit in part: neither one
// that is only tried, nor one that fails.
func TestHandlesBesideEdit(t *testing.T) {
	g := looped(t)
	list := handles(g)
	change := func(e *nn.Edit) {
		for _, n := range e.Nodes() {
			e.RenameNode(n, n.Label()+"_new")
		}
		for _, p := range e.Params() {
			e.RenameValue(p.Value(), p.Name()+"_new")
			e.SetFrozen(p, true)
		}
		e.Remove(e.Find(nn.Ops("Relu")))
		e.SetOpset(17)
		e.Annotate(nn.Annotations{"key": int64(1)}, nn.Not(nil))
		e.SetChannels(e.Select(nn.Ops("Gemm", "MatMul"))[0], 3)
	}
	if err := g.Edit(func(e *nn.Edit) { change(e); e.Failf("enough") }); err == nil || err.Error() != "edit: enough" {
		t.Fatal(err)
	}
	want := make([]string, len(list))
	for i, x := range list {
		want[i] = describe(x)
	}
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		defer close(done)
		for range 20 {
			if err := g.Edit(func(e *nn.Edit) { change(e); e.Failf("enough") }); err == nil {
				t.Error("no error")
			}
			if _, err := g.Plan(change); err != nil {
				t.Error(err)
			}
		}
	})
	for range 2 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for i, x := range list {
					if got := describe(x); got != want[i] {
						t.Errorf("beside an edit that is not applied: got\n%swant\n%s", got, want[i])
						return
					}
				}
			}
		})
	}
	group.Wait()
}

// Edits are made however many goroutines read all the time.
func TestEditBesideReaders(t *testing.T) {
	g := looped(t)
	list := handles(g)
	done := make(chan struct{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for _, x := range list {
					if v, ok := x.(*nn.Value); ok {
						v.Name()
						v.Users()
					}
				}
			}
		})
	}
	for i := range 200 {
		nntest.Edit(t, g, func(e *nn.Edit) { e.SetName(fmt.Sprint("net", i)) })
	}
	close(done)
	group.Wait()
}

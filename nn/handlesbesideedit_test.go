package nn_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
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

// What is traced or derived from a graph has copies of its subgraphs: neither an edit nor a lock of the one affects the other.
func TestTracedSubgraphs(t *testing.T) {
	g := looped(t)
	no := false
	var loss *nn.Value
	nntest.Edit(t, g, func(e *nn.Edit) {
		loss = e.Node(std.ReduceSumConfig{KeepDims: &no}, e.Value("y")).Out(0)
		e.Output("loss", loss)
	})
	body := func(g *nn.Graph) *nn.Graph {
		for n := range g.Nodes(nn.Ops("Loop")) {
			return n.Bodies()[0].Graph
		}
		t.Fatal("there is no Loop")
		return nil
	}
	own := body(g)
	x := nntest.Ramp(3, 4)
	want, err := g.Eval(t.Context(), nn.Feed{"x": x}, "loss")
	if err != nil {
		t.Fatal(err)
	}
	low, err := g.Lower(nn.LowerOptions{Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	traced, err := low.Trace()
	if err != nil {
		t.Fatal(err)
	}
	derived, err := g.Derive(nn.DeriveOptions{Loss: loss, Params: []*nn.Param{}}, func(e *nn.Edit, d *nn.Derivation) { e.Output("loss", d.Loss) })
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]*nn.Graph{"traced": traced, "derived": derived} {
		if body(other) == own {
			t.Errorf("%s: the Loop has the subgraph of the original", name)
		}
		nntest.Edit(t, other, func(e *nn.Edit) { e.SetOpset(9) })
		got, err := other.Eval(t.Context(), nn.Feed{"x": x}, "loss")
		if err != nil || got["loss"].Data() != want["loss"].Data() {
			t.Errorf("%s: %v, want %v; %v", name, got["loss"], want["loss"], err)
		}
	}
	if body(g) != own || own.Opsets()[""] != nn.LatestOpset {
		t.Errorf("the original has another subgraph, of operator set %d", own.Opsets()[""])
	}
}

// unlocked are the methods that do not wait for an edit, by their types: what they read does not change once it is made, or they are for packages
// that load files and for kernels, or for tests.
var unlocked = map[string][]string{
	"Graph":    {"Ops", "Origin", "SetOrigin", "Waiting", "SetFusion", "Operators", "MultiplyAdds", "Computed", "Lowerings", "IdlePrograms"},
	"Value":    {"SetOrigin", "Graph"},
	"Param":    {"Text", "Value", "Changed"},
	"Body":     {"Outer", "Captured", "Infer", "Lower", "Run", "Gradient"},
	"Channels": {"Groups"},
	"Group":    {"Params", "Values"},
	"Plan":     {"Cost", "Cuts", "Grown", "Notes", "Steps", "String"},
}

// reader has a method that reads a graph otherwise than by the graph's own.
type reader struct{ read func() }

func (r *reader) Read() { r.read() }

// Every method of a graph, and of its nodes, values, parameters, subgraphs, channels and plans, and every selector, waits for an edit of another goroutine.
func TestReadersWait(t *testing.T) {
	g := looped(t)
	plan, err := g.Plan(func(e *nn.Edit) { e.SetName("planned") })
	if err != nil {
		t.Fatal(err)
	}
	first := slices.Collect(g.Nodes())[0]
	list := append(handles(g), g, plan)
	for _, s := range []nn.Selector{nn.Ops("Gemm"), nn.Glob("*"), nn.Annotated("key")} {
		list = append(list, &reader{func() { s(first) }})
	}
	low, err := g.Lower(nn.LowerOptions{Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, &reader{func() { nn.After(first) }}, &reader{func() { nn.Before(first) }}, &reader{func() { _, _ = low.Trace() }})
	begun, end, ended := make(chan bool), make(chan bool), make(chan error)
	go func() { ended <- g.Edit(func(*nn.Edit) { close(begun); <-end }) }()
	<-begun
	var group sync.WaitGroup
	waiting := 0
	for _, x := range list {
		v := reflect.ValueOf(x)
		for i := range v.NumMethod() {
			name, f := v.Type().Method(i).Name, v.Method(i)
			if slices.Contains(unlocked[v.Type().Elem().Name()], name) {
				continue
			}
			var in []reflect.Value
			for k := range f.Type().NumIn() {
				switch typ := f.Type().In(k); {
				case k == f.Type().NumIn()-1 && f.Type().IsVariadic():
				case typ == reflect.TypeFor[context.Context]():
					in = append(in, reflect.ValueOf(context.Background()))
				case typ.Kind() == reflect.Func:
					in = append(in, reflect.MakeFunc(typ, func([]reflect.Value) []reflect.Value { return nil }))
				default:
					in = append(in, reflect.Zero(typ))
				}
			}
			done := make(chan bool)
			group.Go(func() {
				defer close(done)
				panics(func() { f.Call(in) })
			})
			for g.Waiting() == waiting {
				select {
				case <-done:
					t.Errorf("%T.%s does not wait", x, name)
				default:
					runtime.Gosched()
					continue
				}
				break
			}
			waiting = g.Waiting()
		}
	}
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	group.Wait()
}

// probe is an operator that calls a function of the test whenever graft asks something of it.
type probe struct{}

func (probe) Operator() op.Name { return op.Name{Domain: "my", Name: "Probe"} }

// An edit waits as long as a method that computes or analyses reads the graph.
func TestEditWaits(t *testing.T) {
	asked := func() {}
	ops, err := std.Operators().With(&op.Op{
		Domain: "my", Name: "Probe", Since: []int{1}, Doc: "Asks.", In: "X T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: probe{}, NoGrad: "not needed here",
		Infer:  func(c *op.Call) ([]op.Type, error) { asked(); return op.Same(c) },
		Couple: func(c *op.Call) []coupling.Coupling { asked(); return op.Elementwise(c) },
		Cost:   func(*op.Call) (macs, bytes int64) { asked(); return 0, 0 },
		Func:   func(_ *op.Call, in []dtype.Value) ([]dtype.Value, error) { asked(); return in, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	g := nn.NewGraph("probed", ops, map[string]int{"": nn.LatestOpset, "my": 1})
	no := false
	nntest.Edit(t, g, func(e *nn.Edit) {
		h := e.Node(probe{}, e.Apply(layers.Linear{Out: 2}, e.Input("x", "float32[N,4]"))).Out(0)
		e.Output("y", e.Node(std.ReduceSumConfig{KeepDims: &no}, h).Out(0))
	})
	other := small(t)
	x, ctx := dtype.New(dtype.Float32, 3, 4), context.Background()
	feed, params := nn.Feed{"x": x}, slices.Collect(g.Params())
	y, err := g.Value("y")
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(){
		"Run":        func() { _, _ = g.Run(ctx, x) },
		"Eval":       func() { _, _ = g.Eval(ctx, feed, "y") },
		"Grad":       func() { _, _ = g.Grad(ctx, feed, "y") },
		"Step":       func() { _, _ = g.Step(ctx, feed, nn.StepOptions{Loss: y, Params: params}) },
		"Lower":      func() { _, _ = g.Lower(nn.LowerOptions{Feed: feed}) },
		"Derive":     func() { _, _ = g.Derive(nn.DeriveOptions{Loss: y}, func(*nn.Edit, *nn.Derivation) {}) },
		"Extract":    func() { _, _ = g.Extract(nil, []string{"y"}) },
		"Channels":   func() { g.Channels().Cost(nil) },
		"Summary":    func() { g.Summary() },
		"SummaryFor": func() { g.SummaryFor(feed) },
		"Join":       func() { _, _ = nn.Join(other, g, map[string]string{"y": "x"}) },
	} {
		var edit chan bool
		times := 0
		asked = func() {
			times++
			select {
			case <-edit: // it has ended, between two times that the method had the lock
			default:
				if edit != nil {
					return // it waits
				}
			}
			done := make(chan bool)
			edit = done
			go func() { defer close(done); _ = g.Edit(func(e *nn.Edit) { e.Failf("enough") }) }()
			for g.Waiting() == 0 {
				select {
				case <-done:
					t.Errorf("%s: an edit does not wait for it", name)
					return
				default:
					runtime.Gosched()
				}
			}
		}
		read()
		asked = func() {}
		if times == 0 {
			t.Errorf("%s asks nothing of an operator", name)
			continue
		}
		<-edit
	}
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

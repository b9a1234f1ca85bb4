package nn_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestChargedBefore: operators whose kernels allocate in proportion to their input, and not only their result, are
// refused before they do.
func TestChargedBefore(t *testing.T) {
	const n = 1 << 20
	defer nn.LimitMemory(0)
	texts := make([]string, n)
	for i := range texts {
		texts[i] = "1"
	}
	words, err := dtype.NewStrings(texts, n)
	if err != nil {
		t.Fatal(err)
	}
	topK := op.Config(std.TopKConfig{})
	for name, c := range map[string]struct {
		cfg  op.Config
		x    dtype.Value
		then op.Config // reads the result, nil: it is the output
	}{
		"SplitToSequence":   {std.SplitToSequenceConfig{KeepDims: new(bool)}, dtype.New(dtype.Float32, n), std.ConcatFromSequenceConfig{NewAxis: true}},
		"parts":             {std.SplitToSequenceConfig{}, dtype.New(dtype.Float32, n), nil},
		"empty parts":       {std.SplitToSequenceConfig{}, dtype.New(dtype.Float32, 1<<40, 0), nil},
		"Unique":            {std.UniqueConfig{}, dtype.New(dtype.Float32, n), nil},
		"Cast to strings":   {std.CastConfig{To: dtype.String}, dtype.New(dtype.Float32, n), nil},
		"TopK":              {topK, dtype.New(dtype.Float32, n), nil},
		"Cast from strings": {std.CastConfig{To: dtype.Float32}, words, nil},
		"Bernoulli":         {std.BernoulliConfig{}, dtype.New(dtype.Float32, n), nil},
		"DFT":               {std.DFTConfig{}, dtype.New(dtype.Float32, 1, 65537, 1), nil},
		"MaxPool":           {std.MaxPoolConfig{Kernel: []int{3, 3}}, dtype.New(dtype.Float32, 1, 1, 1024, n/1024), nil},
		"OneHotEncoder":     {std.OneHotEncoderConfig{Strings: []string{"1"}}, words, nil},
	} {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", fmt.Sprint(op.TypeOf(c.x)))
			if c.cfg == topK {
				e.Output("y", e.NodeN(topK, 2, x, e.Ints("k", n/2)).Out(0))
				return
			}
			y := e.Node(c.cfg, x).Out(0)
			if c.then != nil {
				y = e.Node(c.then, y).Out(0)
			}
			e.Output("y", y)
		}); err != nil {
			t.Fatal(err)
		}
		nn.LimitMemory(10 << 20)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := g.Eval(t.Context(), nn.Feed{"x": c.x})
		runtime.ReadMemStats(&after)
		nn.LimitMemory(0)
		if err == nil || !strings.Contains(err.Error(), "memory") {
			t.Errorf("%s: %v", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 10<<20 {
			t.Errorf("%s: allocated %d MB with a limit of 10 MB: %v", name, got>>20, err)
		}
	}
}

// TestPortsCharged: what a node of very many inputs takes is charged before it is lowered.
func TestPortsCharged(t *testing.T) {
	const n = 50_000
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Node(op.Plain("Sum"), slices.Repeat([]*nn.Value{e.Input("x", "float32[1]")}, n)...).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	defer nn.LimitMemory(0)
	nn.LimitMemory(budgettest.Used() + 240*n)
	_, err := g.Run(t.Context(), dtype.New(dtype.Float32, 1))
	if full := (*engine.MemoryError)(nil); !errors.As(err, &full) {
		t.Error(err)
	}
}

// TestCompositesCharged: the nodes of which an operator is composed, those of its gradient included, are charged while
// they are made. The error names the operator's node.
func TestCompositesCharged(t *testing.T) {
	const steps = 1000
	defer nn.LimitMemory(0)
	g := nn.New("g")
	no := false
	if err := g.Edit(func(e *nn.Edit) {
		e.SetOpset(27)
		var in []*nn.Value
		for _, name := range []string{"q", "k", "v"} {
			in = append(in, e.Input(name, fmt.Sprintf("float32[1,%d,2]", steps)))
		}
		y := e.Node(std.LinearAttentionConfig{QHeads: 1, KVHeads: 1, Rule: "linear"}, in...).Out(0)
		e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: &no}, y).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	feed := nn.Feed{}
	for _, name := range []string{"q", "k", "v"} {
		feed[name] = dtype.New(dtype.Float32, 1, steps, 2)
	}
	for _, c := range []struct {
		megabytes int64
		run       func() error
	}{
		{8, func() error { _, err := g.Eval(t.Context(), feed); return err }},
		{32, func() error { _, err := g.Eval(t.Context(), feed); return err }},
		{64, func() error { _, err := g.Grad(t.Context(), feed, "loss", "q"); return err }},
	} {
		nn.LimitMemory(c.megabytes << 20)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := c.run()
		runtime.ReadMemStats(&after)
		if _, full := errors.AsType[*engine.MemoryError](err); err == nil || !full && c.megabytes < 64 || !strings.Contains(err.Error(), "linearattention") || !strings.Contains(err.Error(), "bytes of memory") {
			t.Errorf("%d MB: %v", c.megabytes, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > uint64(c.megabytes)<<20*5/4 && !testing.Short() {
			t.Errorf("allocated %d MB with a limit of %d MB", got>>20, c.megabytes)
		}
	}
}

// TestIdlePrograms: what programs keep for later runs does not make others fail, of the same graph or another.
func TestIdlePrograms(t *testing.T) {
	defer nn.LimitMemory(0)
	var graphs []*nn.Graph
	for range 2 {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			x := e.Node(op.Plain("Exp"), e.Node(op.Plain("Sin"), e.Input("x", "float32[N,1024]")).Out(0)).Out(0)
			e.Output("y", e.Node(std.ReduceSumConfig{}, x).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		graphs = append(graphs, g)
	}
	nn.LimitMemory(24 << 20)
	for i, rows := range []int{3000, 2900, 2800, 2700, 3000} {
		if _, err := graphs[i%2].Eval(t.Context(), nn.Feed{"x": dtype.New(dtype.Float32, rows, 1024)}); err != nil {
			t.Errorf("run %d: %v", i, err)
		}
	}
}

// TestRefusedView: a graph with views in the arena, which are not steps of the program, is refused like others.
func TestRefusedView(t *testing.T) {
	const n = 1 << 20
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Node(op.Plain("Exp"), e.Input("x", fmt.Sprintf("float32[%d]", n))).Out(0)
		y := e.Node(std.ReshapeConfig{}, x, e.Ints("shape", 2, n/2)).Out(0)
		e.Output("y", y)
		e.Output("z", e.Node(std.SoftmaxConfig{}, y).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	defer nn.LimitMemory(0)
	nn.LimitMemory(budgettest.Used() + 6<<20)
	_, err := g.Run(t.Context(), dtype.New(dtype.Float32, n))
	if full := (*engine.MemoryError)(nil); !errors.As(err, &full) || !strings.Contains(err.Error(), "in which Exp exp makes") {
		t.Error(err)
	}
}

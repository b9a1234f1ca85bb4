package onnxio_test

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestStringMemory: strings, and what is made of them, are charged before they are made.
func TestStringMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("measures allocations")
	}
	const n = 400000
	words := make([]string, n)
	for i := range words {
		words[i] = strconv.Itoa(i)
	}
	long := strings.Repeat("a", 4<<20)
	node := func(config op.Config, in string) func(e *nn.Edit) *nn.Node {
		return func(e *nn.Edit) *nn.Node { return e.Node(config, e.Input("x", in)) }
	}
	shape, err := dtype.FromSlice([]int64{n}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer budget.Limit(0)
	for name, c := range map[string]struct {
		node func(e *nn.Edit) *nn.Node
		x    []string
		want string
	}{
		"parts": {node(std.StringSplitConfig{Delimiter: "a"}, "string[n]"), []string{long}, "would give string[1,4194305]: takes 67108880 bytes of memory"},
		"a pair": {func(e *nn.Edit) *nn.Node {
			x := e.Input("x", "string[n]")
			return e.Node(op.Plain("StringConcat"), x, x)
		}, []string{long}, "takes 8388624 bytes"},
		"copies": {func(e *nn.Edit) *nn.Node {
			return e.Node(op.Plain("Expand"), e.Input("x", "string[n]"), e.Const("n", shape))
		}, []string{"a"}, "would give string[400000]: takes 6400000 bytes of memory"},
		"capitals": {node(std.StringNormalizerConfig{Case: "UPPER"}, "string[n]"), []string{long}, "takes 8388640 bytes"},
		"n-grams":  {node(std.TfIdfVectorizerConfig{Mode: "TF", MinLength: 1, MaxLength: 1, Counts: []int{0}, Indexes: make([]int, n), Strings: words}, "string[n]"), []string{"1"}, "the index of its n-grams: takes"},
	} {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) { e.Output("y", c.node(e).Out(0)) }); err != nil {
			t.Fatal(name, err)
		}
		x, err := dtype.NewStrings(c.x, len(c.x))
		if err != nil {
			t.Fatal(err)
		}
		budget.Limit(budgettest.Used() + 6<<20)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = g.Eval(t.Context(), nn.Feed{"x": x})
		runtime.ReadMemStats(&after)
		budget.Limit(0)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%s: %d bytes were allocated before it was refused", name, n)
		}
	}
}

package engine

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// tracedContext records the functions in which it is checked.
type tracedContext struct {
	context.Context
	in map[string]bool
}

func (c tracedContext) Err() error {
	var at [8]uintptr
	for frames := runtime.CallersFrames(at[:runtime.Callers(2, at[:])]); ; {
		f, more := frames.Next()
		if c.in[f.Function] = true; !more {
			return c.Context.Err()
		}
	}
}

// TestPlanningChecks: every pass that plans the memory of an operator with many outputs checks the context, also while it sorts.
func TestPlanningChecks(t *testing.T) {
	g := gorgonia.NewGraph()
	c := &Core{Name: "many", Kernel: func(*Exec, []*tensor.Dense, []*tensor.Dense) error { return nil }, Inputs: 1}
	for range mostCompared + 1000 {
		c.Out = append(c.Out, Spec{DType: f32, Shape: tensor.Shape{1}})
	}
	roots := apply(t, c, nil, input(g, "x", dense(1)))
	ctx := tracedContext{t.Context(), map[string]bool{}}
	if _, err := Compile(Options{Context: ctx}, roots...); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(slices.Collect(maps.Keys(ctx.in)), " ")
	for _, name := range []string{"order", "liveness", "plan", "turning", "fitClosely", "fitBySize", "findHoles", "lastReads", "allocate"} {
		if !strings.Contains(all, ")."+name) {
			t.Errorf("%s does not check", name)
		}
	}
}

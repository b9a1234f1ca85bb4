package train

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
)

// TestClassesOf checks which output shapes are scores of a classifier, and on which axis their classes are.
func TestClassesOf(t *testing.T) {
	for _, c := range []struct {
		typ     string
		classes int
	}{
		{"float32[N,3]", 3}, {"float32[N,2]", 2}, {"float64[4,3,1,1]", 3}, {"float32[N,3,2]", 0}, {"float32[N,3,1,2]", 0},
		{"float32[N]", 0}, {"float32[N,1]", 0}, {"float32[N,K]", 0}, {"int64[N,3]", 0},
	} {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Node(op.Plain("Identity"), e.Input("x", c.typ)).Out(0)) }); err != nil {
			t.Fatal(err)
		}
		if got := classesOf(g); got != c.classes {
			t.Errorf("%s: %d classes, want %d", c.typ, got, c.classes)
		}
	}
	if n := classesOf(nn.New("none")); n != 0 {
		t.Errorf("a graph without outputs has %d classes", n)
	}
	for _, c := range []struct {
		typ        string
		axis, want int // 0: refused
	}{
		{"float32[N,3]", 0, 1}, {"float32[N,3]", 1, 1}, {"float32[N,3]", -1, 1}, {"float32[N,3]", 2, 0}, {"float32[N,3]", -2, 0}, {"float32[N,3]", -3, 0},
		{"float32[N,3,5]", -1, 2}, {"float32[N,3,5]", 2, 2}, {"float32[N,3,5]", 3, 0}, {"float32[N]", 0, 0},
	} {
		g := nn.New("g")
		var axis int
		var ok bool
		err := g.Edit(func(e *nn.Edit) {
			y := e.Node(op.Plain("Identity"), e.Input("x", c.typ)).Out(0)
			e.Output("y", y)
			axis, ok = classAxis(e, "loss", y, c.axis)
		})
		if ok != (c.want > 0) || axis != c.want || ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "has no axis of classes: want [N, classes, …]") {
			t.Errorf("axis %d of %s: got %d, %v, %v", c.axis, c.typ, axis, ok, err)
		}
	}
}

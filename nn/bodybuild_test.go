package nn_test

import (
	"context"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// A body reads its inputs and what it captures, weights too, which are trained through it.
func TestBody(t *testing.T) {
	g := nn.New("m")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[2]")
		w := e.Param("w", nn.Full{Value: 3}, 2)
		body := e.Body("body", []string{"int64[]", "bool[]", "float32[2]"}, []*nn.Value{w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			return []*nn.Value{e.Node(op.Plain("Identity"), in[1]).Out(0), e.Node(op.Plain("Mul"), in[2], in[3]).Out(0)}
		})
		n, err := nn.Tensor([]int64{2}, 1)
		e.Fail(err)
		e.Output("y", e.Node(std.LoopConfig{Body: body}, e.Const("n", n), nil, x).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	x, err := nn.Tensor([]float32{1, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Run(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	if got := dtype.Slice[float32](out[0]); got[0] != 9 || got[1] != 18 {
		t.Errorf("got %v, want [9 18]", got)
	}
	v, err := g.Value("w")
	if err != nil || !v.Param().Trainable() {
		t.Errorf("w is a %s, %v", v.Param().Role(), err)
	}
}

func TestBodyRefuses(t *testing.T) {
	for _, c := range []struct {
		types []string
		f     func(e *nn.Edit, in ...*nn.Value) []*nn.Value
		want  string
	}{
		{[]string{"float31[N]"}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return in }, "float31"},
		{nil, nil, "the function is nil"},
		{nil, func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return []*nn.Value{nil} }, "a value is nil"},
		{nil, func(e *nn.Edit, in ...*nn.Value) []*nn.Value { e.Failf("no"); return nil }, "no"},
	} {
		err := nn.New("m").Edit(func(e *nn.Edit) {
			e.Body("body", c.types, []*nn.Value{e.Input("x", "float32[2]")}, c.f)
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

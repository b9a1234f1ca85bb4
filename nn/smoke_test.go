package nn_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

func TestSmoke(t *testing.T) {
	g := nn.New("m")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		w := e.Param("w", nn.FanIn{}, 3, 4)
		y := e.Node(op.Plain("Relu"), x).Out(0)
		sp := e.NodeN(op.SplitConfig{Axis: 1}, 2, y, e.Ints("s", 1, 3))
		c := e.Node(op.ConcatConfig{Axis: 1}, sp.Out(1), sp.Out(0)).Out(0)
		z := e.Node(op.GemmConfig{TransB: true}, c, w).Out(0)
		e.Output("z", z)
		e.Output("loss", e.Node(op.GemmConfig{}, e.Node(op.GemmConfig{}, e.Param("l", nn.Ones{}, 1, 2), z).Out(0), e.Param("r", nn.Ones{}, 3, 1)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	x, _ := dtype.FromSlice([]float32{1, -2, 3, 4, 5, 6, 7, 8}, 2, 4)
	for _, v := range g.Outputs() {
		fmt.Println(v.Name(), v.Type())
	}
	out, err := g.Run(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(out)
	gr, err := g.Grad(context.Background(), nn.Feed{"x": x}, "loss", "x", "w")
	fmt.Println(gr, err)
}

package nn_test

import (
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// exposed are models whose channels are taken up by something other than weights that read them.
var exposed = map[string]func(e *nn.Edit){
	"squares summed": func(e *nn.Edit) { // a factorization machine: (Σ v·x)² − Σ v²·x²
		x, v := e.Input("x", "float32[N,5]"), e.Param("v", initial.KaimingUniform{}, 5, 3)
		do := func(name string, in ...*nn.Value) *nn.Value { return e.Node(op.Plain(name), in...).Out(0) }
		two := e.Scalar("two", x, 2)
		d := do("Sub", do("Pow", do("MatMul", x, v), two), do("MatMul", do("Pow", x, two), do("Pow", v, two)))
		e.Output("y", e.Node(std.ReduceSumConfig{}, d, e.Ints("axes", 1)).Out(0))
	},
	"rows that are columns": func(e *nn.Edit) { // an autoencoder whose halves share their weight
		x, w := e.Input("x", "float32[N,6]"), e.Param("w", initial.KaimingUniform{}, 4, 6)
		h := e.Apply(layers.Tanh{}, e.Node(std.GemmConfig{TransB: true}, x, w).Out(0))
		e.Output("y", e.Node(op.Plain("MatMul"), h, w).Out(0))
	},
	"norm": func(e *nn.Edit) { // features divided by their length
		x := e.Apply(layers.Conv{Out: 6, Kernel: []int{3}, NoBias: true}, e.Input("x", "float32[N,3,5,5]"))
		n := e.Node(std.ReduceL2Config{}, x, e.Ints("axes", 1)).Out(0)
		e.Output("y", e.Apply(layers.Conv{Out: 2, Kernel: []int{1}}, e.Node(op.Plain("Div"), x, n).Out(0)))
	},
}

// TestWidenExposed widens channels that sums, norms and shared weights take up: the outputs stay.
func TestWidenExposed(t *testing.T) {
	for name, f := range exposed {
		t.Run(name, func(t *testing.T) {
			g := nn.New("m")
			nntest.Edit(t, g, f)
			in, err := draw(g, 2, 1, rand.New(rand.NewPCG(1, 2)))
			if err != nil {
				t.Fatal(err)
			}
			want := nntest.Run(t, g, in...)
			groups := len(g.Channels().Groups())
			if groups == 0 {
				t.Fatal("nothing can be widened")
			}
			for i := range groups {
				for _, copying := range []bool{false, true} {
					w := nntest.Clone(t, g)
					nntest.Edit(t, w, func(e *nn.Edit) {
						p := e.Channels().Groups()[i].Params()[0]
						e.Resize(p.Value, p.Size+2*p.PerAtom, nn.ResizeOptions{Axis: p.Axis - len(p.Value.Type().Shape), Copy: copying})
					})
					nntest.Near(t, "widened", nntest.Run(t, w, in...), want, 1e-5)
				}
			}
		})
	}
}

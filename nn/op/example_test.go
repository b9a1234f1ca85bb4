package op_test

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/op/trait"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Snake is the activation x + gain·sin²(a·x)/a, where each channel learns its own frequency a: X[N,C], A[C] → Y[N,C]. Its
// attributes are the fields of a struct.
type Snake struct {
	Gain float32 `onnx:"gain,default=1"`
}

// Operator makes Snake a configuration: what e.Node is given.
func (Snake) Operator() op.Name { return op.Name{Domain: "com.example", Name: "Snake"} }

// snake declares the operator: what it is called, what it takes and gives, and what it does.
func snake() *op.Op {
	return &op.Op{
		Domain: "com.example", Name: "Snake", Since: []int{1}, Doc: "x + gain·sin²(a·x)/a, with one a for each channel.",
		In: "X T, A T weight", Out: "Y T", Where: op.Where{"T": {dtype.Float32, dtype.Float64}},
		Attrs:  Snake{},
		Infer:  snakeType,
		Kernel: snakeKernel,
		Grad:   snakeGrad,
		Couple: snakeCouplings,
		Traits: op.Traits{Activation: trait.HiddenActivation, Starts: []trait.Start{trait.StartLike}}, // new channels begin as copies
	}
}

// snakeType gives the type of the output, symbols included. What does not fit is refused here, before anything runs.
func snakeType(c *op.Call) ([]op.Type, error) {
	x, a := c.In[0], c.In[1]
	if x.Unranked || a.Unranked {
		return []op.Type{x}, nil
	}
	if x.Rank() != 2 || a.Rank() != 1 || a.Shape[0].Differ(x.Shape[1]) {
		return nil, c.Mismatch(1, "a frequency for each channel of "+x.String(), a)
	}
	return []op.Type{x}, nil
}

// snakeKernel computes the output; it is asked once for each shape and element type.
func snakeKernel(c *op.Call) (op.Kernel, error) {
	gain := float64(c.Config.(Snake).Gain)
	if c.In[0].DType == dtype.Float64 {
		return func(_ *op.Exec, out, in []*tensor.Dense) error { return forward[float64](gain, out, in) }, nil
	}
	return func(_ *op.Exec, out, in []*tensor.Dense) error { return forward[float32](gain, out, in) }, nil
}

func forward[T float32 | float64](gain float64, out, in []*tensor.Dense) error {
	y, x, a := dtype.Slice[T](out[0]), dtype.Slice[T](in[0]), dtype.Slice[T](in[1])
	for i := range x {
		f := float64(a[i%len(a)])
		s := math.Sin(f * float64(x[i]))
		y[i] = x[i] + T(gain*s*s/f)
	}
	return nil
}

// snakeGrad writes the gradients as nodes of other operators, which run, and are exported, as any others:
// dx = dy·(1 + gain·sin(2ax)), da = Σ dy·(x − y + gain·x·sin(2ax))/a, by x − y = −gain·sin²(ax)/a.
func snakeGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	var failed error
	do := func(name string, in ...*gorgonia.Node) *gorgonia.Node {
		if failed != nil {
			return nil
		}
		var n *gorgonia.Node
		n, failed = c.Apply1(op.Plain(name), in...)
		return n
	}
	x, a, y, dy := in[0], in[1], out[0], dout[0]
	gain, err := op.Scalar(x.Graph(), c.In[0].DType, float64(c.Config.(Snake).Gain))
	if err != nil {
		return nil, err
	}
	ax := do("Mul", a, x)
	slope := do("Mul", gain, do("Sin", do("Add", ax, ax)))
	dx := do("Add", dy, do("Mul", dy, slope))
	da := do("Mul", dy, do("Div", do("Add", do("Sub", x, y), do("Mul", x, slope)), a))
	if failed != nil {
		return nil, failed
	}
	da, err = c.SumTo(da, c.In[1].Shape...) // over the batch
	return gorgonia.Nodes{dx, da}, err
}

// snakeCouplings say which indices belong together: a channel that is pruned leaves X, A and Y.
func snakeCouplings(c *op.Call) []coupling.Coupling {
	return append(op.CoupleAll(c, 0), op.Couple(coupling.In(1, 0), coupling.Out(0, 1)))
}

// An operator of one's own: declared, used in a model, run, differentiated, pruned, saved and loaded.
func Example() {
	ctx := context.Background()
	ops, err := std.Operators().With(snake())
	if err != nil {
		fmt.Println(err) // what the declaration lacks
		return
	}
	g := nn.NewGraph("net", ops, map[string]int{"": nn.LatestOpset, "com.example": 1})
	err = g.Edit(func(e *nn.Edit) {
		h := e.Apply(layers.Linear{Out: 3, Name: "hidden"}, e.Input("x", "float32[N,2]"))
		h = e.Node(Snake{Gain: 0.5}, h, e.Param("a", initial.Ones{}, 3)).Out(0)
		e.Output("y", e.Apply(layers.Linear{Out: 1, Name: "top"}, h))
		e.Output("loss", e.Node(std.ReduceSumConfig{}, e.Value("y")).Out(0))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	x, err := dtype.FromSlice([]float32{1, -2, 0.5, 3}, 2, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	gradients, err := g.Grad(ctx, nn.Feed{"x": x}, "loss", "a", "hidden.weight")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("gradients:", gradients["a"].Shape(), gradients["hidden.weight"].Shape())

	if err := g.Edit(func(e *nn.Edit) { e.RemoveChannels(e.Find(nn.Glob("hidden")), 1) }); err != nil {
		fmt.Println(err)
		return
	}
	a, err := g.Value("a")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("after a channel is gone: a", a.Type())

	var file bytes.Buffer
	if err := onnxio.Write(&file, g); err != nil {
		fmt.Println(err)
		return
	}
	_, err = onnxio.Read(bytes.NewReader(file.Bytes())) // opaque to who does not know the operator
	fmt.Println("loads without it:", err == nil)
	h, err := onnxio.Loader{Ops: ops}.Read(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	want, err := g.Run(ctx, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := h.Run(ctx, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the same from the file:", got[0].Eq(want[0]))

	// The same checks that graft's own operators pass, in a test of the operator:
	//	optest.Run(t, optest.Case{Ops: ops, Config: Snake{}, In: []dtype.Value{x, a}})

	// Output:
	// gradients: (3) (3, 2)
	// after a channel is gone: a float32[2]
	// loads without it: true
	// the same from the file: true
}

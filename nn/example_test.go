package nn_test

import (
	"context"
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
)

// A model from nothing. Sizes of inputs are inferred, N stays symbolic.
func Example() {
	g := nn.New("mnist")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("image", "float32[N,1,28,28]")
		e.Output("scores", e.Apply(nn.Sequential{
			layers.Conv{Out: 8, Kernel: []int{3}, Same: true, NoBias: true}, layers.BatchNorm{}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
			layers.Flatten{}, layers.Dropout{P: 0.3}, layers.Linear{Out: 10},
		}, x))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(g.Summary())
	// Output:
	// mnist(image float32[N,1,28,28])
	// node        op                  shape               parameters  trainable  multiply-adds
	// conv1       Conv                float32[N,8,28,28]          72         72         56 448
	// batchnorm1  BatchNormalization  float32[N,8,28,28]          32         16
	// relu1       Relu                float32[N,8,28,28]
	// maxpool1    MaxPool             float32[N,8,14,14]
	// flatten1    Flatten             float32[N,1568]
	// dropout1    Dropout             float32[N,1568]
	// linear1     Gemm                float32[N,10]           15 690     15 690         15 680
	// 7 nodes                                                 15 794     15 778         72 128
}

// ExampleSequential returns one error for a whole construction, with the path of the layer in it.
func ExampleSequential() {
	err := nn.New("m").Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.ReLU{}, layers.Conv{Out: 4}}, e.Input("x", "float32[N,3,8,8]")))
	})
	fmt.Println(err)
	// Output: edit: Sequential[1] Conv: has no kernel size
}

// A plan shows what an edit would do before it does it.
func ExampleGraph_Plan() {
	g := perceptron()
	p, err := g.Plan(func(e *nn.Edit) {
		e.Freeze(nn.Before(e.Head(nn.Head{Labels: []string{"cat", "dog"}})))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p)
	if err := p.Apply(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Labels(), g.Outputs()[0].Type())
	// Output:
	// new parameter fc2.weight float32[2,8] for float32[3,8]
	// new parameter fc2.bias float32[2] for float32[3]
	// metadata graft.labels = ["cat","dog"]
	// head: Gemm fc2, 2 classes instead of 3
	// [cat dog] float32[N,2]
}

// A layer that can start as the identity does: the model computes what it did.
func ExampleEdit_Insert() {
	g := perceptron()
	x, _ := dtype.FromSlice([]float32{1, 2, 3, 4}, 1, 4)
	before, _ := g.Run(context.Background(), x)
	if err := g.Edit(func(e *nn.Edit) { e.Insert(e.Value("act"), layers.BatchNorm{}) }); err != nil {
		fmt.Println(err)
		return
	}
	after, _ := g.Run(context.Background(), x)
	a, _ := dtype.ToSlice[float32](before[0])
	b, _ := dtype.ToSlice[float32](after[0])
	fmt.Println(a[0]-b[0] < 1e-6 && b[0]-a[0] < 1e-6)
	// Output: true
}

// The trunk of a model as a graph of its own, with another classifier after it.
func ExampleGraph_Extract() {
	g := perceptron()
	trunk, err := g.Extract(nil, []string{"act"})
	if err != nil {
		fmt.Println(err)
		return
	}
	head := nn.New("head")
	if err := head.Edit(func(e *nn.Edit) {
		e.Output("p", e.Apply(nn.Sequential{layers.Linear{Out: 2}, layers.Softmax{}}, e.Input("features", "float32[N,8]")))
	}); err != nil {
		fmt.Println(err)
		return
	}
	whole, err := nn.Join(trunk, head, map[string]string{"act": "features"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range whole.Nodes() {
		fmt.Println(n.Type(), n.Label(), n.Out(0).Type())
	}
	// Output:
	// Gemm fc1 float32[N,8]
	// Relu act float32[N,8]
	// Gemm linear1 float32[N,2]
	// Softmax softmax1 float32[N,2]
}

// A parameter is found by its name; its elements may be read and written.
func ExampleGraph_Value() {
	g := perceptron()
	v, err := g.Value("fc2.bias")
	if err != nil {
		fmt.Println(err)
		return
	}
	bias := v.Param()
	copy(bias.Data().Float32s(), []float32{1, 2, 3})
	bias.Changed() // after each change of elements
	fmt.Println(bias, bias.Data())
	fmt.Println(v.Users()[0])
	_, err = g.Value("fc2.bais")
	fmt.Println(err)
	// Output:
	// fc2.bias float32[3] [1  2  3]
	// Gemm fc2
	// no value is named "fc2.bais": did you mean "fc2.bias"?
}

func perceptron() *nn.Graph {
	g := nn.New("perceptron")
	err := g.Edit(func(e *nn.Edit) {
		e.Output("scores", e.Apply(nn.Sequential{
			layers.Linear{Out: 8, Name: "fc1"}, layers.ReLU{Name: "act"}, layers.Linear{Out: 3, Name: "fc2"},
		}, e.Input("x", "float32[N,4]")))
	})
	if err != nil {
		panic(err)
	}
	return g
}

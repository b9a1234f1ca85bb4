package train_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

// A kernel that fails at any of its calls in a step, by an error or a panic, leaves everything as it was, and the next step is
// made: an operator that may fail is not computed when parameters have begun to change.
func TestKernelThatFails(t *testing.T) {
	for _, panics := range []bool{false, true} {
		for name, rule := range map[string]optim.Rule{"SGD": optim.SGD{LR: 0.1, Momentum: 0.9}, "AdamW": optim.AdamW{}, "Lion": optim.Lion{}} {
			calls, at := 0, 0
			product := *std.Operators().Find("", "Gemm") // which is its own gradient
			product.NoError, product.Patterns = false, nil
			kernel := product.Kernel
			product.Kernel = func(c *op.Call) (op.Kernel, error) {
				k, err := kernel(c)
				return func(x *op.Exec, out, in []*tensor.Dense) error {
					if calls++; calls == at {
						if panics {
							panic("no more")
						}
						return errors.New("no more")
					}
					return k(x, out, in)
				}, err
			}
			ops, err := std.Operators().With(&product)
			if err != nil {
				t.Fatal(err)
			}
			deep := func() *nn.Graph {
				g := nn.NewGraph("deep", ops, map[string]int{"": nn.LatestOpset})
				err := g.Edit(func(e *nn.Edit) {
					h := e.Input("x", "float32[N,4]")
					for i, n := range []int{40, 30, 20, 3} {
						h = e.Node(std.GemmConfig{TransB: true}, h, e.Param(fmt.Sprint("w", i), initial.FanIn{}, n, []int{4, 40, 30, 20}[i]), e.Param(fmt.Sprint("b", i), initial.Zeros{}, n)).Out(0)
					}
					e.Output("y", h)
				})
				if err != nil {
					t.Fatal(err)
				}
				return g
			}
			one := batch(t, blobs(1, 1)) // whose gradients of weights take more memory than what they are products of
			c := quiet(train.Config{Rule: rule, EMA: 0.9})
			tr, err := train.New(deep(), c)
			if err != nil {
				t.Fatal(err)
			}
			twin, err := train.New(deep(), c)
			if err != nil {
				t.Fatal(err)
			}
			step := func(tr *train.Trainer) error {
				calls = 0
				_, err := tr.Step(context.Background(), one)
				return err
			}
			if err := errors.Join(step(twin), step(tr)); err != nil {
				t.Fatal(err)
			}
			all := calls
			if all < 8 {
				t.Fatalf("%d calls of a product in a step", all)
			}
			before := everything(t, tr)
			for at = 1; at <= all; at++ {
				if err := step(tr); err == nil || !strings.Contains(err.Error(), "no more") || strings.Contains(err.Error(), "updated") {
					t.Errorf("%s, call %d: %v", name, at, err)
				}
				same(t, fmt.Sprintf("%s, call %d", name, at), before, everything(t, tr))
			}
			at = 0
			if err := errors.Join(step(twin), step(tr)); err != nil {
				t.Fatal(err)
			}
			same(t, name+", the next step", everything(t, twin), everything(t, tr))
		}
	}
}

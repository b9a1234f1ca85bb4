package train_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

// watching tells when a sum begins.
type watching struct {
	train.Communicator
	begun chan struct{}
}

func (w watching) AllReduce(x []float32) error {
	select {
	case w.begun <- struct{}{}:
	default:
	}
	return w.Communicator.AllReduce(x)
}

// TestSumsGoOnBesideTheBackwardPass checks that gradients are summed during the backward pass: from
// the second step on, when their order is known, its last product waits until the first sum has begun.
func TestSumsGoOnBesideTheBackwardPass(t *testing.T) {
	errs := together(2, func(rank int, comm train.Communicator) error {
		w := watching{comm, make(chan struct{}, 1)}
		calls, last := 0, 0
		product := *std.Operators().Find("", "Gemm")
		product.Scheduling.Patterns = nil
		kernel := product.Kernel
		product.Kernel = func(c *op.Call) (op.Kernel, error) {
			k, err := kernel(c)
			return func(x *op.Exec, out, in []*tensor.Dense) error {
				if calls++; calls == last {
					select {
					case <-w.begun:
					case <-time.After(time.Minute):
						return errors.New("no sum has begun")
					}
				}
				return k(x, out, in)
			}, err
		}
		ops, err := std.Operators().With(&product)
		if err != nil {
			return err
		}
		g := nn.NewGraph("layers", ops, map[string]int{"": nn.LatestOpset})
		err = g.Edit(func(e *nn.Edit) {
			h := e.Node(std.GemmConfig{TransB: true}, e.Input("x", "float32[N,4]"), e.Param("w1", initial.FanIn{}, 8, 4)).Out(0)
			h = e.Node(op.Plain("Relu"), h).Out(0)
			h = e.Node(std.GemmConfig{TransB: true}, h, e.Param("w2", initial.FanIn{}, 8, 8)).Out(0)
			e.Output("y", e.Node(std.GemmConfig{TransB: true}, h, e.Param("w3", initial.FanIn{}, 3, 8)).Out(0))
		})
		if err != nil {
			return err
		}
		tr, err := train.New(g, quiet(train.Config{Communicator: w, Rule: optim.SGD{LR: 0.1}, BucketBytes: 1}))
		if err != nil {
			return err
		}
		b := batch(t, blobs(8, uint64(rank)))
		for range 3 {
			if _, err := tr.Step(context.Background(), b); err != nil {
				return err
			}
			last, calls = calls, 0
			select { // the sums of the step
			case <-w.begun:
			default:
			}
		}
		if last != 8 { // three forward, two with respect to data, three with respect to weights
			t.Errorf("%d products in a step", last)
		}
		return nil
	})
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

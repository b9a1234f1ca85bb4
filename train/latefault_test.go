package train_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
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
			product.Scheduling.NoError, product.Scheduling.Patterns = false, nil
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

// rising is a schedule whose factor is always the same.
type rising float64

func (r rising) At(_, _ int) float64 { return float64(r) }

// A rate that is beyond all numbers, or negative, in one group of parameters alone changes no parameter.
func TestRateOfOneGroup(t *testing.T) {
	one := batch(t, blobs(1, 1))
	for name, rule := range map[string]optim.Rule{"SGD": optim.SGD{Momentum: 0.9}, "AdamW": optim.AdamW{}, "Lion": optim.Lion{}, "Chain": optim.Chain{optim.ClipValue{Limit: 1}, optim.AdamW{}}} {
		for _, c := range []train.Config{{Schedule: rising(1e30), Groups: []train.ParamGroup{{Rate: 1e300}}}, {Schedule: rising(-1)}} {
			c.Rule = rule
			g := small(t)
			for p := range g.Params() {
				if p.Trainable() && c.Groups != nil {
					c.Groups[0].Params = []*nn.Param{p} // the first, which is updated last
					break
				}
			}
			for _, c.Whole = range []bool{false, true} {
				tr, err := train.New(g, quiet(c))
				if err != nil {
					t.Fatal(err)
				}
				before := everything(t, tr)
				if _, err := tr.Step(context.Background(), one); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
					t.Errorf("%s, Whole %v: %v", name, c.Whole, err)
				}
				same(t, name, before, everything(t, tr))
			}
		}
	}
}

// shaky is a rule that fails at one of its calls, after it has changed its parameter.
type shaky struct {
	optim.Rule
	calls, at *atomic.Int64
}

func (s shaky) Step(w, grad *tensor.Dense, slots []optim.Slot, h optim.Hyper) error {
	err := s.Rule.Step(w, grad, slots, h)
	if s.calls.Add(1) == s.at.Load() {
		return errors.New("no more")
	}
	return err
}

// A rule of one's own that fails in the middle of an update leaves everything as it was, on one process and on all of several.
func TestRuleThatFails(t *testing.T) {
	run := func(t *testing.T, comm train.Communicator, fails bool, c train.Config) {
		calls, at := new(atomic.Int64), new(atomic.Int64)
		rule := shaky{optim.AdamW{}, calls, at}
		c.Rule, c.EMA, c.Communicator = optim.Chain{optim.ClipValue{Limit: 1}, rule}, 0.9, comm
		one := batch(t, blobs(8, 1))
		tr, err := train.New(small(t), quiet(c))
		if err != nil {
			t.Fatal(err)
		}
		step := func() error {
			_, err := tr.Step(context.Background(), one)
			return err
		}
		if err := step(); err != nil {
			t.Fatal(err)
		}
		all := calls.Load()
		before := weights(tr.Graph())
		for i := range all {
			calls.Store(0)
			if at.Store(i + 1); !fails {
				at.Store(0)
			}
			if err := step(); err == nil || !strings.Contains(err.Error(), "no more") {
				t.Errorf("call %d: %v", i+1, err)
			}
			same(t, fmt.Sprint("call ", i+1), before, weights(tr.Graph()))
		}
		at.Store(0)
		if err := step(); err != nil {
			t.Fatal(err)
		}
		twin := shaky{optim.AdamW{}, calls, at}
		c.Rule = optim.Chain{optim.ClipValue{Limit: 1}, twin}
		other, err := train.New(small(t), quiet(c))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := other.Step(context.Background(), one); err != nil {
				t.Fatal(err)
			}
		}
		same(t, "the next step", weights(other.Graph()), weights(tr.Graph()))
		if comm == nil {
			same(t, "what a checkpoint has", everything(t, other), everything(t, tr))
		}
	}
	run(t, nil, true, train.Config{})
	together(2, func(rank int, comm train.Communicator) error {
		run(t, comm, rank == 1, train.Config{})
		return nil
	})
}

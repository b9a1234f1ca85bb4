package train

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op/std"
)

// syncNorm computes the sums over ranks for synchronized normalizations while a batch is computed. Ranks that compute nothing,
// because they have no samples or have failed, contribute zeros: before each sum all ranks report whether they need one, and a rank
// that has finished its batch takes part until no rank does.
type syncNorm struct {
	r      *ranks
	weight float64 // weight of this rank's loss: its gradients are those of its own mean, sums are those of the mean over all ranks
}

// asked is what ranks exchange before a sum; its fields are summed over ranks.
type asked struct {
	ranks        float64 // number of ranks that need a sum
	id, squareID float64 // id of the normalization and its square, to check that all ranks are at the same one
	size         float64
	failed       float64
}

func (s *syncNorm) ask(c Communicator, a asked) (asked, error) {
	x := []float64{a.ranks, a.id, a.squareID, a.size, a.failed}
	err := c.AllReduceFloat64(x)
	return asked{x[0], x[1], x[2], x[3], x[4]}, err
}

// sum implements std.BatchSum. Sums of a backward pass are converted to the scale of the whole batch's loss and back.
func (s *syncNorm) sum(node string, x []float64, backward bool) error {
	h := fnv.New32a()
	fmt.Fprint(h, node, len(x), backward)
	id := float64(h.Sum32() >> 8) // 24 bits, so that the square is exact
	weigh := func(f float64) {
		for i := range x[:len(x)-1] {
			x[i] *= f
		}
	}
	return s.r.do(func(c Communicator) error {
		a, err := s.ask(c, asked{1, id, id * id, float64(len(x)), 0})
		if err != nil {
			return err
		}
		if a.id != a.ranks*id || a.squareID != a.ranks*id*id {
			return fmt.Errorf("this rank normalizes %s, other ranks another node: their graphs differ", node)
		}
		if backward {
			weigh(s.weight)
			defer weigh(1 / s.weight)
		}
		return c.AllReduceFloat64(x)
	})
}

// end takes part in the sums that other ranks still need in this batch, and reports whether any rank has failed in it.
func (s *syncNorm) end(failed bool) (others bool, err error) {
	err = s.r.do(func(c Communicator) error {
		for {
			var own asked
			if failed {
				own.failed = 1
			}
			a, err := s.ask(c, own)
			if err != nil {
				return err
			}
			if a.ranks == 0 {
				others = a.failed > 0
				return nil
			}
			if err := c.AllReduceFloat64(make([]float64, int(a.size/a.ranks))); err != nil {
				return err
			}
		}
	})
	return others, err
}

// fork returns the graph that the loss is attached to, with synchronized normalizations if the configuration requires
// them.
func (t *Trainer) fork(ctx context.Context) (*nn.Graph, map[*nn.Param]*nn.Param, error) {
	if t.ranks == nil || !t.c.SyncBatchNorm {
		return t.g.ForkUntil(ctx)
	}
	ops, err := std.SyncBatchNormalization(t.g.Ops(), t.sync.sum)
	if err != nil {
		return nil, nil, fmt.Errorf("train: SyncBatchNorm: %w", err)
	}
	g, origin := t.g.ForkWith(ops)
	return g, origin, nil
}

// endMicro ends this rank's shard of a batch; err is its error, if any. If a rank has one, all return it.
func (t *Trainer) endMicro(err error) error {
	if t.sync != nil {
		others, e := t.sync.end(err != nil)
		if e != nil {
			t.abandon()
			return errors.Join(err, e)
		}
		if others {
			return t.join(err)
		}
	}
	if err != nil {
		return t.join(err)
	}
	return nil
}

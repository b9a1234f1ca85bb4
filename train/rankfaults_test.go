package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// broken is a set in which something happens at one sample.
type broken struct {
	data.Dataset[data.Sample]
	at func(i int) error
}

func (b broken) At(i int, r *rand.Rand) (data.Sample, error) {
	if err := b.at(i); err != nil {
		return data.Sample{}, err
	}
	return b.Dataset.At(i, r)
}

// A rank that cannot go on ends all of them, with its error, after the same step; the parameters are those of the last whole one. Resumed without the
// fault, the run ends as an undisturbed one.
func TestOneRankFails(t *testing.T) {
	fit, val := blobs(64, 1), blobs(32, 2)
	type rankRun struct {
		c       train.Config
		ctx     context.Context
		cancel  func()
		fit     data.Dataset[data.Sample]
		val     data.Dataset[data.Sample]
		steps   int
		weights map[string][]byte
	}
	cases := map[string]struct {
		on    int
		f     func(*rankRun)
		want  []string
		saved bool // a checkpoint of the moment
		steps int
	}{
		"data": {1, func(r *rankRun) {
			r.fit = broken{r.fit, func(i int) error {
				if i == 22 { // of the second batch, the second rank's part
					return errors.New("the file is cut off")
				}
				return nil
			}}
		}, []string{"rank 1: data: sample 22: the file is cut off"}, true, 1},
		"validation data": {2, func(r *rankRun) {
			r.val = broken{r.val, func(i int) error {
				if i == 12 {
					return errors.New("the file is cut off")
				}
				return nil
			}}
		}, []string{"rank 2: data: sample 12: the file is cut off"}, true, 4},
		"panic of the data": {1, func(r *rankRun) {
			r.fit = broken{r.fit, func(i int) error {
				if i == 22 {
					panic("nil map")
				}
				return nil
			}}
		}, []string{"rank 1: data: sample 22: panic: nil map"}, true, 1},
		"ctrl-C": {2, func(r *rankRun) {
			r.c.OnStep = func(s train.StepInfo) error {
				if r.steps++; s.Step == 3 {
					r.cancel()
				}
				return nil
			}
		}, []string{"rank 2: context canceled"}, true, 3},
		"OnStep": {2, func(r *rankRun) {
			r.c.OnStep = func(s train.StepInfo) error {
				if r.steps++; s.Step == 2 {
					return errors.New("enough")
				}
				return nil
			}
		}, []string{"rank 2: enough"}, true, 2},
	}
	whole := func(dir string, resume bool) map[string][]byte {
		g := [3]*nn.Graph{plainNet(t), plainNet(t), plainNet(t)}
		all(t, together(3, func(rank int, comm train.Communicator) error {
			c := train.Config{Communicator: comm, Epochs: 2, Batch: 16, NoShuffle: true, Rule: optim.SGD{LR: 0.1}, Dir: dir, Resume: resume}
			_, err := train.Fit(t.Context(), g[rank], quiet(c), fit, val)
			return err
		}))
		return weights(g[2])
	}
	undisturbed := whole(t.TempDir(), false)
	for name, c := range cases {
		runs := make([]rankRun, 3)
		dir := t.TempDir()
		errs := together(3, func(rank int, comm train.Communicator) error {
			g := plainNet(t)
			r := &runs[rank]
			r.fit, r.val = fit, val
			r.ctx, r.cancel = context.WithCancel(context.Background())
			defer r.cancel()
			r.c = quiet(train.Config{Communicator: comm, Epochs: 2, Batch: 16, NoShuffle: true, Rule: optim.SGD{LR: 0.1}, Dir: dir, Workers: 1})
			r.c.OnStep = func(train.StepInfo) error { r.steps++; return nil }
			if rank == c.on {
				c.f(r)
			}
			_, err := train.Fit(r.ctx, g, r.c, r.fit, r.val)
			r.weights = weights(g)
			return err
		})
		all(t, errs, c.want...)
		for rank, r := range runs {
			same(t, fmt.Sprint(name, ": rank ", rank), runs[0].weights, r.weights)
			if r.steps != c.steps {
				t.Errorf("%s: rank %d made %d steps, want %d", name, rank, r.steps, c.steps)
			}
			if name == "ctrl-C" && !errors.Is(errs[rank], context.Canceled) {
				t.Errorf("rank %d: %v is no cancellation", rank, errs[rank])
			}
		}
		if train.HasCheckpoint(dir) != c.saved {
			t.Errorf("%s: a checkpoint: %v, want %v", name, !c.saved, c.saved)
		}
		same(t, name+": resumed", undisturbed, whole(dir, true))
	}
}

// A step that is not finite on one rank changes nothing on any, whatever is not, in whichever batch of a group.
func TestNotFiniteOnOneRank(t *testing.T) {
	for name, f := range notFinite {
		for how, c := range map[string]train.Config{"alone": {}, "accumulated": {Accumulate: 2}, "sharded": {ShardState: true}, "synchronized": {SyncBatchNorm: true}} {
			if f.alone { // the ranks' sums overflow first
				continue
			}
			for at := range max(1, c.Accumulate) {
				before, after := make([]map[string][]byte, 2), make([]map[string][]byte, 2)
				errs := together(2, func(rank int, comm train.Communicator) error {
					c := c
					c.Loss, c.Metrics, c.Log, c.Communicator, c.Rule, c.EMA = leaning(f.join), []train.Metric{}, train.Quiet, comm, optim.SGD{LR: 0.1, Momentum: 0.9}, 0.9
					tr, err := train.New(fragile(t, f.typ), c)
					if err != nil {
						return err
					}
					good, x := fragileBatch(f.typ, 0, 1, 1, 1), fragileBatch(f.typ, 0, 1, 1, 1)
					if rank == 1 {
						x = fragileBatch(f.typ, 0, f.x, f.z, f.y)
					}
					group := func(at int) (failure error) {
						for k := range max(1, c.Accumulate) {
							b := good
							if k == at {
								b = x
							}
							if _, failure = tr.Step(context.Background(), b); failure != nil {
								return failure
							}
						}
						return nil
					}
					if err := group(-1); err != nil {
						return err
					}
					before[rank] = weights(tr.Graph())
					failure := group(at)
					after[rank] = weights(tr.Graph())
					if err := group(-1); err != nil {
						return fmt.Errorf("the next step: %w", err)
					}
					return failure
				})
				all(t, errs, f.want, "nothing was changed by it")
				for rank := range before {
					same(t, fmt.Sprintf("%s, %s, batch %d, rank %d", name, how, at, rank), before[rank], after[rank])
				}
			}
		}
	}
}

// A panic in the loop of one rank, a parameter that one rank changed, and one that leaves the loop.
func TestRanksThatGoAstray(t *testing.T) {
	fit := blobs(32, 1)
	dir := t.TempDir()
	loop := func(epochs int, f func(rank, epoch int, tr *train.Trainer) bool) ([]error, []int) {
		ended := make([]int, 3)
		return together(3, func(rank int, comm train.Communicator) (err error) {
			defer func() {
				if x := recover(); x != nil {
					err = fmt.Errorf("recovered: %v", x)
				}
			}()
			tr, err := train.New(plainNet(t), quiet(train.Config{Communicator: comm, Epochs: epochs, Dir: dir}))
			if err != nil {
				return err
			}
			for ep, err := range tr.Epochs(context.Background(), fit, nil) {
				if err != nil {
					return err
				}
				ended[rank] = ep.Epoch
				if !f(rank, ep.Epoch, tr) {
					break
				}
			}
			return nil
		}), ended
	}
	errs, _ := loop(3, func(rank, epoch int, tr *train.Trainer) bool {
		if rank == 1 && epoch == 2 {
			panic("out of range")
		}
		return true
	})
	all(t, errs, "out of range")
	errs, _ = loop(3, func(rank, epoch int, tr *train.Trainer) bool {
		if rank == 1 && epoch == 2 {
			dtype.Slice[float32](param(t, tr.Graph(), "w1").Data())[0]++
		}
		return true
	})
	all(t, errs, "rank 1: train: the content of the parameters differs from that of rank 0")
	if b := runFiles(t, dir)["last.state"]; !bytes.Contains(b, []byte(`\"Epoch\":2,\"Batch\":0`)) {
		t.Errorf("a checkpoint of weights that differ: %s", b[:min(len(b), 400)])
	}
	errs, ended := loop(3, func(rank, epoch int, tr *train.Trainer) bool { return rank != 2 || epoch < 2 })
	for rank, err := range errs {
		if err != nil || ended[rank] != 2 {
			t.Errorf("rank %d: %v after epoch %d", rank, err, ended[rank])
		}
	}
}

// TestShardedState checks that sharding the optimizer's state changes no bit, nor does resuming from a
// checkpoint, sharded or not.
func TestShardedState(t *testing.T) {
	fit, val := blobs(50, 1), blobs(20, 2)
	for name, rule := range map[string]optim.Rule{"AdamW": optim.AdamW{LR: 0.01}, "Adafactor": optim.Adafactor{LR: 0.01}, "LAMB": optim.LAMB{LR: 0.01}} {
		for _, n := range []int{2, 3} {
			c := train.Config{Epochs: 2, Batch: 12, Rule: rule, EMA: 0.9, ClipNorm: 1}
			whole := fitOn(t, n, plainNet, c, fit, val)[0]
			c.ShardState = true
			for rank, r := range fitOn(t, n, plainNet, c, fit, val) {
				same(t, fmt.Sprint(name, ", rank ", rank), whole.weights, r.weights)
			}
			for _, next := range []struct {
				ranks int
				shard bool
			}{{n, true}, {n, false}, {n + 1, true}, {1, false}} {
				dir := t.TempDir()
				stop := errors.New("stop")
				resumed := func(rank int, comm train.Communicator, resume bool, after int) (map[string][]byte, error) {
					g := plainNet(t)
					c := quiet(c)
					c.Communicator, c.Dir, c.Resume = comm, filepath.Join(dir, "run"), resume
					if rank > 0 {
						c.Dir = "/nowhere" // rank 0 alone reads and writes
					}
					c.OnStep = func(s train.StepInfo) error {
						if s.Step == after {
							return stop
						}
						return nil
					}
					_, err := train.Fit(context.Background(), g, c, fit, val)
					return weights(g), err
				}
				all(t, together(n, func(rank int, comm train.Communicator) error {
					_, err := resumed(rank, comm, false, 7)
					return err
				}), "stop")
				got := make([]map[string][]byte, next.ranks)
				c := &c
				c.ShardState = next.shard
				for _, err := range together(next.ranks, func(rank int, comm train.Communicator) (err error) {
					got[rank], err = resumed(rank, comm, true, -1)
					return err
				}) {
					if err != nil {
						t.Errorf("%s: %d ranks after %d: %v", name, next.ranks, n, err)
					}
				}
				c.ShardState = true
				for rank, w := range got {
					if next.ranks == n {
						same(t, fmt.Sprintf("%s, resumed on %d ranks, rank %d", name, next.ranks, rank), whole.weights, w)
					} else if d := apart(t, whole.weights, w); !(d < 1e-5) {
						t.Errorf("%s, resumed on %d ranks after %d: %.2g apart", name, next.ranks, n, d)
					}
				}
			}
		}
	}
}

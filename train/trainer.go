package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// Trainer trains the parameters of one graph. It is for one goroutine at a time: methods return an error while another goroutine is
// in one, or in one of another Trainer of the graph. During a step no one else may read or write the graph's parameters. Between steps the graph may be edited.
type Trainer struct {
	g      *nn.Graph
	c      Config
	groups *grouping            // see planFor
	params map[*nn.Param]*state // of trainable parameters
	stats  map[*nn.Param]*state // of running statistics
	seen   int                  // version of the graph that the states match
	bound  *binding             // nil: not made yet, or made for an older graph

	progress
	history  History // read by any goroutine, see setHistory
	past     sync.Mutex
	kept     []kept         // models in Dir
	tally    tally          // of the current epoch, up to the last update
	ended    bool           // the next call of Epochs begins a run
	group    group          // the micro-batches since the last update
	blocks   []float64      // partial sums of the gradients' norm
	borrowed *nn.StepResult // step whose gradients the states use in place; nil: they have copies
	tracker  tracker        // tracks the best epoch
	held     bool           // the graph has the averages, the states have the raw weights
	best     map[*nn.Param]*tensor.Dense
	bestSum  string // checksum of the best epoch's model in Dir; "": none was written
	log      func(Event)
	mixed    map[int]bool // which targets of floating-point numbers are distributions over classes, for the default loss
	told     []string     // notes on losses

	ranks   *ranks     // nil: this process trains alone
	reduced *reduction // reduction of gradients over ranks; nil: not made yet, or made for an older graph
	sync    *syncNorm  // nil: normalizations use the samples of their own process
	order   []string   // order in which gradients arrive, from a checkpoint
	owned   []int      // by rank: number of elements of the parameters whose state it keeps
	joint   tally      // of the last group, all ranks together
	last    tally      // of the last batch of a process that trains alone
	remote  remote     // of Config.Runtime
	user    *user      // of the graph
	place   *place     // of the current batch; nil: a batch of the caller's
}

// progress is the state of training that a checkpoint contains besides tensors.
type progress struct {
	Step   int // updates so far
	Micro  int // batches so far; the number of the next draw of random operators
	Epoch  int // epochs begun and finished
	Batch  int // batches of the current epoch that are done
	Start  int // epoch at which the current run of Epochs began
	Origin int // Step at that time: schedules count from here

	Length int // samples of the set that the last epoch began with; 0: not known

	Stopped bool // patience ended the run
}

// New prepares the training of g and creates the folder Config.Dir. With Config.Resume it reads the last checkpoint in
// Config.Dir, if there is one. Parameters that a file stores once because they were equal are separated, see nn.Edit.Separate.
//
// With a Config.Communicator every rank creates a Trainer, of the same model with the same configuration, and calls the
// same methods in the same order: New, Fit, Epochs, Step, Flush, Evaluate, Save and Restore synchronize the ranks. Only
// rank 0 reads and writes files and calls Config.Log.
func New(g *nn.Graph, c Config) (*Trainer, error) {
	t := &Trainer{g: g, c: c, log: c.Log}
	t.ranks = joined(c.Communicator, t)
	if err := t.begun(t.prepare(c.context())); err != nil {
		return nil, err
	}
	if c.Resume {
		if err := t.resume(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// prepare makes the states of a new trainer.
func (t *Trainer) prepare(ctx context.Context) error {
	if t.g == nil {
		return errors.New("train: there is no graph")
	}
	if err := t.c.check(); err != nil {
		return err
	}
	t.user = userOf(t.g)
	leave, err := t.user.enter()
	if err != nil {
		return err
	}
	defer leave()
	if t.c.Dir != "" && t.ranks.first() {
		if err := disk.MkdirAll(t.c.Dir); err != nil {
			return fmt.Errorf("train: cannot create the folder for checkpoints: %w", err)
		}
		release, err := disk.Occupy(t.c.Dir) // a run in it is not resumed while it goes on
		if err != nil {
			return fmt.Errorf("train: the folder for checkpoints: %w", err)
		}
		release()
	}
	if err := t.g.EditUntil(ctx, func(e *nn.Edit) { e.Separate() }); err != nil {
		return err
	}
	t.g.Trim()
	if err := engine.Await(ctx, debug.FreeOSMemory); err != nil { // once: returns memory from loading and running, so that training can use it
		return err
	}
	t.seen = t.g.Version()
	if err := t.follow(ctx); err != nil {
		return err
	}
	if len(t.params) == 0 {
		return &op.Error{Stage: "train", Err: errors.New("the graph has no trainable parameter: all are frozen, or none is a weight")}
	}
	if t.c.SyncBatchNorm && t.ranks != nil {
		t.sync = &syncNorm{r: t.ranks}
	}
	if t.sharded() && t.overlap() {
		return &op.Error{Stage: "train", Err: errors.New("two parameters share memory: ShardState would update them in two places")}
	}
	t.tracker = newTracker(t.c)
	return t.c.checkGroups(ctx, t.c.grouping(), t.trainable())
}

// begun checks that all ranks train the same; err is the error of this rank, if any.
func (t *Trainer) begun(err error) error {
	if t.ranks == nil || err != nil {
		return t.ranks.agree(err)
	}
	if !t.ranks.first() {
		t.log = Quiet
	}
	return t.ranks.match(nil, t.facts())
}

// Graph returns the graph that is trained.
func (t *Trainer) Graph() *nn.Graph { return t.g }

// History returns the epochs so far, including those before a resume. Any goroutine may call it.
func (t *Trainer) History() History {
	t.past.Lock()
	defer t.past.Unlock()
	return slices.Clip(t.history)
}

func (t *Trainer) setHistory(h History) {
	t.past.Lock()
	defer t.past.Unlock()
	t.history = h
}

// Fit trains g and returns the history: New, then Trainer.Fit.
func Fit(ctx context.Context, g *nn.Graph, c Config, fit, val data.Dataset[data.Sample]) (History, error) {
	t, err := New(g, c.until(ctx))
	if err != nil {
		return nil, err
	}
	return t.Fit(ctx, fit, val)
}

// trainable lists the trainable parameters in the order of the graph.
func (t *Trainer) trainable() []*nn.Param {
	var list []*nn.Param
	for p := range t.g.Params() {
		if t.params[p] != nil {
			list = append(list, p)
		}
	}
	return list
}

// say sends an event to the listener.
func (t *Trainer) say(e Event) {
	if t.log != nil {
		t.log(e)
	}
	if t.c.Observe != nil {
		t.c.Observe(e)
	}
}

// learningRate returns the learning rate of Config.Rule times a factor.
func (t *Trainer) learningRate(factor float64) float64 { return factor * optim.BaseRate(t.c.rule()) }

// finite reports whether x is neither NaN nor infinite.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// assign copies the elements of src to the memory of dst.
func assign(dst, src *tensor.Dense) { copy(dtype.Bytes(dst), dtype.Bytes(src)) }

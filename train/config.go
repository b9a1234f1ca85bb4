package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// Config are the settings of a training run. The zero value of each field is the default that its comment states.
//
// A step changes all parameters or none: if the loss or a gradient is not finite, the step returns an error that names
// the parameter, and leaves parameters, optimizer state, averages, running statistics and the number of steps
// unchanged. To save memory, weight gradients that are larger than the activations and output gradients that they are
// products of are computed only after all others are known to be finite, each in the memory of the one before; they are
// checked by the product of the norms of their factors, and a bound above 1e30 (float32) counts as not finite. With
// Whole all gradients are computed before the first update; Accumulate, MicroBatch, ClipNorm and rules other than SGD,
// Adam and AdamW imply it.
//
// With MicroBatch a batch is computed in equal parts of at most that many samples, one after another, and their
// gradients are summed: the same step up to the rounding of sums, with the losses, metrics and schedule of the whole
// batch. The result has the bits of as many ranks of a Communicator that sums in the order of the ranks. Random
// operators draw separately for each part. BatchNormalization normalizes each part by its own statistics, and its
// running statistics follow the first part of each batch. Validation uses the same parts.
type Config struct {
	Loss     Loss           // nil: by the first batch, CrossEntropy for classes and for distributions over them (numbers ≥ 0 that sum to 1 in each row), MSE for other floating-point numbers
	Rule     optim.Rule     // nil: optim.AdamW
	Schedule optim.Schedule // factor on the learning rate for each step of a run of Epochs; nil: constant
	Plateau  *optim.Plateau // lowers the rate when Monitor stops improving; nil: off
	Metrics  []Metric       // metrics of the validation; nil: those that fit the loss; empty: none

	Steps      int                      // number of updates in a training loop of your own, for schedules that depend on it; Epochs counts its own; 0: unknown
	Epochs     int                      // epochs of one call of Trainer.Epochs or Fit; 0: 1
	Batch      int                      // samples in a batch, of all ranks together; 0: 32
	MicroBatch int                      // largest number of samples computed at a time, see Config; 0: a batch, or a rank's shard of it
	Accumulate int                      // batches whose gradients are accumulated for one update; 0: 1
	NoShuffle  bool                     // keep the order of the set in each epoch
	Sampler    func(n, epoch int) []int // the n samples of an epoch, in order, see data.BatchLoader; nil: all, shuffled
	Workers    int                      // goroutines that load samples, see data.BatchLoader; does not affect the result
	ClipNorm   float64                  // clip the global norm of the gradients to this; 0: off
	Whole      bool                     // compute all gradients before the first update, see Config
	EMA        float64                  // decay of an exponential moving average of the weights, which validation and checkpoints use, at most (1+n)/(10+n) in step n; 0: none
	Seed       uint64                   // seed of shuffling, augmentation and dropout
	Groups     []ParamGroup             // parameters with settings of their own; the first match counts

	// Runtime computes in place of graft's engine, see Runtime. It ignores Whole. Rules without a formula (optim.Formula), and
	// models whose step cannot be written in standard operators (docs/export-step.md), are errors.
	Runtime Runtime

	Monitor     string  // metric that decides which epoch is better; "": the validation loss, or the training loss without validation
	Mode        string  // "min" or "max": whether lower or higher is better; "": by the name of the metric
	Patience    int     // stop after this many epochs without improvement; 0: never
	MinDelta    float64 // a change must be larger than this to count as an improvement
	RestoreBest bool    // restore the parameters of the best epoch at the end

	// Communicator connects the processes (ranks) that train together, see New. nil: this process trains alone. Each rank gets the
	// whole data set and takes its shard of each batch; in your own loop, pass the rank's shard, which may be empty, to Step.
	Communicator Communicator
	ReduceIn     dtype.DType // Float16 or BFloat16: float32 gradients are sent in 16 bits, and summed in float32; 0: sent unchanged
	// ShardState shards the optimizer state: each process keeps the state of some parameters, updates these, and sends them to
	// the others. It takes less memory and more communication; the results are the same.
	ShardState bool
	// SyncBatchNorm makes BatchNormalization use the mean and variance of the samples of all processes, as in one process with
	// the whole batch; otherwise each process uses those of its own samples.
	SyncBatchNorm bool
	BucketBytes   int // smallest size of a bucket of gradients, in bytes; 0: 4 MiB

	Dir    string // for checkpoints (models and their state), history.csv and curves.png; "": none
	Resume bool   // continue from the last checkpoint in Dir, if there is one
	Keep   int    // number of models of the best epochs to keep in Dir besides last and best; 0: none

	// OnGradient gets the gradient of each parameter, in the order of the graph, before clipping and the update; it
	// may change its elements. With it all gradients are in memory before the first update. An error ends the
	// step, which changes nothing, and is returned wrapped with the parameter's name; with Dir a run of Epochs leaves a checkpoint.
	OnGradient func(p *nn.Param, gradient *tensor.Dense) error
	// OnStep is called after each update. An error ends the run, or is what Step returns; with Dir a run of Epochs
	// leaves a checkpoint from which it can be resumed.
	OnStep  func(StepInfo) error
	Observe func(Event) // called for every event, besides Log; nil: none

	Log func(Event) // nil: a progress bar on a terminal, lines elsewhere, on standard error; see Quiet

	Context context.Context // ends New and Attach, with its error; nil: nothing does. What takes a context itself does not look at it.
}

// ParamGroup is a group of parameters with settings of its own.
type ParamGroup struct {
	Match       []string    // patterns of parameter names, * also matches slashes; nil: all
	Params      []*nn.Param // only these; nil: any
	Rank        int         // only parameters of at most this rank, 1 for biases and scales; 0: any
	Rate        float64     // factor on the learning rate; 0: 1; optim.Off: 0
	WeightDecay float64     // weight decay instead of the rule's; 0: the rule's; optim.Off: none
	Rule        optim.Rule  // nil: Config's
}

// Quiet is a Config.Log that prints nothing.
func Quiet(Event) {}

func (c Config) context() context.Context { return cmp.Or(c.Context, context.Background()) }

// until returns the configuration with another context.
func (c Config) until(ctx context.Context) Config {
	c.Context = ctx
	return c
}

func (c Config) epochs() int     { return max(c.Epochs, 1) }
func (c Config) accumulate() int { return max(c.Accumulate, 1) }

func (c Config) batch() int {
	if c.Batch == 0 {
		return 32
	}
	return c.Batch
}

func (c Config) bucket() int {
	if c.BucketBytes == 0 {
		return bucketBytes
	}
	return c.BucketBytes
}

func (c Config) rule() optim.Rule {
	if c.Rule == nil {
		return optim.AdamW{}
	}
	return c.Rule
}

// check returns an error for invalid settings.
func (c Config) check() error {
	for i, m := range c.Metrics {
		if m == nil {
			return fmt.Errorf("train: metric %d is nil", i)
		}
	}
	for _, x := range []struct {
		name string
		n    int
	}{{"Steps", c.Steps}, {"Epochs", c.Epochs}, {"Batch", c.Batch}, {"MicroBatch", c.MicroBatch}, {"Accumulate", c.Accumulate}, {"Patience", c.Patience}, {"Keep", c.Keep}, {"Workers", c.Workers}, {"BucketBytes", c.BucketBytes}} {
		if x.n < 0 {
			return fmt.Errorf("train: %s is %d: want 0 or more", x.name, x.n)
		}
	}
	for _, x := range []struct {
		name string
		v    float64
	}{{"ClipNorm", c.ClipNorm}, {"EMA", c.EMA}, {"MinDelta", c.MinDelta}} {
		if !(x.v >= 0) || math.IsInf(x.v, 0) {
			return fmt.Errorf("train: %s is %v: want 0 or more", x.name, x.v)
		}
	}
	if c.Plateau != nil {
		if err := checkRates(*c.Plateau); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	scheduled := checkRates(c.Schedule)
	switch {
	case c.ReduceIn != dtype.Undefined && c.ReduceIn != dtype.Float16 && c.ReduceIn != dtype.BFloat16:
		return fmt.Errorf("train: ReduceIn is %v: want Float16 or BFloat16", c.ReduceIn)
	case scheduled != nil:
		return fmt.Errorf("train: Schedule: %w", scheduled)
	case c.EMA >= 1:
		return fmt.Errorf("train: EMA is %v: want a decay below 1, 0.9998 say", c.EMA)
	case c.Schedule == optim.LinearLR{}:
		return errors.New("train: Schedule is optim.LinearLR{}, which is 0 throughout: no parameter would change; set From or To")
	case c.Mode != "" && c.Mode != "min" && c.Mode != "max":
		return fmt.Errorf("train: Mode is %q: want min or max", c.Mode)
	case c.Runtime != nil && c.Communicator != nil:
		return errors.New("train: Runtime and Communicator exclude each other: a Runtime trains in one process")
	case c.Dir == "" && c.Resume:
		return errors.New("train: Resume needs Dir, the folder with the checkpoint")
	case c.Dir == "" && c.Keep > 0:
		return errors.New("train: Keep needs Dir, the folder to keep models in")
	}
	return nil
}

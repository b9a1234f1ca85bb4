package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// Config says how to train. The zero value of every field is the default written beside it.
//
// A step changes all parameters or none: one whose loss or gradients are not finite is an error that names the
// parameter, and leaves parameters, optimizer states, averages, statistics and the count of steps as they were.
// Where the layers' inputs and the signals that come back to them take less memory than the gradients of their
// weights, these are computed when the others are known to be finite, one in the place of the other, and are bounded
// by the norms of what they are products of: a bound above 1e30 (float32) is taken for not finite. With Whole all
// gradients are there before the first update; Accumulate, MicroBatch, ClipNorm and rules other than SGD, Adam and AdamW imply it.
//
// With MicroBatch a batch is computed in equal parts of at most so many samples, one after another in the memory of one, and
// their gradients are added up: it is the same step within the rounding of sums, with the losses, figures and schedule of the whole batch. The parts
// are those that so many ranks would have: the parameters get the same bits as from a Communicator that adds up in the order of the ranks.
// Random operators draw anew for each part. BatchNormalization normalizes each part by its own samples, and its running statistics
// follow the first part of each batch. Validation runs by the same parts.
type Config struct {
	Loss     Loss           // nil: CrossEntropy for classes, MSE for targets that are floating-point numbers
	Rule     optim.Rule     // nil: optim.AdamW
	Schedule optim.Schedule // factor on the rate, step by step over one run of Epochs; nil: constant
	Plateau  *optim.Plateau // lowers the rate when Monitor stops improving; nil: does not
	Metrics  []Metric       // of the validation; nil: what fits the loss; empty: none

	Steps      int                      // updates in a loop of your own, which schedules over a share of the run need; Epochs counts its own; 0: unknown
	Epochs     int                      // of one call of Trainer.Epochs or Fit; 0: 1
	Batch      int                      // samples in a batch, of all ranks together where there are several; 0: 32
	MicroBatch int                      // most samples that are computed at a time, see Config; 0: a batch, or a rank's part of it
	Accumulate int                      // batches whose gradients make one step, as if they were one batch; 0: 1
	NoShuffle  bool                     // samples come in the set's order in each epoch
	Sampler    func(n, epoch int) []int // which samples an epoch takes, and their order, see data.Loader; nil: all, in an order that chance draws
	Workers    int                      // goroutines that prepare batches, see data.Loader; of no influence on the result
	ClipNorm   float64                  // gradients are scaled down to this global norm; 0: they are not
	Whole      bool                     // all gradients are in memory before the first update, see Config
	EMA        float64                  // decay of the weights' running average, which validation and checkpoints use; 0: none
	Seed       uint64                   // of shuffling, augmentation and dropout
	Groups     []ParamGroup             // parameters with settings of their own; the first that matches counts

	// Runtime computes in place of graft's engine, see Runtime. It has no part in Whole; rules without a formula (optim.Formula),
	// and models whose step has no form in standard operators (docs/export-step.md), are refused.
	Runtime Runtime

	Monitor     string  // the figure that tells better from worse; "": the validation's loss, or the training's without one
	Mode        string  // "min" or "max": whether it should be small or large; "": by its name
	Patience    int     // epochs without improvement after which training stops; 0: it does not
	MinDelta    float64 // a change that is no larger is no improvement
	RestoreBest bool    // parameters of the best epoch come back when the epochs end

	// Communicator joins the processes that train together, its ranks: see New. nil: this process trains alone. Each rank is given
	// the whole data and takes its part of each batch; in a loop of one's own, Step is given the rank's part, which may be empty.
	Communicator Communicator
	ReduceIn     dtype.DType // Float16 or BFloat16: gradients of float32 are sent in 16 bits, and summed in float32; 0: sent as they are
	// ShardState lets each process keep and update the optimizer's state of a part of the parameters, which it then gives
	// the others: less memory, more to send, the same numbers.
	ShardState bool
	// SyncBatchNorm lets BatchNormalization take mean and variance of the samples of all processes, as in one process with the
	// whole batch; otherwise those of its own.
	SyncBatchNorm bool
	BucketBytes   int // gradients are summed over processes in groups of at least so many bytes; 0: 4 MiB

	Dir    string // for checkpoints (models and their state), history.csv and curves.png; "": none
	Resume bool   // go on from Dir's last checkpoint, if there is one
	Keep   int    // so many of the best epochs' models are kept in Dir besides last and best; 0: none

	// OnGradient gets the gradient of each parameter, in the order of the graph, before clipping and the update; it
	// may change its elements. With it all gradients are in memory before the first update. An error ends the
	// step, which changes nothing, and is returned wrapped with the parameter's name.
	OnGradient func(p *nn.Param, gradient *tensor.Dense) error
	// OnStep is called after each update. An error ends the run, or is what Step returns; with Dir a run of Epochs
	// leaves a checkpoint from which it can be resumed.
	OnStep  func(StepInfo) error
	Observe func(Event) // is told every event, too; nil: nobody is

	Log func(Event) // nil: a progress bar on a terminal, lines elsewhere, on standard error; see Quiet
}

// ParamGroup gives parameters settings of their own.
type ParamGroup struct {
	Match       []string    // globs on parameter names, * crosses slashes; nil: all
	Params      []*nn.Param // only these; nil: any
	Rank        int         // only parameters of at most this rank, 1 for biases and scales; 0: any
	Rate        float64     // factor on the rate; 0: 1; optim.Off: 0
	WeightDecay float64     // in place of the rule's WeightDecay; 0: the rule's; optim.Off: none
	Rule        optim.Rule  // nil: Config's
}

// Quiet is a Log that prints nothing.
func Quiet(Event) {}

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

// check refuses settings that make no sense.
func (c Config) check() error {
	for _, x := range []struct {
		name string
		n    int
	}{{"Steps", c.Steps}, {"Epochs", c.Epochs}, {"Batch", c.Batch}, {"MicroBatch", c.MicroBatch}, {"Accumulate", c.Accumulate}, {"Patience", c.Patience}, {"Keep", c.Keep}, {"BucketBytes", c.BucketBytes}} {
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
	switch {
	case c.ReduceIn != dtype.Undefined && c.ReduceIn != dtype.Float16 && c.ReduceIn != dtype.BFloat16:
		return fmt.Errorf("train: ReduceIn is %v: want Float16 or BFloat16", c.ReduceIn)
	case c.EMA >= 1:
		return fmt.Errorf("train: EMA is %v: want a decay below 1, 0.9998 say", c.EMA)
	case c.Mode != "" && c.Mode != "min" && c.Mode != "max":
		return fmt.Errorf("train: Mode is %q: want min or max", c.Mode)
	case c.Runtime != nil && c.Communicator != nil:
		return errors.New("train: Runtime computes for one process, Communicator joins several: take one of them")
	case c.Dir == "" && c.Resume:
		return errors.New("train: Resume wants a Dir to resume from")
	case c.Dir == "" && c.Keep > 0:
		return errors.New("train: Keep wants a Dir to keep models in")
	}
	return nil
}

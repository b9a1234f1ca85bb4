package cli

import (
	"fmt"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train"
	"github.com/spf13/cobra"
)

// rankFlags are the flags for training with several processes.
type rankFlags struct {
	reduceIn             string
	shardState, syncNorm bool
}

func (r *rankFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.reduceIn, "reduce-in", "float32", "several processes: type to exchange gradients in: float32, float16 or bfloat16")
	f.BoolVar(&r.shardState, "shard-state", false, "several processes: each keeps the optimizer state of some parameters only")
	f.BoolVar(&r.syncNorm, "sync-batchnorm", false, "several processes: BatchNormalization uses the statistics of the samples of all")
}

// settle copies the flags to the configuration of a run over c; a nil c is a run in a single process.
func (r rankFlags) settle(cmd *cobra.Command, config *train.Config, c train.Communicator) error {
	words := map[string]dtype.DType{"float32": 0, "float16": dtype.Float16, "bfloat16": dtype.BFloat16}
	in, ok := words[strings.ToLower(r.reduceIn)]
	if !ok {
		return fmt.Errorf("--reduce-in %s: want float32, float16 or bfloat16", r.reduceIn)
	}
	if c == nil {
		for _, name := range []string{"reduce-in", "shard-state", "sync-batchnorm"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for several processes that train together, as mpirun starts them with graft-mpi: this is a single process", name)
			}
		}
		return nil
	}
	config.Communicator, config.ReduceIn, config.ShardState, config.SyncBatchNorm = c, in, r.shardState, r.syncNorm
	return nil
}

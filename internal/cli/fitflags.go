package cli

import "github.com/spf13/cobra"

// fitFlags adds the training flags that prune has, too.
func (t *training) fitFlags(cmd *cobra.Command) {
	f, c := cmd.Flags(), &t.config
	f.IntVar(&c.Accumulate, "accumulate", 1, "number of batches whose gradients are accumulated for one update")
	f.StringVar(&t.loss, "loss", "", words(losses)+"; default: chosen by the targets")
	f.Float64Var(&t.smoothing, "label-smoothing", 0, "cross-entropy: label smoothing, from 0 to 1")
	f.StringVar(&t.optimizer, "optimizer", "adamw", words(rules))
	f.Float64Var(&t.settings.rate, "lr", 0, "learning rate; default: PyTorch's for the optimizer")
	f.Float64Var(&t.settings.decay, "weight-decay", 0, "weight decay; default: PyTorch's for the optimizer")
	f.Float64Var(&t.settings.momentum, "momentum", 0, "momentum of sgd and rmsprop")
	f.StringVar(&t.schedule, "schedule", "constant", words(schedules))
	f.Float64Var(&t.warmup, "warmup", 0, "fraction of the run in which the learning rate rises from 0")
	f.Float64Var(&c.ClipNorm, "clip-norm", 0, "clip the global norm of the gradients to this; 0: no clipping")
	f.Float64Var(&c.EMA, "ema", 0, "decay of an exponential moving average of the weights, which is then validated and saved; 0: none")
	f.StringArrayVar(&t.metrics, "metric", nil, words(metrics)+"; repeatable; default: chosen by the loss")
	f.StringVar(&t.weights, "class-weights", "", "class weights in the loss: auto, one number per class, or CLASS=NUMBER,…")
	f.BoolVar(&t.balanced, "balanced", false, "sample all classes equally often")
	f.Float64Var(&t.mixup, "mixup", 0, "mixup: blend pairs of samples, weights drawn from Beta(x, x); 0.2 is usual, 0: off")
	f.Float64Var(&t.cutmix, "cutmix", 0, "CutMix: paste a part of another image, its size drawn from Beta(x, x); 1 is usual, 0: off")
	f.StringArrayVar(&t.lrGroups, "lr-group", nil, "PATTERN=RATE, learning rate of the matching parameters or nodes; repeatable")
	f.StringVar(&t.teacher, "teacher", "", "model to distill from: its outputs are learned besides the targets")
	f.Float64Var(&t.alpha, "teacher-share", 0.5, "with --teacher: weight of the distillation loss, from 0 to 1")
	f.Float64Var(&t.temperature, "temperature", 2, "with --teacher: temperature that logits are divided by")
	f.IntVar(&c.Workers, "workers", 0, "parallel workers that load samples; 0: one per processor")
}

package cli

import "github.com/spf13/cobra"

// fitFlags adds the flags that say how a model is fitted, which prune has, too.
func (t *training) fitFlags(cmd *cobra.Command) {
	f, c := cmd.Flags(), &t.config
	f.IntVar(&c.Accumulate, "accumulate", 1, "batches that make one update together")
	f.StringVar(&t.loss, "loss", "", words(losses)+"; default: by the targets")
	f.Float64Var(&t.smoothing, "label-smoothing", 0, "of cross-entropy: share of the target that is spread over all classes")
	f.StringVar(&t.optimizer, "optimizer", "adamw", words(rules))
	f.Float64Var(&t.settings.rate, "lr", 0, "learning rate; default: the optimizer's, as PyTorch has it")
	f.Float64Var(&t.settings.decay, "weight-decay", 0, "weight decay; default: the optimizer's, as PyTorch has it")
	f.Float64Var(&t.settings.momentum, "momentum", 0, "of sgd and rmsprop")
	f.StringVar(&t.schedule, "schedule", "constant", words(schedules))
	f.Float64Var(&t.warmup, "warmup", 0, "share of the run in which the rate rises from 0")
	f.Float64Var(&c.ClipNorm, "clip-norm", 0, "gradients are scaled down to this norm; 0: they are not")
	f.Float64Var(&c.EMA, "ema", 0, "decay of a running average of the weights, which is what is validated and written; 0: none")
	f.StringArrayVar(&t.metrics, "metric", nil, words(metrics)+"; repeatable; default: by the loss")
	f.StringVar(&t.weights, "class-weights", "", "what classes count in the loss: auto, a number for each, or CLASS=NUMBER,…")
	f.BoolVar(&t.balanced, "balanced", false, "draw each class as often as the others")
	f.Float64Var(&t.mixup, "mixup", 0, "blend samples by twos, in shares drawn from Beta(x, x); 0.2 is usual, 0: do not")
	f.Float64Var(&t.cutmix, "cutmix", 0, "paste parts of other pictures, of shares drawn from Beta(x, x); 1 is usual, 0: do not")
	f.StringArrayVar(&t.lrGroups, "lr-group", nil, "GLOB=RATE: learning rate of some parameters, or nodes; repeatable")
	f.StringVar(&t.teacher, "teacher", "", "model whose answers are learned from, besides the classes")
	f.Float64Var(&t.alpha, "teacher-share", 0.5, "of --teacher: its share of the loss")
	f.Float64Var(&t.temperature, "temperature", 2, "of --teacher: what its scores are divided by before the softmax")
	f.IntVar(&c.Workers, "workers", 0, "goroutines that prepare samples; 0: as many as processors")
}

// Package prune removes the least important channels, heads and hidden units of a model.
//
// A Pruner makes an nn.Plan, which can be printed, written as JSON, applied and undone:
//
//	p := prune.Pruner{Target: prune.Target{MACs: 0.5}, RoundTo: 8}
//	plan, err := p.Plan(ctx, g)
//
// What can be removed, and what must be removed with it, comes from nn.Channels; how important it is, from a Criterion.
// Pruner.Steps prunes in several rounds, with fine-tuning in between.
package prune

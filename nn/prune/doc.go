// Package prune takes away the channels, heads and hidden units of a model that matter least.
//
// A Pruner plans; the plan is a nn.Plan to print, write as JSON, apply and undo:
//
//	p := prune.Pruner{Target: prune.Target{MACs: 0.5}, RoundTo: 8}
//	plan, err := p.Plan(ctx, g)
//
// What can be cut, and what goes with it, comes from nn.Channels; what matters, from a Criterion.
// Pruner.Steps prunes in several rounds with fine-tuning in between.
package prune

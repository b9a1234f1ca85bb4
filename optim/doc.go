// Package optim holds update rules and schedules.
//
// A [Rule] is a settings struct without state: Init makes the state of one
// weight, as named tensors called slots, and Step reads a gradient and updates
// the weight and its slots in place. The caller of a rule owns the slots, so
// that saving them, or cutting them along with a pruned weight ([Slot.Axes]),
// does not involve the rule.
//
// A [Schedule] is a pure function of the step, a factor on the rule's rate.
//
// Zero values are PyTorch's defaults; a field whose default is not zero is
// switched off with [Off]. All rules accept float32 and float64 weights, work
// in that type, allocate nothing in Step, and return errors, never panic, on
// tensors that do not fit.
//
//	rule := optim.AdamW{LR: 3e-4, WeightDecay: 0.05}
//	slots, err := rule.Init(w)
//	…
//	for step := range total {
//		h := optim.Hyper{Rate: optim.CosineLR{}.At(step, total), Step: step}
//		err = rule.Step(w, grad, slots, h)
//	}
package optim

// Package mutate makes random changes to the architecture of a model, for architecture search: it widens and narrows
// layers, adds and removes them, changes kernel sizes and activations, and adds and removes edges. Layers that depend on
// a change are adapted, so every mutant is a valid model that can be run and saved. The same seed gives the same mutants.
package mutate

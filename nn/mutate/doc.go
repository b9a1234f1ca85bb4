// Package mutate changes the architecture of a model at random, for searches: layers get wider and
// narrower, come and go, kernels and activations change, edges are added and removed. Whatever
// hangs together follows, so every mutant is a model that holds, runs and can be saved. The same
// seed gives the same mutants.
package mutate

// Package epiloguetest has the epilogues that the tests of convolutions and normalizations go through, and what they compute.
package epiloguetest

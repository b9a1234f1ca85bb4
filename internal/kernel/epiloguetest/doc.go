// Package epiloguetest holds epilogues, with their expected results, for the tests of convolutions and normalizations.
package epiloguetest

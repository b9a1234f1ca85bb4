// Package demo holds what the demonstration of the command line starts from: a small trained model in the binary, and
// the names of the classes that it knows and of those that it is to learn. Pictures come from internal/glyph.
package demo

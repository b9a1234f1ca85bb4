// Package demo has the data of the demonstration: a small trained model, embedded in the binary, the names of its classes, and of those
// that it learns. Images come from internal/glyph.
package demo

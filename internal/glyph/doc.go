// Package glyph renders seeded images of characters: the data of the demonstration, of examples and of end-to-end
// tests, so that training can be shown without a download.
//
// An image is Size × Size, one channel, bright ink on a dark ground. Face, size, place, rotation, slant, contrast and
// noise are random; image i of a seed depends on the seed and i alone, so a larger set begins with the smaller one.
// Values are multiples of 1/255: a set written as PNG files (WriteFolder) reads back as exactly the same numbers.
//
// The outlines are those of the Go font family (golang.org/x/image/font/gofont), which are compiled in.
package glyph

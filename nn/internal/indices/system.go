// Package indices finds out which indices of axes can only be removed or added together. It only works with numbers:
// lengths of axes, relations between the indices of two axes, axes that are products of factors, and ranges that are
// fixed. Package nn collects these from the operators of a graph (System); the sets of indices that can change
// independently (Forms) are the graph's channels.
//
// If axes are split into factors (heads·features, groups·within, c·h·w), only one factor of each axis can be free. A View
// is a choice of these.
package indices

import (
	"slices"

	"github.com/graft-ml/graft/nn/op/coupling"
)

// Axis is the number of an axis in a System.
type Axis int32

// Span is the indices of an axis as elements of a System: First … First+Size−1.
type Span struct{ First, Size int32 }

// Relation ties the indices of two axes in every view. By identifies its origin for the caller.
type Relation struct {
	A, B Axis
	Map  coupling.Map
	By   int
}

// Pin fixes indices Lo to Hi−1 of an axis.
type Pin struct {
	Axis   Axis
	Lo, Hi int32
	By     int  // its origin, for the caller
	Split  bool // another factor of the axis is free: By is that of the Split
}

// Split declares that axes are products of factors. In one view at most one factor of each axis is
// free: its indices can be removed, each with all elements that belong to it.
type Split struct {
	By       int  // its origin, for the caller
	Reshaped bool // the axes are those of a reshaped value, rather than groups
	Factors  []Factor
}

// Factor is one factor of a Split and its positions on axes.
type Factor struct {
	Size       int
	Normalized bool // a normalization runs over it
	Parts      []Part
}

// Part is the position of a factor on an axis of Outer·size·Inner indices.
type Part struct {
	Axis         Axis
	Outer, Inner int
}

// Place puts factor i on an axis, unless it is there already.
func (s *Split) Place(i int, id Axis, outer, inner int) {
	if f := &s.Factors[i]; !f.Holds(id) {
		f.Parts = append(f.Parts, Part{id, outer, inner})
	}
}

// Holds reports whether the factor is on an axis.
func (f *Factor) Holds(id Axis) bool {
	return slices.ContainsFunc(f.Parts, func(p Part) bool { return p.Axis == id })
}

// whole reports whether the factor is all of the axis.
func (p Part) whole() bool { return p.Outer == 1 && p.Inner == 1 }

// System is a set of axes with the relations, splits and pins declared for them.
type System struct {
	Spans     []Span // of the axes, one after the other
	Relations []Relation
	Norms     []Relation // ties by a normalization that runs over the indices of both
	Splits    []Split
	Pins      []Pin
}

// Add returns a new axis with size indices.
func (s *System) Add(size int32) (Axis, Span) {
	x := Span{s.Elements(), size}
	s.Spans = append(s.Spans, x)
	return Axis(len(s.Spans) - 1), x
}

// Elements returns the number of indices of all axes.
func (s *System) Elements() int32 {
	if n := len(s.Spans); n > 0 {
		return s.Spans[n-1].First + s.Spans[n-1].Size
	}
	return 0
}

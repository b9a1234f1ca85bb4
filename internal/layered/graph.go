package layered

import (
	"errors"
	"fmt"
)

// Node is a rectangle; X and Y, its upper left corner, are set by Place.
type Node struct {
	Width, Height float64
	First, Last   bool // is alone in the first or last layer
	X, Y          float64
}

// Wire runs from one node to others below it. Its targets share one line as long as they can.
type Wire struct {
	From  int     // the node it starts from, at its lower edge
	At    float64 // where, from the left of the node
	To    []Target
	Label float64 // width of the label to the right of its start
}

// Target is where a wire ends, at the upper edge of a node with a higher number than the one it starts from.
type Target struct {
	Node  int
	At    float64 // where, from the left of the node
	Fixed bool    // false: anywhere, beside the other edges
}

// Point is a place in the drawing, y downward.
type Point struct{ X, Y float64 }

// Segment is one part of a wire: a straight line downward from A to B if Straight, otherwise a curve that leaves A and reaches B
// vertically.
type Segment struct {
	A, B     Point
	Straight bool
	To       int // the node it ends in, -1 for none
}

// Drawing is where everything is.
type Drawing struct {
	Nodes         []Node
	Wires         [][]Segment // of each wire
	Width, Height float64
}

// Spacing are the distances of a drawing.
type Spacing struct {
	Nodes  float64 // between two nodes of a layer
	Wires  float64 // between two wires, or a wire and a node
	Layers float64 // between two layers
}

// Place computes a drawing.
func (s Spacing) Place(nodes []Node, wires []Wire) (*Drawing, error) {
	for i, w := range wires {
		if w.From < 0 || w.From >= len(nodes) || len(w.To) == 0 {
			return nil, fmt.Errorf("wire %d of %d runs from node %d of %d to %d nodes", i, len(wires), w.From, len(nodes), len(w.To))
		}
		for _, to := range w.To {
			if to.Node <= w.From || to.Node >= len(nodes) {
				return nil, fmt.Errorf("wire %d runs from node %d to %d of %d: want a higher number", i, w.From, to.Node, len(nodes))
			}
		}
	}
	if len(nodes) == 0 {
		return nil, errors.New("no nodes to draw")
	}
	l := newLayout(s, nodes, wires)
	l.order()
	l.place()
	return l.draw(), nil
}

// Package diagram draws a graph of layers as SVG: nodes with their operators and the shapes of their weights, edges
// with the shapes of the values, bodies of control flow inside their nodes, and repeated sequences of nodes as one
// block. Constants and shape arithmetic are drawn inside the nodes that read them.
package diagram

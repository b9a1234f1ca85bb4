// Package diagram draws a graph of layers as SVG: nodes with their operators and the shapes of their weights, wires with the shapes
// of the values, bodies of control flow inside their nodes, and rows of nodes that repeat as one block. What is known before
// anything runs, constants and arithmetic on shapes, stands in the nodes that read it.
package diagram

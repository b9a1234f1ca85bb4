// Package layered places the nodes of a directed graph without cycles in layers from top to bottom, so that wires run
// downward, cross little and are mostly straight: the steps of Sugiyama, Tagawa and Toda (Methods for visual understanding
// of hierarchical system structures, 1981). Layers are longest paths, crossings are reduced by medians as in Gansner, Koutsofios,
// North and Vo (A technique for drawing directed graphs, 1993), and places within a layer minimize weighted distances to the
// neighbors by isotonic regression. The same graph is always placed alike.
package layered

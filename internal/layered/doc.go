// Package layered is a layered layout of directed acyclic graphs, from top to bottom, with few crossings and mostly
// straight edges: the steps of Sugiyama, Tagawa and Toda (Methods for visual understanding of hierarchical system
// structures, 1981). Layers are longest paths, crossings are reduced by medians as in Gansner, Koutsofios, North and Vo
// (A technique for drawing directed graphs, 1993), and positions within a layer minimize weighted distances to the
// neighbors by isotonic regression. The result is deterministic.
package layered

package layered

import "slices"

// item is an element of a layer: a node, or the point where an edge passes through the layer.
type item struct {
	node   int // its number, -1 for a wire that passes
	wire   int // the wire that passes, -1 for a node
	layer  int
	pos    int // in the layer
	width  float64
	center float64
	above  []link // where its wires come from
	below  []link
}

// link leads to an item in the next layer above or below.
type link struct {
	item   int
	own    float64 // where the wire touches this item, from its center
	other  float64 // and the other one
	weight float64
}

// layout is a drawing in the making.
type layout struct {
	Spacing
	nodes  []Node
	wires  []Wire
	items  []item // the nodes first, by their numbers
	layers [][]int
	passes [][]int // of each wire: the items that it passes, from the layer below its start on
	source []bool  // nodes that no wire reaches
}

func newLayout(s Spacing, nodes []Node, wires []Wire) *layout {
	l := &layout{Spacing: s, nodes: slices.Clone(nodes), wires: wires, passes: make([][]int, len(wires))}
	depth := l.depths()
	for i, n := range nodes {
		l.items = append(l.items, item{node: i, wire: -1, layer: depth[i], width: n.Width})
	}
	for w, wire := range wires {
		last := 0
		for _, to := range wire.To {
			last = max(last, depth[to.Node])
		}
		at := wire.From
		for layer := depth[wire.From] + 1; layer <= last; layer++ {
			for _, to := range wire.To {
				if depth[to.Node] == layer {
					l.connect(at, to, w)
				}
			}
			if layer < last {
				next := len(l.items)
				l.items = append(l.items, item{node: -1, wire: w, layer: layer})
				l.connect(at, Target{Node: next}, w)
				l.passes[w] = append(l.passes[w], next)
				at = next
			}
		}
	}
	l.layers = make([][]int, slices.Max(depth)+1)
	return l
}

// connect adds the links between an item and one in the next layer. Edges between nodes have the
// largest weight, so that consecutive nodes are aligned vertically, and those from nodes without
// predecessors the smallest.
func (l *layout) connect(a int, to Target, wire int) {
	b := to.Node
	weight, start, stop := 2.0, 0.0, 0.0
	if to.Fixed {
		stop = to.At - l.items[b].width/2
	}
	if l.items[a].node >= 0 {
		start = l.wires[wire].At - l.items[a].width/2
	}
	switch passing := l.items[b].node < 0; {
	case l.items[a].node >= 0 && l.source[a]:
		weight = 0.5
	case l.items[a].node >= 0 && !passing:
		weight = 4
	case l.items[a].node < 0 && passing:
		weight = 3
	}
	l.items[a].below = append(l.items[a].below, link{b, start, stop, weight})
	l.items[b].above = append(l.items[b].above, link{a, stop, start, weight})
}

// depths returns the layers of the nodes: as low as their readers allow, then as high as their inputs
// allow if these are more. Nodes without readers are as high as possible.
func (l *layout) depths() []int {
	first, end := l.has(func(n Node) bool { return n.First }), l.has(func(n Node) bool { return n.Last })
	depth := make([]int, len(l.nodes))
	above, below := make([][]int, len(l.nodes)), make([][]int, len(l.nodes))
	wires := make([]int, len(l.nodes)) // that leave the node
	for _, wire := range l.wires {
		wires[wire.From]++
		for _, to := range wire.To {
			below[wire.From] = append(below[wire.From], to.Node)
			above[to.Node] = append(above[to.Node], wire.From)
		}
	}
	highest := func(i int) int {
		at := 0
		if first && !l.nodes[i].First {
			at = 1
		}
		for _, k := range above[i] {
			at = max(at, depth[k]+1)
		}
		return at
	}
	l.source = make([]bool, len(l.nodes))
	last := 0
	for i, n := range l.nodes {
		depth[i] = highest(i)
		l.source[i] = len(above[i]) == 0
		if last = max(last, depth[i]); !n.Last && end {
			last = max(last, depth[i]+1)
		}
	}
	for i, n := range slices.Backward(l.nodes) {
		if n.Last {
			depth[i] = last
		}
		if len(below[i]) > 0 && !n.First {
			depth[i] = last
			for _, k := range below[i] {
				depth[i] = min(depth[i], depth[k]-1)
			}
		}
	}
	for i, n := range l.nodes {
		if len(above[i]) > wires[i] && !n.Last {
			depth[i] = highest(i)
		}
	}
	return depth
}

func (l *layout) has(f func(Node) bool) bool { return slices.ContainsFunc(l.nodes, f) }

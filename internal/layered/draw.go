package layered

import (
	"cmp"
	"slices"
)

// draw computes the positions of nodes and edges.
func (l *layout) draw() *Drawing {
	d := &Drawing{Nodes: l.nodes, Wires: make([][]Segment, len(l.wires))}
	top, bottom := make([]float64, len(l.layers)), make([]float64, len(l.layers))
	left := l.left()
	for i, layer := range l.layers {
		if i > 0 {
			top[i] = bottom[i-1] + l.Layers
		}
		bottom[i] = top[i]
		for _, x := range layer {
			it := &l.items[x]
			if it.center -= left; it.node < 0 {
				continue
			}
			n := &d.Nodes[it.node]
			n.X, n.Y = it.center-n.Width/2, top[i]
			bottom[i] = max(bottom[i], top[i]+n.Height)
			d.Width = max(d.Width, n.X+n.Width)
		}
	}
	d.Height = bottom[len(bottom)-1]
	entries := l.entries()
	for w, wire := range l.wires {
		from := &d.Nodes[wire.From]
		at := Point{from.X + wire.At, from.Y + from.Height}
		if low := bottom[l.items[wire.From].layer]; low > at.Y {
			d.Wires[w] = append(d.Wires[w], Segment{at, Point{at.X, low}, true, -1})
			at.Y = low
		}
		d.Width = max(d.Width, at.X+wire.Label)
		layer := l.items[wire.From].layer + 1
		for i := 0; ; i++ {
			for _, to := range wire.To {
				if l.items[to.Node].layer == layer {
					d.Wires[w] = append(d.Wires[w], Segment{at, Point{entries[end{w, to.Node}], top[layer]}, false, to.Node})
				}
			}
			if i == len(l.passes[w]) {
				break
			}
			x := l.items[l.passes[w][i]].center
			d.Width = max(d.Width, x)
			d.Wires[w] = append(d.Wires[w], Segment{at, Point{x, top[layer]}, false, -1}, Segment{Point{x, top[layer]}, Point{x, bottom[layer]}, true, -1})
			at = Point{x, bottom[layer]}
			layer++
		}
	}
	return d
}

// left returns the leftmost coordinate.
func (l *layout) left() float64 {
	left := l.items[0].center
	for _, it := range l.items {
		left = min(left, it.center-it.width/2)
	}
	return left
}

// end is where a wire reaches a node.
type end struct{ wire, node int }

// entries are where the wires reach their nodes: side by side, in the order in which they come.
func (l *layout) entries() map[end]float64 {
	at := map[end]float64{}
	type arrival struct {
		wire int
		x    float64
	}
	coming := make([][]arrival, len(l.nodes))
	for w, wire := range l.wires {
		for _, to := range wire.To {
			if to.Fixed {
				at[end{w, to.Node}] = l.items[to.Node].center - l.items[to.Node].width/2 + to.At
				continue
			}
			last := l.items[to.Node].layer - l.items[wire.From].layer - 2 // the pass in the layer above
			x := l.items[wire.From].center - l.items[wire.From].width/2 + wire.At
			if last >= 0 {
				x = l.items[l.passes[w][last]].center
			}
			coming[to.Node] = append(coming[to.Node], arrival{w, x})
		}
	}
	for to, list := range coming {
		slices.SortStableFunc(list, func(a, b arrival) int { return cmp.Compare(a.x, b.x) })
		it := &l.items[to]
		step := min(2*l.Wires, it.width/float64(len(list)+1))
		for i, a := range list {
			at[end{a.wire, to}] = it.center + step*(float64(i)-float64(len(list)-1)/2)
		}
	}
	return at
}

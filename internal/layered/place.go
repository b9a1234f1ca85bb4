package layered

import (
	"cmp"
	"slices"
)

// moves is the number of passes over all layers, alternately down and up, that move items toward their neighbors.
const moves = 24

// place sets the centers of all items.
func (l *layout) place() {
	for i := range l.layers {
		l.settle(i, nil)
	}
	for move := range moves {
		if move%2 == 0 {
			for i := 1; i < len(l.layers); i++ {
				l.settle(i, func(x *item) []link { return x.above })
			}
		} else {
			for i := len(l.layers) - 2; i >= 0; i-- {
				l.settle(i, func(x *item) []link { return x.below })
			}
		}
	}
	for i := range l.layers {
		l.settle(i, func(x *item) []link { return append(slices.Clone(x.above), x.below...) })
	}
}

// pull is a place where a neighbor wants an item.
type pull struct{ at, weight float64 }

// pool is a group of adjacent items that cannot all be at their preferred positions.
type pool struct {
	items []int // by their positions in the layer
	pulls []pull
	at    float64
}

// settle moves the items of a layer to where the sum of the weighted distances to their neighbors is least, the order and the
// distances between them kept: isotonic regression by pooling adjacent violators, with medians.
func (l *layout) settle(layer int, neighbors func(*item) []link) {
	list := l.layers[layer]
	shift := make([]float64, len(list)) // of an item, were all as close together as they may be
	for i := 1; i < len(list); i++ {
		shift[i] = shift[i-1] + l.apart(&l.items[list[i-1]], &l.items[list[i]])
	}
	var pools []pool
	for i, x := range list {
		it := &l.items[x]
		p := pool{items: []int{i}}
		if neighbors != nil {
			for _, k := range neighbors(it) {
				p.pulls = append(p.pulls, pull{l.items[k.item].center + k.other - k.own - shift[i], k.weight})
			}
		}
		if len(p.pulls) == 0 {
			p.pulls = []pull{{it.center - shift[i], 0.01}}
		}
		p.at = median(p.pulls)
		for len(pools) > 0 && pools[len(pools)-1].at > p.at {
			last := pools[len(pools)-1]
			pools = pools[:len(pools)-1]
			p.items = append(last.items, p.items...)
			p.pulls = append(last.pulls, p.pulls...)
			p.at = median(p.pulls)
		}
		pools = append(pools, p)
	}
	for _, p := range pools {
		for _, i := range p.items {
			l.items[list[i]].center = p.at + shift[i]
		}
	}
}

// apart returns the least distance between the centers of two neighbors.
func (l *layout) apart(a, b *item) float64 {
	gap := l.Wires
	if a.node >= 0 && b.node >= 0 {
		gap = l.Nodes
	}
	return a.width/2 + gap + b.width/2
}

// median returns the point with the least sum of weighted distances, between two such points the middle.
func median(pulls []pull) float64 {
	slices.SortFunc(pulls, func(a, b pull) int { return cmp.Compare(a.at, b.at) })
	var total, sum float64
	for _, p := range pulls {
		total += p.weight
	}
	for i, p := range pulls {
		sum += p.weight
		switch {
		case 2*sum > total:
			return p.at
		case 2*sum == total:
			return (p.at + pulls[i+1].at) / 2
		}
	}
	return pulls[len(pulls)-1].at
}

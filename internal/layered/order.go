package layered

import (
	"cmp"
	"slices"
)

// rounds bounds the passes over all layers that look for an order with fewer crossings.
const rounds = 16

// order sets the order of the items of each layer: the best of the orders by medians of the layer
// above and, alternately, of that below.
func (l *layout) order() {
	l.first()
	best, fewest := l.copyLayers(), l.crossings()
	for round := 0; round < rounds && fewest > 0; round++ {
		if round%2 == 0 {
			for i := 1; i < len(l.layers); i++ {
				l.sortLayer(i, func(x *item) []link { return x.above })
			}
		} else {
			for i := len(l.layers) - 2; i >= 0; i-- {
				l.sortLayer(i, func(x *item) []link { return x.below })
			}
		}
		l.transpose()
		if n := l.crossings(); n < fewest {
			best, fewest = l.copyLayers(), n
		}
	}
	l.layers = best
	for _, layer := range l.layers {
		l.number(layer)
	}
}

// first fills the layers in the order of a walk along the wires.
func (l *layout) first() {
	seen := make([]bool, len(l.items))
	var stack []int
	for i := range l.nodes {
		stack = append(stack, i)
		for len(stack) > 0 {
			x := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[x] {
				continue
			}
			seen[x] = true
			it := &l.items[x]
			it.pos = len(l.layers[it.layer])
			l.layers[it.layer] = append(l.layers[it.layer], x)
			for k := len(it.below) - 1; k >= 0; k-- {
				stack = append(stack, it.below[k].item)
			}
		}
	}
}

func (l *layout) number(layer []int) {
	for i, x := range layer {
		l.items[x].pos = i
	}
}

func (l *layout) copyLayers() [][]int {
	list := make([][]int, len(l.layers))
	for i, layer := range l.layers {
		list[i] = slices.Clone(layer)
	}
	return list
}

// sortLayer sorts a layer by the medians of the items' neighbors; an item without neighbors stays where it is.
func (l *layout) sortLayer(i int, neighbors func(*item) []link) {
	layer := l.layers[i]
	key := make(map[int]float64, len(layer))
	var movable []int
	for _, x := range layer {
		if links := neighbors(&l.items[x]); len(links) > 0 {
			key[x] = l.median(links)
			movable = append(movable, x)
		}
	}
	slices.SortStableFunc(movable, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
	for k, x := range layer {
		if _, ok := key[x]; ok {
			layer[k] = movable[0]
			movable = movable[1:]
		}
	}
	l.number(layer)
}

// median is that of the neighbors' positions, between two of them the mean.
func (l *layout) median(links []link) float64 {
	at := make([]float64, len(links))
	for i, k := range links {
		at[i] = l.rank(k.item, k.other)
	}
	slices.Sort(at)
	return (at[(len(at)-1)/2] + at[len(at)/2]) / 2
}

// rank returns the position of a place on an item: items are one apart, places on them less.
func (l *layout) rank(x int, offset float64) float64 {
	it := &l.items[x]
	return float64(it.pos) + offset/(it.width+1)
}

// transpose swaps neighbors in a layer as long as that saves crossings.
func (l *layout) transpose() {
	for pass, improved := 0, true; improved && pass < 4; pass++ {
		improved = false
		for _, layer := range l.layers {
			for i := 0; i+1 < len(layer); i++ {
				a, b := &l.items[layer[i]], &l.items[layer[i+1]]
				if l.between(a.above, b.above)+l.between(a.below, b.below) > l.between(b.above, a.above)+l.between(b.below, a.below) {
					layer[i], layer[i+1] = layer[i+1], layer[i]
					a.pos, b.pos = b.pos, a.pos
					improved = true
				}
			}
		}
	}
}

// between counts the crossings of the links of an item with those of one at its right.
func (l *layout) between(left, right []link) int {
	n := 0
	for _, a := range left {
		for _, b := range right {
			if l.rank(a.item, a.other) > l.rank(b.item, b.other) {
				n++
			}
		}
	}
	return n
}

// crossings counts those of all links: inversions of the ends, in the order of the starts.
func (l *layout) crossings() int {
	n := 0
	for _, layer := range l.layers {
		type line struct{ top, bottom float64 }
		var lines []line
		for _, x := range layer {
			for _, k := range l.items[x].below {
				lines = append(lines, line{l.rank(x, k.own), l.rank(k.item, k.other)})
			}
		}
		slices.SortFunc(lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.top, b.top), cmp.Compare(a.bottom, b.bottom)) })
		var ends []float64 // of the lines so far, sorted
		for _, x := range lines {
			at, _ := slices.BinarySearch(ends, x.bottom)
			for k := at; k < len(ends) && ends[k] == x.bottom; k++ {
				at++
			}
			n += len(ends) - at
			ends = slices.Insert(ends, at, x.bottom)
		}
	}
	return n
}

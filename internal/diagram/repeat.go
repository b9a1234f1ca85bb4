package diagram

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
)

// part is a node, or a block of parts that the model holds several times, one after the other.
type part struct {
	node  *nn.Node
	times int    // of a block
	block []part // its first instance
	all   []*nn.Node
}

// nodes calls f for each node of the part that is drawn.
func (p part) nodes(f func(*nn.Node)) {
	if p.node != nil {
		f(p.node)
	}
	for _, q := range p.block {
		q.nodes(f)
	}
}

// folding finds blocks in a row of nodes.
type folding struct {
	visible map[*nn.Node]bool
	outputs map[*nn.Value]bool
	same    map[*nn.Value]*nn.Value // a value of the last instance of a block: that of the instance that is drawn
	opsets  map[string]int
}

// least is the number of nodes that a block must save, and perWire the additional number for each edge
// that enters or leaves it.
const least, perWire = 3, 3

// parts returns the nodes with their repetitions folded.
func (f *folding) parts(nodes []*nn.Node) []part {
	from, length, times := f.best(nodes)
	if times == 0 {
		list := make([]part, len(nodes))
		for i, n := range nodes {
			list[i] = part{node: n}
		}
		return list
	}
	list := f.parts(nodes[:from])
	end := from + length*times
	for i := range length {
		a, b := nodes[from+i].Outputs(), nodes[end-length+i].Outputs()
		for k := range min(len(a), len(b)) {
			if a[k] != nil && b[k] != nil {
				f.same[b[k]] = a[k]
			}
		}
	}
	list = append(list, part{times: times, block: f.parts(nodes[from : from+length]), all: nodes[from:end]})
	return append(list, f.parts(nodes[end:])...)
}

// best returns the sequence of instances that saves most; times is 0 if there is none.
func (f *folding) best(nodes []*nn.Node) (from, length, times int) {
	forms := make([]uint64, len(nodes))
	for i, n := range nodes {
		forms[i] = f.form(n)
	}
	most := least - 1
	for l := 2; l <= len(nodes)/2; l++ {
		for i := 0; i+l < len(nodes); {
			n := 0
			for i+n+l < len(nodes) && forms[i+n] == forms[i+n+l] {
				n++
			}
			for start := i; start+l <= i+n; start++ {
				count := (i+n-start)/l + 1
				if (count-1)*l <= most {
					break
				}
				if wires, ok := f.fits(nodes, start, l, count); ok && (count-1)*l-perWire*wires > most-perWire {
					most, from, length, times = (count-1)*l-perWire*(wires-1), start, l, count
				}
			}
			i += n + 1
		}
	}
	return from, length, times
}

// fits reports whether sequences of equal nodes have equal connections: each reads of the previous one
// what the second reads of the first, and only the last is read by others. wires is the number of
// edges that enter or leave them.
func (f *folding) fits(nodes []*nn.Node, start, length, times int) (wires int, ok bool) {
	type port struct{ node, out int }
	where := map[*nn.Value]port{}
	instance := map[*nn.Node]int{}
	for i := range length * times {
		n := nodes[start+i]
		instance[n] = i / length
		for k, v := range n.Outputs() {
			if v != nil {
				where[v] = port{i, k}
			}
		}
	}
	carried := map[port]*nn.Value{}
	entering := map[*nn.Value]bool{}
	for i := range length * times {
		first, this := reads(nodes[start+i%length]), reads(nodes[start+i])
		at := i / length
		for k, v := range this {
			a, p := first[k], port{}
			if v != nil {
				var inside bool
				if p, inside = where[v]; !inside {
					if a != v && (f.drawn(a) || f.drawn(v)) {
						return 0, false
					}
					if f.drawn(v) {
						entering[v] = true
					}
					continue
				}
			}
			switch {
			case v == nil || a == nil:
				if v != a {
					return 0, false
				}
			case p.node/length == at:
				q, inside := where[a]
				if !inside || q != (port{p.node % length, p.out}) {
					return 0, false
				}
			case p.node/length == at-1:
				q := port{p.node % length, p.out}
				if _, inside := where[a]; inside || carried[q] != nil && carried[q] != a || !f.drawn(a) {
					return 0, false
				}
				carried[q] = a
				entering[a] = true
			default:
				return 0, false
			}
		}
	}
	wires = len(entering)
	for v, p := range where {
		outside := f.outputs[v]
		for _, u := range v.Users() {
			if at, inside := instance[u]; f.visible[u] && (!inside || at > p.node/length+1) {
				outside = true
			}
		}
		if outside && p.node/length < times-1 {
			return 0, false
		}
		if outside {
			wires++
		}
	}
	return wires, true
}

// drawn reports whether a value is a wire: an input, or computed by a node that is drawn.
func (f *folding) drawn(v *nn.Value) bool {
	return v != nil && v.Param() == nil && (v.Producer() == nil || f.visible[v.Producer()])
}

// reads returns the values that a node reads, those of its bodies too.
func reads(n *nn.Node) []*nn.Value { return append(n.Inputs(), n.Captured()...) }

// form is equal for nodes that do the same with weights and values of the same shapes.
func (f *folding) form(n *nn.Node) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, n.Domain(), "\x00", n.Type(), "\x00")
	if c := n.Config(); c != nil {
		for _, a := range op.Encode(f.opsets[n.Domain()], c) {
			if len(n.Bodies()) == 0 {
				fmt.Fprint(h, a.Name, a.Value, "\x00")
			}
		}
	}
	for _, b := range n.Bodies() { // only one and the same is alike
		fmt.Fprintf(h, "%p", b)
	}
	for _, v := range slices.Concat(reads(n), n.Outputs()) {
		if v == nil {
			fmt.Fprint(h, "-")
			continue
		}
		fmt.Fprint(h, f.drawn(v), v.Type(), "\x00")
	}
	return h.Sum64()
}

// inLayers sorts nodes by the number of nodes with weights before them, so that preprocessing that a
// block needs is placed before the first block and not in it.
func inLayers(nodes []*nn.Node) []*nn.Node {
	depth := map[*nn.Node]int{}
	for _, n := range nodes {
		own := 0
		for _, v := range reads(n) {
			if weighted(v) {
				own = 1
			}
			depth[n] = max(depth[n], depth[v.Producer()])
		}
		depth[n] += own
	}
	list := slices.Clone(nodes)
	slices.SortStableFunc(list, func(a, b *nn.Node) int { return depth[a] - depth[b] })
	return list
}

// weighted reports whether a value is a weight, perhaps in another form.
func weighted(v *nn.Value) bool {
	for v != nil && v.Producer() != nil && len(v.Producer().Inputs()) > 0 {
		v = v.Producer().In(0)
	}
	return v.Param() != nil && v.Param().Role() != nn.Constant
}

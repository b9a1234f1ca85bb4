package nn

import "slices"

// nodeList is the list of a graph's nodes: topological, except within an edit. Nodes that an edit removes are marked, and leave the list when
// it is next read, so that removing them one by one takes no time in proportion to the graph.
type nodeList struct {
	list    []*Node
	removed int // how many nodes of the list are marked
}

// nodes returns the nodes of the graph. The caller must not change the list.
func (l *nodeList) nodes() []*Node {
	if l.removed > 0 {
		l.compact()
	}
	return l.list
}

func (l *nodeList) compact() {
	*l = nodeList{list: slices.DeleteFunc(slices.Clone(l.list), func(n *Node) bool { return n.removed })}
}

// clipped returns the list for restoring: what is appended to it later does not reach others.
func (l nodeList) clipped() nodeList { return nodeList{slices.Clip(l.list), l.removed} }

// listNode appends a node. Like removeNode, it is reverted by restoring the list as it was.
func (l *nodeList) listNode(n *Node) { l.list = append(l.list, n) }

// removeNode marks a node of the list as removed.
func (l *nodeList) removeNode(n *Node) {
	n.removed = true
	l.removed++
}

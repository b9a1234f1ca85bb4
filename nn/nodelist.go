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
	l.setNodes(slices.DeleteFunc(slices.Clone(l.list), func(n *Node) bool { return n.removed }))
}

// setNodes makes the nodes, of which none is marked, those of the graph.
func (l *nodeList) setNodes(list []*Node) { l.restore(nodeList{list: list}) }

// restore makes the list what it was. What is appended later does not reach other lists.
func (l *nodeList) restore(was nodeList) {
	moved := len(was.list) > 0 && (len(was.list) > len(l.list) || &was.list[0] != &l.list[0])
	if *l = (nodeList{slices.Clip(was.list), was.removed}); moved {
		for i, n := range l.list {
			n.at = i
		}
	}
}

// listNode appends a node. Like removeNode, it is reverted by restoring the list.
func (l *nodeList) listNode(n *Node) {
	n.at = len(l.list)
	l.list = append(l.list, n)
}

// removeNode marks a node of the list as removed.
func (l *nodeList) removeNode(n *Node) {
	n.removed = true
	l.removed++
}

// lists reports whether the list has the node.
func (l *nodeList) lists(n *Node) bool {
	list := l.nodes()
	return n.at < len(list) && list[n.at] == n
}

// inOrder sorts nodes of one graph as its list does.
func inOrder(nodes []*Node) {
	slices.SortFunc(nodes, func(a, b *Node) int { return a.at - b.at })
}

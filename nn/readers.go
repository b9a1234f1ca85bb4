package nn

import "slices"

// many is the length from which lists of readers and of what a node reads have an index.
const many = 32

// use records that n reads v. Since the first such call for n, no other node must have been added to v's users.
func (v *Value) use(n *Node) {
	if v == nil || len(v.users) > 0 && v.users[len(v.users)-1] == n {
		return
	}
	if v.places != nil {
		v.places[n] = len(v.users)
	}
	v.users = append(v.users, n)
}

// unuse records that n no longer reads v. Of a long list it moves the last user to the place of n.
func (v *Value) unuse(n *Node) {
	switch last := len(v.users) - 1; {
	case v.places != nil:
		i, ok := v.places[n]
		if !ok {
			return
		}
		moved := v.users[last]
		v.users[i], v.places[moved] = moved, i
		v.users[last] = nil
		v.users = v.users[:last]
		if delete(v.places, n); last < many/2 {
			v.places = nil
		}
	case last >= 0 && v.users[0] == n:
		v.users = v.users[1:]
	case last >= 0 && v.users[last] == n:
		v.users = v.users[:last:last]
	case last < many:
		v.users = slices.DeleteFunc(slices.Clone(v.users), func(u *Node) bool { return u == n })
	default:
		v.users = slices.Clone(v.users)
		v.places = make(map[*Node]int, len(v.users))
		for i, u := range v.users {
			v.places[u] = i
		}
		v.unuse(n)
	}
}

// useAll makes n a user of every value that it reads; it must not be a user yet.
func (n *Node) useAll() {
	for _, v := range n.reads() {
		v.use(n)
	}
}

func (n *Node) unuseAll() {
	for _, v := range n.reads() {
		if v != nil {
			v.unuse(n)
		}
	}
}

// readPlaces finds what a node reads, for nodes that read many values: the indices of each value, those of captured values after the others.
type readPlaces map[*Value][]int

// index returns the places of what n reads, nil if that is little. From then on the lists of n are its own.
func (n *Node) index() readPlaces {
	if n.places == nil && len(n.in)+len(n.captured) >= many {
		n.in, n.captured = slices.Clone(n.in), slices.Clone(n.captured)
		n.places = readPlaces{}
		for i, v := range n.reads() {
			n.places[v] = append(n.places[v], i)
		}
	}
	return n.places
}

// readsValue reports whether v is an input or a captured value of n.
func (n *Node) readsValue(v *Value) bool {
	if n.places != nil {
		return len(n.places[v]) > 0
	}
	return slices.Contains(n.in, v) || slices.Contains(n.captured, v)
}

// where returns the indices at which n reads v.
func (n *Node) where(v *Value) (list []int) {
	if places := n.index(); places != nil {
		return slices.Clone(places[v])
	}
	for i, x := range n.reads() {
		if x == v {
			list = append(list, i)
		}
	}
	return list
}

// read returns what n reads at an index.
func (n *Node) read(i int) *Value {
	if i < len(n.in) {
		return n.in[i]
	}
	return n.captured[i-len(n.in)]
}

// replaceRead makes n read x, nil for nothing, at an index.
func (n *Node) replaceRead(i int, x *Value) {
	places := n.index()
	before := x != nil && n.readsValue(x)
	list, k := &n.in, i
	if i >= len(n.in) {
		list, k = &n.captured, i-len(n.in)
	}
	if places == nil {
		*list = slices.Clone(*list)
	}
	prev := (*list)[k]
	(*list)[k] = x
	if places != nil {
		at := slices.Index(places[prev], i)
		if places[prev] = slices.Delete(places[prev], at, at+1); len(places[prev]) == 0 {
			delete(places, prev)
		}
		places[x] = append(places[x], i)
	}
	if prev != nil && !n.readsValue(prev) {
		prev.unuse(n)
	}
	if !before {
		x.use(n)
	}
}

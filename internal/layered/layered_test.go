package layered

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

var spacing = Spacing{Nodes: 20, Wires: 10, Layers: 30}

// random returns a graph of n nodes with wires to nodes that are mostly near.
func random(n int, seed uint64) ([]Node, []Wire) {
	r := rand.New(rand.NewPCG(seed, 1))
	nodes := make([]Node, n)
	var wires []Wire
	for i := range nodes {
		nodes[i] = Node{Width: 40 + 80*r.Float64(), Height: 20 + 60*r.Float64()}
		if i == n-1 {
			break
		}
		w := Wire{From: i, At: nodes[i].Width * r.Float64()}
		for range 1 + r.IntN(3) {
			w.To = append(w.To, Target{Node: min(n-1, i+1+r.IntN(1+r.IntN(12)))})
		}
		wires = append(wires, w)
	}
	return nodes, wires
}

// TestPlace checks that nodes do not overlap, and that edges run downward from the lower edge of one
// node to the upper edge of another, without gaps.
func TestPlace(t *testing.T) {
	for seed := range uint64(8) {
		nodes, wires := random(10+int(seed)*40, seed)
		d, err := spacing.Place(nodes, wires)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range d.Nodes {
			if a.X < -1e-9 || a.X+a.Width > d.Width+1e-9 || a.Y+a.Height > d.Height+1e-9 {
				t.Fatalf("graph %d: node %d is at %v %v, outside of %v×%v", seed, i, a.X, a.Y, d.Width, d.Height)
			}
			for k, b := range d.Nodes[:i] {
				if a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height {
					t.Fatalf("graph %d: nodes %d and %d overlap", seed, k, i)
				}
			}
		}
		for i, segments := range d.Wires {
			from := d.Nodes[wires[i].From]
			reached := map[int]bool{}
			joints := map[Point]bool{{from.X + wires[i].At, from.Y + from.Height}: true}
			for _, s := range segments {
				if !joints[s.A] || s.B.Y < s.A.Y || s.Straight && s.A.X != s.B.X {
					t.Fatalf("graph %d: wire %d has a segment %v", seed, i, s)
				}
				joints[s.B] = true
				if s.To < 0 {
					continue
				}
				reached[s.To] = true
				if to := d.Nodes[s.To]; s.B.Y != to.Y || s.B.X < to.X || s.B.X > to.X+to.Width {
					t.Fatalf("graph %d: wire %d ends at %v, node %d is %v", seed, i, s.B, s.To, to)
				}
			}
			for _, to := range wires[i].To {
				if !reached[to.Node] {
					t.Fatalf("graph %d: wire %d does not reach node %d", seed, i, to.Node)
				}
			}
		}
		if again, err := spacing.Place(nodes, wires); err != nil || !reflect.DeepEqual(again, d) {
			t.Fatalf("graph %d is placed otherwise a second time: %v", seed, err)
		}
	}
}

// TestStraight checks that consecutive nodes are aligned vertically, with an edge that bypasses them beside them.
func TestStraight(t *testing.T) {
	nodes := make([]Node, 12)
	var wires []Wire
	for i := range nodes {
		nodes[i] = Node{Width: 50 + 10*float64(i%3), Height: 20}
		if i > 0 {
			wires = append(wires, Wire{From: i - 1, At: nodes[i-1].Width / 2, To: []Target{{Node: i}}})
		}
	}
	wires[2].To = append(wires[2].To, Target{Node: 9})
	d, err := spacing.Place(nodes, wires)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range d.Nodes {
		if at, first := n.X+n.Width/2, d.Nodes[0].X+d.Nodes[0].Width/2; at != first {
			t.Errorf("node %d stands at %v, the first at %v", i, at, first)
		}
	}
}

// TestOrder checks that avoidable crossings are avoided, and that nodes declared first and last are so.
func TestOrder(t *testing.T) {
	nodes := make([]Node, 6)
	for i := range nodes {
		nodes[i] = Node{Width: 30, Height: 20}
	}
	nodes[1].First, nodes[5].Last = true, true
	l := newLayout(spacing, nodes, []Wire{
		{From: 0, At: 15, To: []Target{{Node: 3}}}, {From: 1, At: 15, To: []Target{{Node: 2}}},
		{From: 2, At: 15, To: []Target{{Node: 5}}}, {From: 3, At: 15, To: []Target{{Node: 4}}},
	})
	l.order()
	if n := l.crossings(); n != 0 {
		t.Errorf("%d crossings", n)
	}
	if l.items[1].layer != 0 || l.items[5].layer != len(l.layers)-1 || len(l.layers[0]) != 1 || l.items[4].layer == len(l.layers)-1 {
		t.Errorf("layers %v", l.layers)
	}
}

func TestRefused(t *testing.T) {
	two := []Node{{Width: 1, Height: 1}, {Width: 1, Height: 1}}
	for _, c := range []struct {
		nodes []Node
		wires []Wire
		want  string
	}{
		{nil, nil, "no nodes to draw"},
		{two, []Wire{{From: 2, To: []Target{{Node: 3}}}}, "wire 0 of 1 runs from node 2 of 2"},
		{two, []Wire{{From: 0}}, "to 0 nodes"},
		{two, []Wire{{From: 1, To: []Target{{Node: 0}}}}, "wire 0 runs from node 1 to 0 of 2: want a higher number"},
	} {
		if _, err := spacing.Place(c.nodes, c.wires); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

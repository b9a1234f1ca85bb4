package nn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/op"
)

// TestIndexLists: what a list of kept indices leaves out, the one that takes it back, and the factors that do.
func TestIndexLists(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		n := 1 + r.IntN(8)
		var keep []int
		for _, i := range r.Perm(n)[:r.IntN(n+1)] {
			keep = append(keep, i)
			if r.IntN(3) == 0 {
				keep = append(keep, -1)
			}
		}
		back := backwards(keep, n)
		gone := missing(keep, n)
		if len(back) != n || len(gone) != n-len(slices.DeleteFunc(slices.Clone(keep), func(i int) bool { return i < 0 })) || !slices.IsSorted(gone) {
			t.Fatalf("%v of %d leaves out %v and goes back as %v", keep, n, gone, back)
		}
		for i, k := range back {
			if k >= 0 && keep[k] != i || (k < 0) != slices.Contains(gone, i) {
				t.Errorf("%v of %d goes back as %v", keep, n, back)
			}
		}
		c := Change{Keep: keep, Size: n, Scale: make([]float64, len(keep))}
		for i := range keep {
			c.Scale[i] = 1 + r.Float64()
		}
		for i, k := range keep {
			if k >= 0 && math.Abs(unscaled(c)[k]*c.Scale[i]-1) > 1e-12 {
				t.Errorf("%v scaled by %v is taken back by %v", keep, c.Scale, unscaled(c))
			}
		}
	}
	if unscaled(Change{Keep: []int{0}, Size: 1}) != nil {
		t.Error("factors where nothing was scaled")
	}
}

// TestStretch: copies follow each run of an atom's indices.
func TestStretch(t *testing.T) {
	for _, c := range []struct {
		size, first int
		slots       []int32
		k           int
		keep, like  []int
	}{
		{3, 0, []int32{2}, 1, []int{0, 1, 2, -1}, []int{0, 1, 2, 2}},
		{3, 10, []int32{10}, 2, []int{0, -1, -1, 1, 2}, []int{0, 0, 0, 1, 2}},
		{4, 5, []int32{6, 7}, 1, []int{0, 1, 2, -1, -1, 3}, []int{0, 1, 2, 1, 2, 3}},
		{4, 5, []int32{6, 8}, 2, []int{0, 1, -1, -1, 2, 3, -1, -1}, []int{0, 1, 1, 1, 2, 3, 3, 3}},
		{2, 0, []int32{0, 1}, 2, []int{0, 1, -1, -1, -1, -1}, []int{0, 1, 0, 1, 0, 1}},
	} {
		l := stretch(c.size, c.first, c.slots, c.k)
		if !slices.Equal(l.keep, c.keep) || !slices.Equal(l.like, c.like) {
			t.Errorf("%+v: %v like %v", c, l.keep, l.like)
		}
		if a := added(l); len(a.Index) != c.k*len(c.slots) || len(a.Like) != len(a.Index) {
			t.Errorf("%+v: added are %+v", c, a)
		}
		for i, k := range copied(l) {
			if k != c.like[i] {
				t.Errorf("%+v: copies are %v", c, copied(l))
			}
		}
	}
}

// TestTopological sorts random graphs that were shuffled: each node follows what it reads, otherwise the order stays.
func TestTopological(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		var nodes []*Node
		for i := range 2 + r.IntN(10) {
			n := &Node{opType: string(rune('a' + i))}
			n.out = []*Value{nil, {name: n.opType, producer: n}}
			for range r.IntN(4) {
				if i > 0 {
					n.in = append(n.in, nodes[r.IntN(i)].out[1])
				}
				n.captured = append(n.captured, nil, &Value{})
			}
			nodes = append(nodes, n)
		}
		order, err := topological(nodes, nil)
		if err != nil || !slices.Equal(order, nodes) {
			t.Fatalf("a sorted list becomes another, %v", err)
		}
		shuffled := slices.Clone(nodes)
		r.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		if order, err = topological(shuffled, nil); err != nil || len(order) != len(nodes) {
			t.Fatal(len(order), err)
		}
		place := map[*Node]int{}
		for i, n := range order {
			place[n] = i
		}
		for _, n := range order {
			for _, v := range n.reads() {
				if v != nil && v.producer != nil && place[v.producer] >= place[n] {
					t.Errorf("%s comes before %s", n.opType, v.name)
				}
			}
		}
		last := nodes[len(nodes)-1]
		nodes[0].in = append(nodes[0].in, last.out[1])
		last.in = append(last.in, nodes[0].out[1])
		if _, err := topological(nodes, nil); err == nil {
			t.Error("a cycle is sorted")
		}
	}
}

// TestWithSizes: symbols take the sizes they are given, others 1.
func TestWithSizes(t *testing.T) {
	in := op.T(1, op.Sym("N"), op.D(3), op.Unknown(), op.Sym("T"))
	for want, sizes := range map[string]map[string]int{"float32[1,3,1,1]": nil, "float32[2,3,1,1]": {"N": 2, "X": 4}, "float32[1,3,1,5]": {"T": 5}} {
		if got := withSizes(in, sizes).String(); got != want {
			t.Errorf("at %v: %s, want %s", sizes, got, want)
		}
	}
	if got := withSizes(op.Type{DType: 1, Unranked: true}, nil); !got.Unranked {
		t.Error(got)
	}
	if got := withSizes(op.Type{Kind: op.Sequence, Elem: &in}, nil); got.Elem.String() != in.String() {
		t.Error(got)
	}
}

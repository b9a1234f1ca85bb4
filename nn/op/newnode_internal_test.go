package op

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"testing"

	"gorgonia.org/gorgonia"
)

// TestSumsOfEqualHash: sums of which Gorgonia computes the same hash of 32 bits are different nodes.
func TestSumsOfEqualHash(t *testing.T) {
	g := gorgonia.NewGraph()
	var x gorgonia.Nodes
	for i := range 600 {
		x = append(x, gorgonia.NewVector(g, gorgonia.Float32, gorgonia.WithShape(3), gorgonia.WithName(fmt.Sprint("x", i))))
	}
	first, err := sum(x[0], x[1])
	if err != nil {
		t.Fatal(err)
	}
	hash := func(a, b *gorgonia.Node) uint32 {
		h := fnv.New32a()
		fmt.Fprintf(h, "%v%v", first.Type(), first.Shape())
		first.Op().WriteHash(h)
		h.Write([]byte{2})
		for _, k := range []*gorgonia.Node{a, b} {
			_ = binary.Write(h, binary.LittleEndian, k.Hashcode())
		}
		return h.Sum32()
	}
	if hash(x[0], x[1]) != first.Hashcode() {
		t.Fatal("Gorgonia computes hashes in another way")
	}
	seen := map[uint32][2]int{}
	for i := range x {
		for j := range x {
			h := hash(x[i], x[j])
			k, collides := seen[h]
			if seen[h] = [2]int{i, j}; !collides {
				continue
			}
			for _, pair := range [][2]int{k, {i, j}} {
				a, b := x[pair[0]], x[pair[1]]
				if n, err := sum(a, b); err != nil || reads(n, a, b) != nil {
					t.Errorf("the sum of %v and %v: %v, %v", a, b, n, err)
				}
			}
			return
		}
	}
	t.Error("no two hashes are equal")
}

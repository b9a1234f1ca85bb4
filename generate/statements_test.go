package generate

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHeld: the number of values in a variable that are still read is counted along, through values that get another variable and reads that
// are added again.
func TestHeld(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := (&printer{}).statements()
	values := make([]*value, 12)
	for i := range values {
		values[i] = &value{}
	}
	for range 2000 {
		v := values[r.IntN(len(values))]
		switch r.IntN(3) {
		case 0:
			b.hold(v, variables[r.IntN(4)])
		case 1:
			b.expect(v, r.IntN(3))
		case 2:
			b.read([]*value{v})
		}
		for _, name := range variables[:4] {
			n := 0
			for v, in := range b.vars {
				if in == name && b.left[v] > 0 {
					n++
				}
			}
			if b.held[name] != n {
				t.Fatalf("%s holds %d values that are read, counted as %d", name, n, b.held[name])
			}
		}
	}
}

// TestNumbered: variables get the lowest number that is free, also after the end of a block that declared some.
func TestNumbered(t *testing.T) {
	b := (&printer{}).statements()
	for _, name := range append(slices.Clone(variables), "x1", "x3") {
		b.declared[name] = true
	}
	for _, want := range []string{"x2", "x4", "x5"} {
		if got := b.fresh(); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		b.assign(&value{}, want)
		b.free[want] = false
	}
}

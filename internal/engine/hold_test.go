package engine

import (
	"math/rand"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/nn/dtype"
)

// TestHold: how many bytes values use, and are charged while they are reachable, in sequences and by themselves: those below 64 KiB, and those that are
// charged already, are not.
func TestHold(t *testing.T) {
	// What other tests have left is given back before, and nothing meanwhile.
	done := make(chan bool)
	runtime.AddCleanup(new([64]byte), func(c chan bool) { close(c) }, done)
	runtime.GC()
	<-done
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	bytes := func(n int) *tensor.Dense { return dtype.New(dtype.Uint8, n) }
	text := func(n int) *dtype.Strings {
		s, err := dtype.NewStrings([]string{string(make([]byte, n)), "ab"}, 2)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sequence := func(items ...dtype.Value) *dtype.Sequence { return &dtype.Sequence{Elem: dtype.Uint8, Items: items} }
	const small = 1 << 16
	shared := bytes(small)
	none := (*tensor.Dense)(nil)
	for name, c := range map[string]struct {
		v               gorgonia.Value
		uses, isCharged int64
	}{
		"ten bytes":                     {bytes(10), 10 + valueHeader, 0},
		"four float32":                  {dtype.New(dtype.Float32, 4), 16 + valueHeader, 0},
		"one less than is charged":      {bytes(small - 1), small - 1 + valueHeader, 0},
		"what is charged":               {bytes(small), small + valueHeader, small},
		"strings":                       {text(5), 5 + 2 + 32 + valueHeader, 0},
		"long strings":                  {text(small), small + 2 + 32 + valueHeader, small + 2 + 32 + valueHeader},
		"a sequence":                    {sequence(bytes(10), text(5)), 10 + valueHeader + 5 + 2 + 32 + valueHeader + 32 + valueHeader, 0},
		"a sequence of large ones":      {sequence(bytes(small), bytes(small+7)), 2*small + 7 + 2*valueHeader + 32 + valueHeader, 2*small + 7},
		"a sequence with one twice":     {sequence(shared, shared), 2*small + 2*valueHeader + 32 + valueHeader, small},
		"a sequence of small ones":      {sequence(bytes(small-valueHeader-1), bytes(10)), small - 1 + 10 + valueHeader + 32 + valueHeader, small - 1 + 10 + valueHeader + 32},
		"a sequence of what is between": {sequence(bytes(small-valueHeader), bytes(small/2), bytes(small/2)), small + 2*(small/2+valueHeader) + 48 + valueHeader, 2*(small/2+valueHeader) + 48},
		"an optional":                   {&dtype.Optional{Item: bytes(small)}, small + valueHeader + valueHeader, small},
		"an optional of nothing":        {&dtype.Optional{}, valueHeader, 0},
		"a map":                         {&dtype.Map{Keys: text(small), Values: bytes(2)}, small + (2 + 32 + valueHeader) + (2 + valueHeader) + valueHeader, small + (2 + 32 + valueHeader)},
		"no tensor":                     {none, 0, 0},
	} {
		if got, err := Footprint(t.Context(), c.v); got != c.uses || err != nil {
			t.Errorf("%s uses %d bytes, want %d", name, got, c.uses)
		}
		for _, again := range []bool{false, true} {
			want := c.isCharged
			if again {
				want = 0
				if s, ok := c.v.(*dtype.Sequence); ok && name == "a sequence of large ones" {
					s.Items = append(s.Items, bytes(small)) // only this is new
					want = small
				}
			}
			before := MemoryLeft()
			if err := Hold(t.Context(), c.v); err != nil {
				t.Fatal(name, err)
			}
			if got := before - MemoryLeft(); got != want {
				t.Errorf("%s is charged %d bytes, again %v, want %d", name, got, again, want)
			}
		}
		runtime.KeepAlive(c.v)
	}
	var tally Tally
	before := MemoryLeft()
	for i, want := range []int64{0, 0, 1 << 20, 1 << 20, 3 << 20} { // in steps
		n := []int64{small - 1, 1, 1, 1<<20 - small - 1, 2 << 20}[i]
		if err := tally.Add(n); err != nil {
			t.Fatal(err)
		}
		if got := before - MemoryLeft(); got != want {
			t.Errorf("after %d a tally has charged %d bytes, want %d", i, got, want)
		}
	}
	if tally.Free(); MemoryLeft() != before || tally != (Tally{}) {
		t.Error("a tally that was freed holds memory")
	}
}

// TestSums: additions of floats of one type become one step, those of integers do not.
func TestSums(t *testing.T) {
	for _, typ := range []tensor.Dtype{tensor.Float32, tensor.Float64, tensor.Int64} {
		g := gorgonia.NewGraph()
		r := rand.New(rand.NewSource(1))
		var in []*gorgonia.Node
		want := make([]float64, 8)
		for range 4 {
			x := make([]float64, 8)
			for i := range x {
				x[i] = float64(r.Intn(9) - 4)
				want[i] += x[i]
			}
			d, err := dtype.FromFloats(dtype.Of(typ), x, 8)
			if err != nil {
				t.Fatal(err)
			}
			in = append(in, input(g, string(rune('a'+len(in))), d))
		}
		sum := in[0]
		for _, x := range in[1:] {
			sum = gorgonia.Must(gorgonia.Add(sum, x))
		}
		p := compile(t, sum)
		run(t, p)
		got, err := dtype.Float64s(p.Value(sum).(*tensor.Dense))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: %v, %v, want %v", typ, got, err, want)
		}
		if n := map[tensor.Dtype]int{tensor.Float32: 1, tensor.Float64: 1, tensor.Int64: 3}[typ]; len(p.Stats().Steps) != n {
			t.Errorf("%v: steps %q, want %d", typ, p.Stats().Steps, n)
		}
	}
}

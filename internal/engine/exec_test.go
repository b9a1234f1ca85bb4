package engine

import (
	"sync"
	"testing"
	"unsafe"
)

func TestScratch(t *testing.T) {
	var none *Exec
	var zero Exec
	for name, x := range map[string]*Exec{"nil": none, "zero": &zero} {
		if x.Pool() != nil || x.Context() == nil {
			t.Errorf("%s: has a pool or no context", name)
		}
		if a, b, c, d := x.Float32(3), x.Float64(4), x.Int(5), x.Bytes(6); len(a) != 3 || len(b) != 4 || len(c) != 5 || len(d) != 6 {
			t.Errorf("%s: wrong lengths", name)
		}
		if s := Scratch[float32](x)(7); len(s) != 7 {
			t.Errorf("%s: wrong length", name)
		}
	}
	x := &Exec{}
	ask := func() ([]float32, []byte) { return x.Float32(1000), x.Bytes(3) }
	ask()
	x.reset() // grown to what the kernel asked for
	if n := testing.AllocsPerRun(10, func() { x.reset(); ask() }); n > 0 {
		t.Errorf("%v allocations after warm-up", n)
	}
	x.reset()
	a, b := ask()
	for i := range a {
		a[i] = 1
	}
	clear(b)
	if a[999] != 1 || uintptr(unsafe.Pointer(&a[0]))%cacheLine != 0 || uintptr(unsafe.Pointer(&b[0]))%cacheLine != 0 {
		t.Error("scratch overlaps or is not aligned")
	}
}

func TestScratchFromWorkers(t *testing.T) {
	x := &Exec{}
	for range 3 {
		var wg sync.WaitGroup
		var got [8][]int
		for i := range got {
			wg.Go(func() {
				got[i] = x.Int(100)
				for k := range got[i] {
					got[i][k] = i
				}
			})
		}
		wg.Wait()
		for i, s := range got {
			for _, v := range s {
				if v != i {
					t.Fatalf("workers share scratch: %v", s)
				}
			}
		}
		x.reset()
	}
}

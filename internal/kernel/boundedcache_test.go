package kernel

import (
	"sync"
	"testing"
)

// A bounded cache computes once for each key, and holds no more than so many results.
func TestMemo(t *testing.T) {
	var m BoundedCache[int, int]
	calls := 0
	square := func(i int) int { return m.Get(i, func() int { calls++; return i * i }) }
	for range 3 {
		if v := square(7); v != 49 {
			t.Errorf("7² = %d", v)
		}
	}
	if calls != 1 {
		t.Errorf("computed %d times", calls)
	}
	for i := range 3 * mostRemembered {
		square(i)
	}
	if len(m.of) > mostRemembered {
		t.Errorf("holds %d results", len(m.of))
	}
	var wg sync.WaitGroup
	var shared BoundedCache[int, int]
	for range 4 {
		wg.Go(func() {
			for i := range 100 {
				if v := shared.Get(i, func() int { return -i }); v != -i {
					t.Errorf("%d for %d", v, i)
				}
			}
		})
	}
	wg.Wait()
}

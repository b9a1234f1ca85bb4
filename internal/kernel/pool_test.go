package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestPoolRunsEachTaskOnce(t *testing.T) {
	for name, p := range somePools(t) {
		for _, n := range []int{0, 1, 2, 3, 7, 1000} {
			count := make([]int, n)
			for range 20 {
				p.Run(n, func(_, i int) { count[i]++ })
			}
			for i, c := range count {
				if c != 20 {
					t.Fatalf("%s: task %d of %d ran %d times", name, i, n, c)
				}
			}
		}
	}
}

// TestPoolSharesWork checks that while a worker is busy with one task, another takes over the rest of its tasks.
func TestPoolSharesWork(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	for range 20 {
		var others sync.WaitGroup
		others.Add(9)
		p.Run(10, func(_, i int) {
			if i == 0 {
				others.Wait()
			} else {
				others.Done()
			}
		})
	}
}

func TestPoolEachReachesAllThreads(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	for range 100 {
		var calls [3]atomic.Int32
		p.Each(func(worker int) { calls[worker].Add(1) })
		for w := range calls {
			if n := calls[w].Load(); n != 1 {
				t.Fatalf("worker %d was called %d times", w, n)
			}
		}
	}
}

func TestPoolRangeCoversAll(t *testing.T) {
	for name, p := range somePools(t) {
		for _, grain := range []int{0, 1, 10, 100} {
			seen := make([]int, 57)
			p.Range(len(seen), grain, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					seen[i]++
				}
			})
			for i, c := range seen {
				if c != 1 {
					t.Fatalf("%s: element %d was visited %d times with grain %d", name, i, c, grain)
				}
			}
		}
	}
}

func TestPoolNestedCallsRunSerially(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	var mu sync.Mutex
	total := 0
	p.Run(4, func(int, int) {
		p.Run(5, func(w, _ int) {
			mu.Lock()
			defer mu.Unlock()
			total++
			if w != 0 {
				t.Errorf("nested task ran on worker %d", w)
			}
		})
	})
	if total != 20 {
		t.Errorf("%d nested tasks ran, want 20", total)
	}
}

func TestPoolCarriesPanics(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	for _, bad := range []int{0, 5, 8} {
		func() {
			defer func() {
				if v := recover(); v != bad {
					t.Errorf("recovered %v, want %v", v, bad)
				}
			}()
			p.Run(9, func(_, i int) {
				if i == bad {
					panic(i)
				}
			})
		}()
	}
	ran := false
	p.Run(3, func(_, i int) {
		if i == 2 {
			ran = true
		}
	})
	if !ran {
		t.Error("the pool is unusable after a panic")
	}
}

func TestPoolManyCallers(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				sum := make([]int, 10)
				p.Run(len(sum), func(_, i int) { sum[i] = i })
				for i, v := range sum {
					if v != i {
						t.Errorf("task %d left %d", i, v)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestPoolCloseStopsWorkers(t *testing.T) {
	before := runtime.NumGoroutine()
	p := NewPool(4)
	p.Run(8, func(int, int) {})
	p.Close()
	p.Close()
	for runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
	n := 0
	p.Run(3, func(int, int) { n++ })
	if n != 3 {
		t.Errorf("a closed pool ran %d of 3 tasks", n)
	}
}

func TestPoolDoesNotAllocate(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	f := func(int, int) {}
	if n := testing.AllocsPerRun(100, func() { p.Run(4, f) }); n != 0 {
		t.Errorf("Run allocates %v times", n)
	}
}

func BenchmarkPoolRun(b *testing.B) {
	p := NewPool(2)
	defer p.Close()
	for b.Loop() {
		p.Run(2, func(int, int) {})
	}
}

// TestPoolShortLoops checks that every task of consecutive short loops runs once, whether or not the
// workers wake up in time.
func TestPoolShortLoops(t *testing.T) {
	p := NewPool(4)
	defer p.Close()
	var done [5]atomic.Int32
	for range 2000 {
		p.Run(len(done), func(_, i int) { done[i].Add(1) })
	}
	for i := range done {
		if n := done[i].Load(); n != 2000 {
			t.Errorf("task %d ran %d times", i, n)
		}
	}
}

// A worker that comes when all tasks are taken does not take part, so that nobody waits for it.
func TestPoolGate(t *testing.T) {
	c := NewPool(1).crew
	if c.enter() {
		t.Error("entered where there is no loop")
	}
	c.gate.Store(0)
	for range 2 {
		if !c.enter() {
			t.Error("did not enter a loop")
		}
	}
	if n := c.gate.Load(); n != 2 {
		t.Errorf("two workers entered, %d count", n)
	}
	c.gate.Or(shut)
	if c.enter() || c.gate.Load() != shut|2 {
		t.Error("entered a loop without tasks")
	}
}

// somePools are none, and pools of two and three threads.
func somePools(t *testing.T) map[string]*Pool {
	two, three := NewPool(2), NewPool(3)
	t.Cleanup(func() { two.Close(); three.Close() })
	return map[string]*Pool{"serial": nil, "two": two, "three": three, "cut": Cut(3), "cut, stoppable": Cut(5).Stoppable()}
}

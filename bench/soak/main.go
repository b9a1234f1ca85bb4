// Command soak serves and edits models from many goroutines for a while and compares every answer with the one that a
// single goroutine gave before: the same bits. It ends with an error for another answer, for goroutines that stay, and
// for resident memory that grows by more than 5 % after a warm-up.
//
//	soak [-for 30m] [-goroutines 8] [-seed 1] [-growth 5] [-heap FILE]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"sync"
	"time"
)

func main() {
	length := flag.Duration("for", 30*time.Minute, "how long")
	workers := flag.Int("goroutines", 8, "how many work at once")
	seed := flag.Uint64("seed", 1, "of the order of what they do")
	growth := flag.Float64("growth", 5, "percent of memory that may be added after two fifths; negative: any")
	profile := flag.String("heap", "", "file for a profile of the heap at the end")
	flag.Parse()
	if *profile == "" {
		runtime.MemProfileRate = 0 // the profile keeps each stack that allocated, which looks like a leak
	}
	err := soak(*length, *workers, *seed, *growth, *profile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func soak(length time.Duration, workers int, seed uint64, growth float64, profile string) error {
	var services []*service
	for _, m := range models {
		s, err := newService(m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		services = append(services, s)
	}
	idle := runtime.NumGoroutine()
	fmt.Printf("%d models, %d goroutines, %v\n", len(services), workers, length)
	t := &tally{done: map[string]int{}}
	begin := time.Now()
	deadline := begin.Add(length)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() { work(services, t, seed, uint64(w), deadline) })
	}
	stop := make(chan struct{})
	var memory []sample
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		memory = watch(begin, length, t, stop)
	}()
	wait.Wait()
	close(stop)
	<-sampled
	t.print(time.Since(begin))
	if t.err != nil {
		return t.err
	}
	for range 100 { // those that end are given the time to
		if runtime.NumGoroutine() <= idle {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > idle {
		return fmt.Errorf("%d goroutines, %d before", n, idle)
	}
	if profile != "" {
		if err := writeHeap(profile); err != nil {
			return err
		}
	}
	runtime.KeepAlive(services)
	return judge(memory, length, growth)
}

// writeHeap writes a profile of the heap.
func writeHeap(path string) error {
	runtime.GC()
	var b bytes.Buffer
	if err := pprof.WriteHeapProfile(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// sample is the resident memory at a time.
type sample struct {
	at    time.Duration
	bytes int64
}

// watch samples memory every second and prints a line a hundred times.
func watch(begin time.Time, length time.Duration, t *tally, stop chan struct{}) (list []sample) {
	line, live := time.Duration(0), []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		select {
		case <-stop:
			return list
		case <-time.After(time.Second):
		}
		s := sample{time.Since(begin), resident()}
		if list = append(list, s); s.at >= line {
			metrics.Read(live)
			fmt.Printf("%7v  %6d MB  %6d MB live  %d goroutines  %d done\n", s.at.Round(time.Second), s.bytes>>20, live[0].Value.Uint64()>>20, runtime.NumGoroutine(), t.total())
			line = s.at + max(length/100, 10*time.Second)
		}
	}
}

// judge compares the medians of the third fifth and of the last: caches are full by then, and journals of edits.
func judge(list []sample, length time.Duration, growth float64) error {
	median := func(from, to time.Duration) float64 {
		var b []int64
		for _, s := range list {
			if s.at >= from && s.at <= to && s.bytes > 0 {
				b = append(b, s.bytes)
			}
		}
		if len(b) == 0 {
			return 0
		}
		slices.Sort(b)
		return float64(b[len(b)/2])
	}
	first, last := median(length*2/5, length*3/5), median(length*4/5, length*2)
	if first == 0 {
		fmt.Println("too short to judge memory by")
		return nil
	}
	added := 100 * (last/first - 1)
	fmt.Printf("resident memory: %.0f MB, at the end %.0f MB: %+.1f %%\n", first/(1<<20), last/(1<<20), added)
	if growth >= 0 && added > growth {
		return fmt.Errorf("resident memory grew by %.1f %%", added)
	}
	return nil
}

package conformance

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graft-ml/graft/internal/disk"
)

// Result is the outcome of one case. Its JSON form is a line of `graft verify --json`.
type Result struct {
	Case      string  `json:"case"`           // the case's name
	OK        bool    `json:"ok"`             // the outputs of all data sets are as expected
	MaxAbs    float64 `json:"max_abs"`        // largest absolute difference between finite numbers of an output
	Gradients string  `json:"gradients"`      // "ok", "fail" or, without golden gradients, "none"
	Error     string  `json:"error"`          // one line; "" if the case passed
	Skip      string  `json:"skip,omitempty"` // why the case is expected to fail
	Seconds   float64 `json:"-"`              // duration
}

// Passed reports whether outputs and gradients are as expected.
func (r Result) Passed() bool { return r.OK && r.Gradients != "fail" }

// Expected reports whether the case passed, or failed as expected.
func (r Result) Expected() bool { return r.Passed() == (r.Skip == "") }

// Runner runs test cases. The zero value runs them on graft's engine, as many at a time as there are processors, with a
// time limit of two minutes for each, and writes nothing.
type Runner struct {
	Backend Backend       // nil: Graft{}
	Skip    Skips         // cases that are expected to fail, with the reason
	Dump    string        // folder for computed values: CASE/test_data_set_K/output_N.pb, CASE/gradients/K.pb; "": none
	Timeout time.Duration // for one case; 0: two minutes
	Workers int           // number of cases run at the same time; 0: the number of processors
}

// Run runs cases, several at a time, and yields their results in the order of the list. A panic or a timeout in a case is
// its result; the other cases still run.
func (v Runner) Run(ctx context.Context, list []Case) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		results := make([]chan Result, len(list))
		for i := range results {
			results[i] = make(chan Result, 1)
		}
		workers := v.Workers
		if workers <= 0 {
			workers = runtime.GOMAXPROCS(0)
		}
		next := make(chan int)
		var wg sync.WaitGroup
		for range min(workers, len(list)) {
			wg.Go(func() {
				for i := range next {
					results[i] <- v.RunCase(ctx, list[i])
				}
			})
		}
		go func() {
			defer close(next)
			for i := range list {
				select {
				case next <- i:
				case <-ctx.Done():
					return
				}
			}
		}()
		for i := range list {
			var r Result
			select {
			case r = <-results[i]:
			case <-ctx.Done():
				return
			}
			if !yield(r) {
				break
			}
		}
		cancel()
		wg.Wait()
	}
}

// RunCase runs all data sets of a case and compares its golden gradients.
func (v Runner) RunCase(ctx context.Context, c Case) Result {
	start := time.Now()
	r := v.runCase(ctx, c)
	r.Skip, r.Seconds = v.Skip.reason(c.Name), time.Since(start).Seconds()
	return r
}

func (v Runner) runCase(ctx context.Context, c Case) Result {
	timeout := v.Timeout
	if timeout <= 0 {
		timeout = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done := make(chan Result, 1)
	go func() {
		r := &caseRun{Runner: v, Case: c, fsys: disk.Dir(c.Dir), res: Result{Case: c.Name, Gradients: "none"}}
		defer func() {
			if p := recover(); p != nil {
				r.res.OK = false
				r.fail(fmt.Errorf("panic: %v at %s", p, panicPlace(debug.Stack())))
			}
			done <- r.res
		}()
		if err := disk.Settle(c.Dir); err != nil {
			r.fail(err)
			return
		}
		r.run(ctx)
	}()
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
		err := ctx.Err().Error()
		if err == context.DeadlineExceeded.Error() {
			err = fmt.Sprintf("took more than %v", timeout)
		}
		return Result{Case: c.Name, Gradients: "none", Error: err}
	}
}

// panicPlace returns the function and line in graft where the panic occurred.
func panicPlace(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	i := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, "panic(") })
	for k := max(i, 0); k+1 < len(lines); k++ {
		f, ok := strings.CutPrefix(lines[k], "github.com/graft-ml/graft/")
		if !ok {
			continue
		}
		f = f[:strings.LastIndex(f, "(")]
		at, _, _ := strings.Cut(strings.TrimSpace(lines[k+1]), " +0x")
		return f + ", " + filepath.Base(at)
	}
	return "?"
}

// fail records the first error, on one line.
func (r *caseRun) fail(err error) {
	if r.res.Error == "" {
		r.res.Error = strings.Join(strings.Fields(err.Error()), " ")
	}
}

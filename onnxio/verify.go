package onnxio

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graft-ml/graft/nn/op"
)

// Case is an ONNX test case: a folder with model.onnx and test_data_set_0, …, perhaps with
// tolerances (data.json) and golden gradients (gradients.json, or gradient_N.pb in a data set).
type Case struct {
	Name string // how reports call it, elements separated by slashes
	Dir  string
}

// Result is what verifying a case gave. Its JSON form is a line of `graft verify --json`.
type Result struct {
	Case      string  `json:"case"`
	OK        bool    `json:"ok"`        // the outputs of all data sets hold
	MaxAbs    float64 `json:"max_abs"`   // largest difference between finite numbers of an output
	Gradients string  `json:"gradients"` // "ok", "fail" or, without golden gradients, "none"
	Error     string  `json:"error"`     // one line; "" when everything holds
}

// Passed says whether outputs and gradients hold.
func (r Result) Passed() bool { return r.OK && r.Gradients != "fail" }

// Verifier runs test cases. The zero value uses graft's operators and all processors, gives a
// case two minutes, and writes nothing.
type Verifier struct {
	Ops     op.Set
	Dump    string        // folder for what was computed: CASE/test_data_set_K/output_N.pb, CASE/gradients/K.pb
	Timeout time.Duration // of one case; 0: two minutes
	Workers int           // cases at a time; 0: the number of processors
}

// Cases lists the test cases at or below the given folders, in the order of the folders and then
// by name. A case is named by its path below its folder; a folder that is itself a case by the
// last two elements of its path, so that the suite stays visible.
func Cases(dirs ...string) ([]Case, error) {
	var list []Case
	for _, dir := range dirs {
		if isCase(dir) {
			abs, err := filepath.Abs(dir)
			if err != nil {
				return nil, err
			}
			name := filepath.Base(abs)
			if up := filepath.Base(filepath.Dir(abs)); up != string(filepath.Separator) && up != "." {
				name = up + "/" + name
			}
			list = append(list, Case{name, dir})
			continue
		}
		found := len(list)
		err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() || !isCase(p) {
				return err
			}
			rel, err := filepath.Rel(dir, p)
			list = append(list, Case{filepath.ToSlash(rel), p})
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(list) == found {
			return nil, fmt.Errorf("%s: no folder here has a model.onnx", dir)
		}
	}
	return list, nil
}

func isCase(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "model.onnx"))
	return err == nil && info.Mode().IsRegular()
}

// Run verifies cases, several at a time, and yields their results in the order of the list. One
// case cannot stop the others: a panic or a time-out in it is its result.
func (v Verifier) Run(ctx context.Context, list []Case) iter.Seq[Result] {
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
					results[i] <- v.Verify(ctx, list[i])
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

// Verify runs all data sets of a case and its golden gradients. The result says what went wrong.
func (v Verifier) Verify(ctx context.Context, c Case) Result {
	timeout := v.Timeout
	if timeout <= 0 {
		timeout = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done := make(chan Result, 1)
	go func() {
		r := &caseRun{Verifier: v, Case: c, fsys: os.DirFS(c.Dir), res: Result{Case: c.Name, Gradients: "none"}}
		defer func() {
			if p := recover(); p != nil {
				r.res.OK = false
				r.fail(fmt.Errorf("panic: %v at %s", p, panicPlace(debug.Stack())))
			}
			done <- r.res
		}()
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

// panicPlace is the function and line of graft's that panicked.
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

// fail notes the first error, on one line.
func (r *caseRun) fail(err error) {
	if r.res.Error == "" {
		r.res.Error = strings.Join(strings.Fields(err.Error()), " ")
	}
}

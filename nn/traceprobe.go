package nn

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// port is an input of a function that is traced.
type port struct {
	name string
	typ  op.Type
}

// run is one call of a traced function.
type run struct{ in, out gorgonia.Nodes }

// columns lists what pick takes from each run.
func columns(runs []run, pick func(run) *gorgonia.Node) gorgonia.Nodes {
	list := make(gorgonia.Nodes, len(runs))
	for i, r := range runs {
		list[i] = pick(r)
	}
	return list
}

// graphsOf returns the expression graphs of runs.
func graphsOf(runs []run) []*gorgonia.ExprGraph {
	list := make([]*gorgonia.ExprGraph, len(runs))
	for i, r := range runs {
		list[i] = r.out[0].Graph()
	}
	return list
}

// samplePoints returns sizes for the symbols: a first choice, each symbol changed alone, and all
// changed. Sizes are multiples of scale: different primes, and in the last point twice
// primes, so that a number in the trace identifies the symbol it came from.
func samplePoints(symbols []string, scale int) []map[string]int {
	if len(symbols) == 0 {
		return []map[string]int{{}}
	}
	first := []int{11, 13, 17, 19, 23, 29, 31, 37, 41}
	other := []int{43, 47, 53, 59, 61, 67, 71, 73, 79}
	third := []int{22, 26, 34, 38, 46, 58, 62, 74, 82}
	pick := func(list []int, i int) int { return scale * (list[i%len(list)] + 100*(i/len(list))) }
	base := map[string]int{}
	all := map[string]int{}
	for i, s := range symbols {
		base[s], all[s] = pick(first, i), pick(third, i)
	}
	points := []map[string]int{base}
	for i, s := range symbols {
		p := maps.Clone(base)
		p[s] = pick(other, i)
		points = append(points, p)
	}
	return append(points, all)
}

// unknownSym returns the symbol for the unknown dimension k of input i.
func unknownSym(i, k int) string { return fmt.Sprintf("?%d_%d", i, k) }

// runExpr calls f at every sample point. A function may not work at every size (an image smaller than a kernel, unknown
// dimensions that must be equal), so several choices are tried.
func runExpr(f Expr, ports []port) ([]run, []map[string]int, error) {
	symbols := map[string]bool{}
	unknown := map[string]bool{}
	seen := map[string]bool{}
	for i, p := range ports {
		if p.typ.Kind != op.Tensor || p.typ.Unranked {
			return nil, nil, &Error{Stage: "trace", Input: p.name, Want: "a tensor of known rank", Got: p.typ}
		}
		if seen[p.name] { // Gorgonia would merge the two
			return nil, nil, &Error{Stage: "trace", Input: p.name, Err: errors.New("two inputs have this name")}
		}
		seen[p.name] = true
		for k, d := range p.typ.Shape {
			for _, s := range d.Symbols() {
				symbols[s] = true
			}
			if !d.Known() && d.Sym == "" {
				unknown[unknownSym(i, k)] = true
			}
		}
	}
	names := append(slices.Sorted(maps.Keys(symbols)), slices.Sorted(maps.Keys(unknown))...)
	var first error
	for _, same := range []bool{false, true} {
		for _, scale := range []int{1, 4, 32} {
			points := samplePoints(names, scale)
			if same {
				shareUnknown(points, unknown)
			}
			runs, err := runAt(f, ports, points)
			if err == nil {
				return runs, points, nil
			}
			if first == nil {
				first = err
			}
			if len(names) == 0 || errors.Is(err, errResults) { // at other sizes it would be a different function
				return nil, nil, first
			}
		}
		if len(unknown) < 2 {
			break
		}
	}
	return nil, nil, first
}

// shareUnknown gives all unknown dimensions the size of the first.
func shareUnknown(points []map[string]int, unknown map[string]bool) {
	names := slices.Sorted(maps.Keys(unknown))
	for _, p := range points {
		for _, s := range names {
			p[s] = p[names[0]]
		}
	}
}

var errResults = errors.New("the number of outputs depends on a symbol")

func runAt(f Expr, ports []port, points []map[string]int) ([]run, error) {
	var runs []run
	for _, p := range points {
		g := gorgonia.NewGraph()
		var r run
		for i, x := range ports {
			t, err := concrete(x.typ, i, p)
			if err != nil {
				return nil, &Error{Stage: "trace", Input: x.name, Err: err}
			}
			n, err := op.Input(g, x.name, t, nil)
			if err != nil {
				return nil, err
			}
			r.in = append(r.in, n)
		}
		out, err := call(f, r.in)
		if err != nil {
			return nil, &Error{Stage: "trace", Err: fmt.Errorf("at sizes %s: %w", sizeText(p), err)}
		}
		if len(runs) > 0 && len(out) != len(runs[0].out) {
			return nil, &Error{Stage: "trace", Err: fmt.Errorf("%w: %d and %d", errResults, len(runs[0].out), len(out))}
		}
		r.out = out
		runs = append(runs, r)
	}
	return runs, nil
}

// call calls f and recovers from panics of Gorgonia's Must. Those of Go itself, such as an index out of range, have the place in f.
func call(f Expr, in gorgonia.Nodes) (out gorgonia.Nodes, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("%w, at %s", r, panickedAt())
		default:
			err = fmt.Errorf("%v", r)
		}
	}()
	out, err = f(in...)
	if err == nil && (len(out) == 0 || slices.Contains(out, nil)) {
		err = fmt.Errorf("the function returns no node")
	}
	return out, err
}

// panickedAt returns the place of a panic that is being recovered from: the innermost one outside of Go's runtime and of Gorgonia.
func panickedAt() string {
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)])
	for {
		f, more := frames.Next()
		if !more || !strings.HasPrefix(f.Function, "runtime.") && !strings.HasPrefix(f.Function, "gorgonia.org/") {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
	}
}

func concrete(t op.Type, i int, sizes map[string]int) (op.Type, error) {
	t.Shape = slices.Clone(t.Shape)
	for k, d := range t.Shape {
		if !d.Known() && d.Sym == "" {
			d = op.Sym(unknownSym(i, k))
			t.Shape[k] = op.D(sizes[d.Sym])
			continue
		}
		n, err := d.Eval(sizes)
		if err != nil {
			return t, err
		}
		t.Shape[k] = op.D(n)
	}
	return t, nil
}

func sizeText(p map[string]int) string {
	s := ""
	for _, k := range slices.Sorted(maps.Keys(p)) {
		if s != "" {
			s += ", "
		}
		s += fmt.Sprintf("%s=%d", k, p[k])
	}
	if s == "" {
		return "given"
	}
	return s
}

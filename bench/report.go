package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
)

// report prints the JSON lines and, if there are peers, the Markdown table.
func report(o options, fs []framework, all map[string]map[cell][]result) error {
	lines := io.Writer(os.Stdout)
	if o.lines != "" {
		f, err := os.Create(o.lines)
		if err != nil {
			return err
		}
		defer f.Close()
		lines = io.MultiWriter(os.Stdout, f)
	}
	enc := json.NewEncoder(lines)
	best := map[string]map[cell]result{}
	for _, f := range fs {
		best[f.name] = map[cell]result{}
		for _, name := range o.cases {
			for _, t := range o.threads {
				rs := all[f.name][cell{name, t}]
				if len(rs) == 0 {
					continue
				}
				r := quietest(rs)
				best[f.name][cell{name, t}] = r
				if err := enc.Encode(r); err != nil {
					return err
				}
			}
		}
	}
	if len(fs) == 1 {
		return nil
	}
	w := io.Writer(os.Stderr)
	if o.table != "" {
		f, err := os.Create(o.table)
		if err != nil {
			return err
		}
		defer f.Close()
		w = io.MultiWriter(w, f)
	}
	if o.base != "" {
		tableOfBase(w, o, best)
	}
	if o.peers != "" {
		table(w, o, best)
	}
	return nil
}

// tableOfBase writes graft's times beside those of the earlier commit.
func tableOfBase(w io.Writer, o options, best map[string]map[cell]result) {
	fmt.Fprintf(w, "| case | threads | train ms | base | ratio | infer ms | base | ratio |\n|---|---|---|---|---|---|---|---|\n")
	var train, infer mean
	for _, name := range o.cases {
		for _, t := range o.threads {
			g, b := best["graft"][cell{name, t}], best["base"][cell{name, t}]
			fmt.Fprintf(w, "| %s | %d | %.2f | %.2f | %s | %.2f | %.2f | %s |\n", name, t,
				g.Train, b.Train, train.add(g.Train/b.Train), g.Infer, b.Infer, infer.add(g.Infer/b.Infer))
		}
	}
	fmt.Fprintf(w, "| **geometric mean** | | | | **%v** | | | **%v** |\n\n", &train, &infer)
}

// mean is a geometric mean.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(x float64) string {
	if x <= 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return "–"
	}
	m.sum, m.n = m.sum+math.Log(x), m.n+1
	return fmt.Sprintf("%.2f", x)
}

func (m *mean) String() string {
	if m.n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", math.Exp(m.sum/float64(m.n)))
}

// table writes one row for each case and number of threads; ratios are graft's time over the
// peer's, PyTorch being the better of its two layouts.
func table(w io.Writer, o options, best map[string]map[cell]result) {
	fmt.Fprintf(w, "| case | threads | graft train ms | PyTorch | ratio | GoMLX | ratio | graft infer ms | PyTorch | ratio | ONNX Runtime | ratio | graft MB (above idle) | PyTorch MB (above idle) | ratio |\n")
	fmt.Fprintf(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	train, infer, ort, memory, gomlx := map[int]*mean{}, map[int]*mean{}, map[int]*mean{}, map[int]*mean{}, map[int]*mean{}
	for _, t := range o.threads {
		train[t], infer[t], ort[t], memory[t], gomlx[t] = &mean{}, &mean{}, &mean{}, &mean{}, &mean{}
	}
	for _, name := range o.cases {
		for _, t := range o.threads {
			c := cell{name, t}
			g, p, r := best["graft"][c], better(best["torch"][c], best["torch channels-last"][c]), best["onnxruntime"][c]
			x := better(best["gomlx"][c], best["gomlx nchw"][c])
			fmt.Fprintf(w, "| %s | %d | %.2f | %.2f | %s | %s | %s | %.2f | %.2f | %s | %.2f | %s | %.0f (%.0f) | %.0f (%.0f) | %s |\n", name, t,
				g.Train, p.Train, train[t].add(g.Train/p.Train), shown(x.Train), gomlx[t].add(g.Train/x.Train),
				g.Infer, p.Infer, infer[t].add(g.Infer/p.Infer), r.Infer, ort[t].add(g.Infer/r.Infer),
				g.Peak, g.Peak-g.Base, p.Peak, p.Peak-p.Base, memory[t].add((g.Peak-g.Base)/(p.Peak-p.Base)))
		}
	}
	for _, t := range o.threads {
		fmt.Fprintf(w, "| **geometric mean** | %d | | | **%v** | | **%v** | | | **%v** | | **%v** | | | **%v** |\n", t, train[t], gomlx[t], infer[t], ort[t], memory[t])
	}
	fmt.Fprintf(w, "\n%s/%s, %d processors, %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

// shown returns a time, or a dash if there is none.
func shown(ms float64) string {
	if ms == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", ms)
}

// better returns the better of two layouts for each figure; b may be missing.
func better(a, b result) result {
	if b.Case == "" {
		return a
	}
	a.Train, a.Infer = min(a.Train, b.Train), min(a.Infer, b.Infer)
	a.Peak = min(a.Peak, b.Peak)
	return a
}

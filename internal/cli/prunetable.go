package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/graft-ml/graft/nn"
)

// round describes the model after a round of pruning.
type round struct {
	Number int // 0: before pruning
	Total  nn.Total
	Cut    map[string]float64 // validation metrics before fine-tuning
	Tuned  map[string]float64 // validation metrics after fine-tuning
}

// tell prints what was removed: a row for each layer, or the whole plan with --details.
func (p pruning) tell(w io.Writer, g *nn.Graph, was, is *nn.Summary, plan *nn.Plan) {
	if p.details {
		fmt.Fprintln(w, plan)
		return
	}
	after := map[string]nn.Row{}
	for _, r := range is.Rows {
		after[r.Node] = r
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "layer\top\tgives\tparameters\tmultiply-adds\t")
	bodies, fixed := map[string]bool{}, int64(0)
	for n := range g.Nodes() {
		bodies[n.Label()] = len(n.Bodies()) > 0
	}
	for _, r := range was.Rows {
		x, ok := after[r.Node]
		if bodies[r.Node] {
			fixed += int64(r.Params)
		}
		if r.Params == 0 || r.MACs == 0 && (was.Total.MACs > 0 || ok && x.Params == r.Params) {
			continue // not a layer, or one of unknown costs that stays
		}
		if !ok {
			fmt.Fprintf(t, "%s\t%s\t%s → -\t%s → 0\t%s → 0\t\n", r.Node, r.Op, sizesOf(r.Shape), grouped(int64(r.Params)), grouped(r.MACs))
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", r.Node, r.Op, change(sizesOf(r.Shape), sizesOf(x.Shape)), change(grouped(int64(r.Params)), grouped(int64(x.Params))), change(grouped(r.MACs), grouped(x.MACs)))
	}
	_ = t.Flush() // later writes return the error
	if fixed > 0 {
		fmt.Fprintf(w, "%s parameters in the bodies of If, Loop and Scan are not pruned\n", grouped(fixed))
	}
	if p.columns != nil {
		fmt.Fprintln(w, "the encoding of the columns, which comes before these layers, is not pruned and not counted")
	}
	a, b := was.Total, is.Total
	fmt.Fprintf(w, "total: parameters %s", remain(int64(a.Params), int64(b.Params)))
	if a.MACs > 0 {
		fmt.Fprintf(w, ", multiply-adds %s", remain(a.MACs, b.MACs))
	}
	fmt.Fprintln(w)
}

// remain returns "a → b (50.0 % remain)".
func remain(a, b int64) string {
	return fmt.Sprintf("%s → %s (%.1f %% remain)", grouped(a), grouped(b), 100*float64(b)/float64(max(a, 1)))
}

// sizesOf returns the sizes in a type: N×32×28×28.
func sizesOf(typ string) string {
	_, s, _ := strings.Cut(typ, "[")
	depth := 0
	return strings.Map(func(r rune) rune {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				return '×'
			}
		}
		return r
	}, strings.TrimSuffix(s, "]"))
}

// change returns "a → b", or a if they are equal.
func change(a, b string) string {
	if a == b {
		return a
	}
	return a + " → " + b
}

// after formats metrics, ": validation accuracy 0.9"; "" if there are none.
func after(figures map[string]float64) string {
	if len(figures) == 0 {
		return ""
	}
	return ": cut, validation " + figureLine(figures)
}

// printRounds prints the table of the rounds.
func printRounds(w io.Writer, list []round) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "round\tparameters\tmultiply-adds\t")
	for name := range sorted(list[0].Tuned) {
		fmt.Fprintf(t, "%s, cut\ttuned\t", name)
	}
	fmt.Fprintln(t)
	for _, r := range list {
		fmt.Fprintf(t, "%d\t%s\t%s\t", r.Number, grouped(int64(r.Total.Params)), grouped(r.Total.MACs))
		for name := range sorted(list[0].Tuned) {
			cut := "-"
			if x, ok := r.Cut[name]; ok {
				cut = fmt.Sprintf("%.4g", x)
			}
			fmt.Fprintf(t, "%s\t%.4g\t", cut, r.Tuned[name])
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // later writes return the error
}

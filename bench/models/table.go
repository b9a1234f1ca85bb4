package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
)

// table holds the results of all checks of all models.
type table struct {
	runtime string // ONNX Runtime's version
	rows    []row
}

const intro = `# Models that were tried

Written by ` + "`make models`" + `. %d models, from other projects and from PyTorch's exporter, were loaded, run, trained, pruned, written as source and
exported, on the inputs of their test cases. A number in parentheses refers to a note below the table.

* **load**, **run**: median of nine times after a warm-up, with %d threads; a run is one forward pass. The machine was shared: the times give an order of
  magnitude.
* **ONNX Runtime**: the largest difference between an output and that of ONNX Runtime %s without graph optimizations, relative to the output's
  largest element (at least 1).
* **loss after 10 steps**: of ` + "`train.Trainer`" + ` with Adam at 0.001 on this one batch, relative to the first loss. The loss is the squared
  distance of the first output to random targets in its range.
* **parameters left**: elements of all initializers after pruning to 70 %% of the multiply-adds. The pruned model equals the original with the removed slices
  set to zero (within 1e-5); it is saved, and gives the same in ONNX Runtime.
* **source**: lines of the Go program that ` + "`graft generate`" + ` writes, which computes the same.
* **step**: nodes of the exported training step; in ONNX Runtime it gives the trainer's first loss (within 1e-4).

`

func (t table) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, intro, len(t.rows), runtime.GOMAXPROCS(0), t.runtime)
	b.WriteString("| model |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.title)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(columns)) + "\n")
	var notes []string
	number := map[string]int{}
	held := make([]int, len(columns))
	for _, r := range t.rows {
		fmt.Fprintf(&b, "| %s |", r.name)
		for i, c := range r.cells {
			if c.text != "" {
				held[i]++
			}
			if c.err == nil {
				fmt.Fprintf(&b, " %s |", c.text)
				continue
			}
			why := reason(c.err)
			if number[why] == 0 {
				notes = append(notes, why)
				number[why] = len(notes)
			}
			fmt.Fprintf(&b, " %s |", strings.TrimSpace(fmt.Sprintf("%s (%d)", c.text, number[why])))
		}
		b.WriteString("\n")
	}
	b.WriteString("| **of them** |")
	for _, n := range held {
		fmt.Fprintf(&b, " **%d** |", n)
	}
	b.WriteString("\n")
	for i, n := range notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%d. %s\n", i+1, n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// reason returns the first line of an error, as text of Markdown.
func reason(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	if r := []rune(s); len(r) > 400 {
		s = string(r[:400]) + "…"
	}
	return strings.NewReplacer("<", "&lt;", "*", `\*`, "|", `\|`, "_", `\_`).Replace(s)
}

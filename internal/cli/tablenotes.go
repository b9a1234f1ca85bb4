package cli

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/train/table"
)

// describe describes the format of the table and its target.
func describe(p *plan) []string {
	f, c := p.table.Format, p.table.Target
	what := "measurements"
	if p.table.Classes != nil {
		what = fmt.Sprintf("%d classes", len(p.table.Classes))
	}
	header := "a header"
	if f.Header < 0 {
		header = "no header"
	}
	comma := fmt.Sprintf("%q", f.Comma)
	if f.Comma == '\t' {
		comma = "tabs"
	}
	lines := []string{fmt.Sprintf("%s: %d rows, %s between columns, %q in numbers, %s; target %s: %s", p.table.Path, p.table.Len(), comma, f.Decimal, header, c.Name, what)}
	if again := p.table.Renamed; len(again) > 0 {
		lines = append(lines, "columns called like an earlier one are renamed: "+brief(again))
	}
	return append(lines, oddities(p.table)...)
}

// oddities describes texts in numeric columns, and rows that are dropped because their target is missing.
func oddities(t *table.Table) []string {
	lines := strays(t)
	if t.Target != nil {
		lines = append(lines, strayWords(t.Target)...)
	}
	whole := t.Complete()
	if n := t.Len() - len(whole); n > 0 {
		row := slices.IndexFunc(upTo(t.Len()), func(i int) bool { return i >= len(whole) || whole[i] != i })
		lines = append(lines, fmt.Sprintf("left out, without a target: %d of %d rows, the first in line %d", n, t.Len(), t.Lines[row]))
	}
	return lines
}

// strays returns the texts in numeric columns.
func strays(t *table.Table) (lines []string) {
	if n := t.Preamble; n > 0 {
		lines = append(lines, fmt.Sprintf("%s: left out: %s before the table", t.Path, plural(n, "line")))
	}
	if t.Recoded > 0 {
		lines = append(lines, fmt.Sprintf("%s is not UTF-8: %d bytes were read as Windows-1252", t.Path, t.Recoded))
	}
	for _, c := range t.Columns {
		lines = append(lines, strayWords(c)...)
	}
	return lines
}

func strayWords(c *table.Column) []string {
	if c.Kind != table.Number || c.Note == "" {
		return nil
	}
	return []string{fmt.Sprintf("column %s: %s", c.Name, c.Note)}
}

// tells returns a note for each column that alone determines the target: it may be known only after what it is to predict.
func tells(t *table.Table, rows []int) (lines []string) {
	for _, c := range t.Columns {
		if (c.Kind == table.Category || c.Kind == table.Number) && t.Target != nil && len(rows) >= 20 && determines(c, t, rows) {
			lines = append(lines, fmt.Sprintf("column %s alone determines the target: is it known when the model is used? --column %[1]s=ignore leaves it out", c.Name))
		}
	}
	return lines
}

// determines reports whether each value of a column has one class, half as many values as rows at most, or whether the target is a linear
// function of it.
func determines(c *table.Column, t *table.Table, rows []int) bool {
	if t.Classes == nil {
		return c.Kind == table.Number && linear(c.Number, t.Target.Number, rows)
	}
	classes, err := t.Targets(rows)
	if err != nil {
		return false
	}
	of := map[float64]int64{}
	for i, r := range rows {
		var v float64
		if c.Kind == table.Number {
			v = c.Number[r]
		} else {
			v = float64(c.Code[r])
		}
		class := classes.Int64s()[i]
		if seen, ok := of[v]; v != v || ok && seen != class {
			return false
		}
		of[v] = class
	}
	return 2*len(of) <= len(rows)
}

// linear reports whether y is a linear function of x in the given rows: a correlation of ±1 within 1e-6.
func linear(x, y []float64, rows []int) bool {
	n := float64(len(rows))
	var mx, my, xx, yy, xy float64
	for _, r := range rows {
		mx, my = mx+x[r]/n, my+y[r]/n
	}
	for _, r := range rows {
		dx, dy := x[r]-mx, y[r]-my
		xx, yy, xy = xx+dx*dx, yy+dy*dy, xy+dx*dy
	}
	return xx > 0 && yy > 0 && math.Abs(xy) > (1-1e-6)*math.Sqrt(xx*yy)
}

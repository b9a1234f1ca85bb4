package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
)

// fill determines the kind of column i, unless it is given, and stores its values, unless the context ends.
func (c *Column) fill(records []record, lines []int, i int, rows *Rows, k kind) error {
	err := c.store(records, lines, i, rows, k)
	return cmp.Or(rows.ended(), err)
}

func (c *Column) store(records []record, lines []int, i int, rows *Rows, k kind) error {
	c.Kind = k.ColumnKind
	if c.Kind == "" {
		c.infer(records, i, rows)
	}
	switch c.Kind {
	case Ignore:
		return nil
	case Number:
		return c.numbers(records, lines, i, rows, k.strict)
	case Date:
		c.Layout = cmp.Or(c.Layout, k.layout)
		return c.dates(records, i, rows)
	}
	if err := c.words(records, i, rows); err != nil {
		return err
	}
	if k.ColumnKind == "" && c.Kind == Category && identifier(c, len(records)) {
		c.Kind, c.Note = Ignore, fmt.Sprintf("%d of %d values differ; --column %s=category uses it", len(c.Words), len(records), c.Name)
	}
	return nil
}

// strays is the largest fraction of words in a column of numbers; such words count as missing.
const strays = 0.05

// infer determines the kind from all values: dates, numbers with a few words among them, or words. Integers with leading zeros, such
// as postal codes, are words.
func (c *Column) infer(records []record, i int, rows *Rows) {
	numbers, words, zeros := 0, 0, false
	layout, dates := "", true
	for _, s := range rows.fields(records, i) {
		if missing(s) {
			continue
		}
		if dates {
			layout, dates = follow(layout, s, records, i, rows)
		}
		if _, ok := number(s, rows.Decimal); ok {
			numbers++
			zeros = zeros || len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9' && !strings.ContainsRune(s, rows.Decimal)
		} else {
			words++
		}
	}
	switch {
	case numbers+words == 0:
		c.Kind, c.Note = Ignore, "all values are missing"
	case dates && words > 0:
		c.Kind, c.Layout = Date, layout
	case zeros && words == 0:
		c.Kind, c.Note = Category, "numbers with zeros in front are codes"
	case float64(words) <= strays*float64(numbers):
		c.Kind = Number
	default:
		c.Kind = Category
	}
}

// follow tries a value with the current layout. If it does not match, follow looks for the first layout that all values match.
func follow(layout, s string, records []record, i int, rows *Rows) (string, bool) {
	if layout != "" {
		if _, ok := day(s, layout); ok {
			return layout, true
		}
	}
	for _, l := range layouts {
		if _, ok := day(s, l); !ok {
			continue
		}
		all := true
		for _, v := range rows.fields(records, i) {
			if _, ok := day(v, l); !ok && !missing(v) {
				all = false
				break
			}
		}
		if all {
			return l, true
		}
	}
	return "", false
}

// numbers stores numbers. Words among them count as missing if the kind of the column was detected, and are errors if it was given
// (said).
func (c *Column) numbers(records []record, lines []int, i int, rows *Rows, said bool) error {
	if err := c.number(len(records), rows); err != nil {
		return err
	}
	stray := map[string][]int{} // lines
	for k, s := range rows.fields(records, i) {
		x, ok := number(s, rows.Decimal)
		if !ok {
			x = math.NaN()
			if !missing(s) {
				if said {
					return fmt.Errorf("table: %s: line %d, column %s: %q is not a number", rows.Path, lines[k], c.Name, s)
				}
				stray[s] = append(stray[s], lines[k])
			}
		}
		c.Number[k] = x
	}
	if len(stray) > 0 {
		var list []string
		for s, at := range stray {
			list = append(list, fmt.Sprintf("%q (%s)", s, places(at)))
		}
		slices.Sort(list)
		c.Note = "counted as missing: " + brief(list)
	}
	return nil
}

// places describes where something occurs: its line, or the number of lines and the first one.
func places(lines []int) string {
	if len(lines) == 1 {
		return fmt.Sprintf("line %d", lines[0])
	}
	return fmt.Sprintf("%d, the first in line %d", len(lines), lines[0])
}

// dates stores dates as days. If the layout does not match all values, another is looked for.
func (c *Column) dates(records []record, i int, rows *Rows) error {
	for _, s := range rows.fields(records, i) {
		if !missing(s) {
			layout, ok := follow(c.Layout, s, records, i, rows)
			if !ok {
				return fmt.Errorf("table: %s: column %s: no date format fits both %q and the other values", rows.Path, c.Name, stranger(records, i, s, rows))
			}
			c.Layout = layout
		}
	}
	if err := c.number(len(records), rows); err != nil {
		return err
	}
	for k, s := range rows.fields(records, i) {
		c.Number[k], _ = day(s, c.Layout)
	}
	c.Note = "as " + c.Layout
	return nil
}

// stranger returns a value that matches no layout; s if each matches one.
func stranger(records []record, i int, s string, rows *Rows) string {
	for _, v := range rows.fields(records, i) {
		if !missing(v) && !slices.ContainsFunc(layouts, func(l string) bool { _, ok := day(v, l); return ok }) {
			return v
		}
	}
	return s
}

// number allocates the numbers of n rows.
func (c *Column) number(n int, rows *Rows) (err error) {
	c.Number, err = budget.Slice[float64](n)
	return c.charged(err, n, rows)
}

// charged adds the column to an error of the memory budget.
func (c *Column) charged(err error, n int, rows *Rows) error {
	if err != nil {
		err = fmt.Errorf("table: %s: column %s of %d rows: %w", rows.Path, c.Name, n, err)
	}
	return err
}

// perWord is about how many bytes a distinct word takes besides its text, while the list of words is enlarged.
const perWord = 128

func (c *Column) words(records []record, i int, rows *Rows) (err error) {
	if c.Code, err = budget.Slice[int32](len(records)); err != nil {
		return c.charged(err, len(records), rows)
	}
	var taken budget.Tally
	defer taken.Free()
	at := map[string]int32{}
	for k, s := range rows.fields(records, i) {
		if c.Kind != Text && missing(s) || s == "" {
			c.Code[k] = -1
			continue
		}
		code, ok := at[s]
		if !ok {
			if err := taken.Add(int64(len(s)) + perWord); err != nil {
				return c.charged(fmt.Errorf("%d distinct words: %w", len(c.Words)+1, err), len(records), rows)
			}
			code = int32(len(c.Words))
			s = strings.Clone(s)
			at[s] = code
			c.Words = append(c.Words, s)
		}
		c.Code[k] = code
	}
	budget.Transfer(&taken, c)
	return nil
}

// identifier reports whether a column has too many distinct words to learn from: names, keys, free text.
func identifier(c *Column, rows int) bool {
	return rows >= 20 && 2*len(c.Words) > rows
}

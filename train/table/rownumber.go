package table

import (
	"fmt"
	"math"
	"regexp"
)

// counted matches the names of columns with row numbers.
var counted = regexp.MustCompile(`(?i)^(|#|id|.*[ _.-]id|(?-i:[a-z]+Id)|index|idx|row|row[ _.-]?(id|number|nr|no)|nr|no|number|unnamed: ?0|record)$`)

// RowNumber reports whether a column numbers the rows: consecutive unique whole numbers in a column with a name such as
// id, or in the first column and in the order of the file, from 0 or 1.
func (t *Table) RowNumber(c *Column) bool {
	if c == nil {
		return false
	}
	n := len(c.Number)
	if c.Kind != Number || n < 3 {
		return false
	}
	seen := make([]bool, n)
	least := math.Inf(1)
	for _, x := range c.Number {
		least = min(least, x) // a NaN propagates
	}
	rising := least == 0 || least == 1
	for i, x := range c.Number {
		k := x - least
		if !(k >= 0 && k < float64(n)) || k != math.Trunc(k) || seen[int(k)] {
			return false
		}
		seen[int(k)] = true
		rising = rising && int(k) == i
	}
	return counted.MatchString(c.Name) || rising && len(t.Names) > 0 && t.Names[0] == c.Name
}

// LeaveRowNumbers changes the kind of columns that number the rows to Ignore, with a note.
func (t *Table) LeaveRowNumbers() {
	for _, c := range t.Columns {
		if t.RowNumber(c) {
			c.Kind, c.Note = Ignore, fmt.Sprintf("numbers the rows; --column %s=number uses it", c.Name)
		}
	}
}

// Gap returns the first of the given rows with a missing value, in a column of numbers or dates; −1 if there is none.
func (c *Column) Gap(rows []int) int {
	if c.Number == nil {
		return -1
	}
	for _, r := range rows {
		if math.IsNaN(c.Number[r]) || math.IsInf(c.Number[r], 0) {
			return r
		}
	}
	return -1
}

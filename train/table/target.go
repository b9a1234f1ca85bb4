package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// answers determines the task and numbers the classes of the target.
func (r Reader) answers(t *Table) error {
	c := t.Target
	switch task := r.task(c); {
	case c.Kind == Ignore:
		return fmt.Errorf("target column %s: %s", c.Name, c.Note)
	case task == Regression && c.Kind != Number && c.Kind != Date:
		return fmt.Errorf("target column %s holds text, such as %q: want numbers for regression", c.Name, c.example())
	case task == Regression:
		c.Kind = Number
		return nil
	case r.Classes != nil:
		return t.number(r.Classes)
	case c.Number == nil:
		return t.number(sorted(c.Words))
	}
	distinct := c.distinct()
	if len(distinct) > 0 && distinct[0] == 0 && whole(distinct[len(distinct)-1]) && distinct[len(distinct)-1] < 1<<20 && !slices.ContainsFunc(distinct, func(x float64) bool { return !whole(x) }) {
		names := make([]string, int(distinct[len(distinct)-1])+1)
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		return t.number(names)
	}
	names := make([]string, len(distinct))
	for i, x := range distinct {
		names[i] = plainNumber(x)
	}
	return t.number(names)
}

// task returns the reader's task or, if it is to be detected, classification for words and for few integers that each occur often.
func (r Reader) task(c *Column) Task {
	switch {
	case r.Task != Auto:
		return r.Task
	case r.schema != nil && r.Classes == nil:
		return Regression
	case r.schema != nil:
		return Classes
	case c.Number == nil || r.Kinds[c.Name] == Category:
		return Classes
	case c.Kind == Date || r.Kinds[c.Name] == Number:
		return Regression
	}
	distinct, n := c.distinct(), 0
	for _, x := range c.Number {
		if !math.IsNaN(x) {
			n++
		}
		if !math.IsNaN(x) && !whole(x) {
			return Regression
		}
	}
	if r.Integers != Auto {
		return r.Integers
	}
	if k := len(distinct); k <= 2 || k <= 50 && n >= 5*k && float64(k) >= (distinct[k-1]-distinct[0])/2 && !c.counts(distinct) {
		return Classes
	}
	return Regression
}

// counts reports whether integers are distributed like counts rather than classes: there are six or more, their frequency decreases
// with the distance from the most frequent one, apart from random deviations, and the largest occurs less than five times.
func (c *Column) counts(distinct []float64) bool {
	often := make([]float64, len(distinct))
	for _, x := range c.Number {
		if i, ok := slices.BinarySearch(distinct, x); ok {
			often[i]++
		}
	}
	last := len(often) - 1
	peak := slices.Index(often, slices.Max(often))
	if len(often) < 6 || often[last] >= 5 || often[last] >= often[peak]/10 {
		return false
	}
	for i, n := range often {
		if near := i + 1; i < peak && n > often[near]+2*math.Sqrt(n) {
			return false
		}
		if i > peak && n > often[i-1]+2*math.Sqrt(n) {
			return false
		}
	}
	return true
}

// distinct returns the distinct values of a column of numbers in ascending order, without missing ones.
func (c *Column) distinct() []float64 {
	list := slices.DeleteFunc(slices.Clone(c.Number), math.IsNaN)
	slices.Sort(list)
	return slices.Compact(list)
}

// number sets the class of each row to the index of its target in names.
func (t *Table) number(names []string) error {
	c := t.Target
	t.Classes = names
	at := make(map[string]int64, len(names))
	for i, s := range names {
		at[s] = int64(i)
	}
	t.class = make([]int64, t.Len())
	for i := range t.class {
		s := ""
		if c.Number == nil {
			s = c.word(i)
		} else if !math.IsNaN(c.Number[i]) {
			s = plainNumber(c.Number[i])
		}
		k, ok := at[s]
		if !ok {
			k = -1
			if s != "" {
				return fmt.Errorf("line %d: the target %s is %q, which is not among the classes %s", t.Lines[i], c.Name, s, brief(names))
			}
		}
		t.class[i] = k
	}
	return nil
}

func plainNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func (c *Column) example() string {
	if len(c.Words) > 0 {
		return c.Words[0]
	}
	return ""
}

func sorted(words []string) []string {
	list := slices.Clone(words)
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(a, b) })
	return list
}

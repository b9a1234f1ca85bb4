package data

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/tensor"
)

// Table is a set read from a file of comma-separated values. Sample i has the
// features of row i as float32 [features] and its target: an int64 class of
// rank 0, or float32 [1] where the target is a measured number.
type Table struct {
	Features []string // names of the feature columns; "0", "1" … without a header
	Target   string   // name of the target column
	Classes  []string // sorted names, where the target is text; nil otherwise
	x        []float32
	class    []int64
	value    []float32
}

// CSVReader reads tables. Its zero value is for commas and a target in the
// last column.
type CSVReader struct {
	Comma      rune   // ','
	Target     string // name, or number from 0, of the target column; "": the last
	Regression bool   // whole numbers in the target are measurements, not classes
}

// CSV reads a table with default settings.
func CSV(path string) (*Table, error) { return CSVReader{}.Read(path) }

// Read reads a table, plain or gzip. The first line is a header when one of its
// feature columns is not a number. Features are numbers; targets that are all
// whole numbers from 0 on, or text, are classes; other numbers are measured
// values. Errors name file and line.
func (c CSVReader) Read(path string) (*Table, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := c.read(f)
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", path, err)
	}
	return t, nil
}

func (c CSVReader) read(f io.Reader) (*Table, error) {
	r := csv.NewReader(f)
	r.TrimLeadingSpace = true
	r.ReuseRecord = true
	if c.Comma != 0 {
		r.Comma = c.Comma
	}
	first, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("empty")
	}
	if err != nil {
		return nil, err
	}
	first = slices.Clone(first)
	target, err := c.column(first)
	if err != nil {
		return nil, err
	}
	t := &Table{}
	header := hasHeader(first, target)
	if at, err := strconv.Atoi(c.Target); err == nil && at >= 0 && at < len(first) && !header {
		target, header = at, hasHeader(first, at) // the first line has values, no names
	}
	for i := range first {
		name := strconv.Itoa(i)
		if header {
			name = strings.TrimSpace(first[i])
		}
		if i == target {
			t.Target = name
		} else {
			t.Features = append(t.Features, name)
		}
	}
	if len(t.Features) == 0 {
		return nil, fmt.Errorf("one column, want features and a target")
	}
	var answers []string
	rec := first
	if header {
		rec, err = r.Read()
	}
	for ; err == nil; rec, err = r.Read() {
		for i, v := range rec {
			if i == target {
				answers = append(answers, strings.TrimSpace(v))
				continue
			}
			x, bad := number32(v)
			if bad != nil {
				line, _ := r.FieldPos(i)
				return nil, fmt.Errorf("line %d: %q in column %d is not a number", line, v, i)
			}
			t.x = append(t.x, x)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(answers) == 0 {
		return nil, fmt.Errorf("no rows below the header")
	}
	return t, t.answer(answers, c.Regression)
}

// hasHeader says whether the first line has a feature that is not a number.
func hasHeader(first []string, target int) bool {
	for i, v := range first {
		if _, err := number32(v); err != nil && i != target {
			return true
		}
	}
	return false
}

// column finds the target column by name, by number, or takes the last.
func (c CSVReader) column(first []string) (int, error) {
	if c.Target == "" {
		return len(first) - 1, nil
	}
	for i, v := range first {
		if strings.TrimSpace(v) == c.Target {
			return i, nil
		}
	}
	if i, err := strconv.Atoi(c.Target); err == nil && i >= 0 && i < len(first) {
		return i, nil
	}
	return 0, fmt.Errorf("no column %q; the first line is %s", c.Target, strings.Join(first, ", "))
}

func number32(s string) (float32, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 32)
	return float32(v), err
}

// answer decides what kind the targets are and keeps them.
func (t *Table) answer(text []string, regression bool) error {
	numbers, whole := true, true
	for _, s := range text {
		v, err := strconv.ParseFloat(s, 64)
		numbers = numbers && err == nil
		whole = whole && v == math.Trunc(v) && v >= 0 && v < math.MaxInt32
	}
	switch {
	case numbers && (regression || !whole):
		for _, s := range text {
			v, err := number32(s)
			if err != nil {
				return fmt.Errorf("target %q: %w", s, err)
			}
			t.value = append(t.value, v)
		}
	case numbers:
		for _, s := range text {
			v, _ := strconv.ParseFloat(s, 64)
			t.class = append(t.class, int64(v))
		}
	case regression:
		return fmt.Errorf("target column %s holds text, want numbers", t.Target)
	default:
		t.Classes = slices.Compact(slices.Sorted(slices.Values(text)))
		for _, s := range text {
			i, _ := slices.BinarySearch(t.Classes, s)
			t.class = append(t.class, int64(i))
		}
	}
	return nil
}

// Len implements [Set].
func (t *Table) Len() int { return len(t.x) / len(t.Features) }

// At implements [Set].
func (t *Table) At(i int, _ *rand.Rand) (Sample, error) {
	if err := within(i, t.Len()); err != nil {
		return Sample{}, err
	}
	n := len(t.Features)
	s := Sample{X: []*tensor.Dense{tensor.New(tensor.WithShape(n), tensor.WithBacking(t.x[i*n:(i+1)*n:(i+1)*n]))}}
	if t.value != nil {
		s.Y = []*tensor.Dense{tensor.New(tensor.WithShape(1), tensor.WithBacking(t.value[i:i+1:i+1]))}
	} else {
		s.Y = []*tensor.Dense{label(int(t.class[i]))}
	}
	return s, nil
}

// names lists the keys of m for an error.
func names[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
)

// Column is a column of a table in memory.
type Column struct {
	Name   string     // in the header
	Kind   ColumnKind // kind of the values
	Layout string     // of dates, in the notation of package time
	Number []float64  // values of numbers and dates by row, NaN if missing
	Code   []int32    // indices into Words of categories and texts by row, −1 if missing
	Words  []string   // distinct words, in the order of their first appearance
	Note   string     // why the column has its kind, if that is not obvious
}

// Table is a table in memory.
type Table struct {
	Path     string    // of the file
	Format   Format    // format of the file
	Columns  []*Column // feature columns, including ignored ones
	Target   *Column   // nil: none
	Classes  []string  // names of the classes; nil for regression
	Lines    []int     // line of the file, by row
	Names    []string  // names of all columns of the file, in order
	Renamed  []string  // new names of columns that are called like an earlier one
	Preamble int       // number of lines before the table, such as comments
	Recoded  int       // number of bytes that are not UTF-8 and were read as Windows-1252
	class    []int64   // by row; −1 where missing
	text     []record
}

// Reader reads tables. With the zero value everything is detected, and the target is the last column.
type Reader struct {
	Format
	Target   string                // name, or number from 0, of the target column; "": the last
	NoTarget bool                  // all columns are features
	Task     Task                  // task of the target; zero: detected
	Integers Task                  // task of a target of whole numbers, if Task is Auto; Auto: detected
	Kinds    map[string]ColumnKind // kinds of columns by name; others are detected
	Classes  []string              // names of possible classes; nil: those that occur
	KeepText bool                  // keep the rows as written, for Table.Raw
	Context  context.Context       // ends reading; nil: nothing does

	schema *Schema // of the model that reads the table; nil: none
}

// Like returns a reader of tables in the form of t: with the same target, classes and kinds of columns, and with its decimal mark if
// numbers can be read with either. If t is nil, it returns r.
func (r Reader) Like(t *Table) Reader {
	if t == nil {
		return r
	}
	r.Kinds, r.Classes, r.likely = map[string]ColumnKind{}, t.Classes, t.Format.Decimal
	for _, c := range t.Columns {
		if c.Kind != Ignore {
			r.Kinds[c.Name] = c.Kind
		}
	}
	if t.Target != nil {
		r.Target, r.Kinds[t.Target.Name] = t.Target.Name, t.Target.Kind
	}
	if r.Task = Classes; t.Classes == nil {
		r.Task = Regression
	}
	return r
}

// Read reads a table with default settings.
func Read(path string) (*Table, error) { return Reader{}.Read(path) }

// Read reads a table, plain or gzip; "-" is standard input. Errors name file, line and column.
func (r Reader) Read(path string) (*Table, error) {
	rows, err := r.Open(path, r.Target)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	rows.context = r.Context
	records, lines, err := all(rows)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("table: %s: no rows below the header", path)
	}
	t := &Table{Path: path, Format: rows.Format, Lines: lines, Names: rows.Names, Renamed: rows.renamed, Recoded: rows.Recoded(), Preamble: rows.before}
	if r.KeepText {
		t.text = records
	}
	target, err := r.target(rows)
	if err != nil {
		return nil, fmt.Errorf("table: %s: %w", path, err)
	}
	if err := r.known(rows.Names); err != nil {
		return nil, fmt.Errorf("table: %s: %w", path, err)
	}
	for i, name := range rows.Names {
		c := &Column{Name: name}
		if err := c.fill(records, lines, i, rows, r.want(name, i == target)); err != nil {
			return nil, err
		}
		if i == target {
			t.Target = c
		} else {
			t.Columns = append(t.Columns, c)
		}
	}
	if len(t.Columns) == 0 {
		return nil, fmt.Errorf("table: %s: one column, %q, with %q between columns: want features and a target", path, rows.Names[0], string(rows.Comma))
	}
	if t.Target != nil {
		if err := r.answers(t); err != nil {
			return nil, fmt.Errorf("table: %s: %w", path, err)
		}
	}
	return t, nil
}

// all reads all records, each as one string with the ends of its fields, which takes little more memory than the file.
func all(rows *Rows) (records []record, lines []int, err error) {
	var taken budget.Tally
	defer taken.Free()
	for {
		if len(lines)%rowsBetween == 0 && rows.ended() != nil {
			return nil, nil, rows.ended()
		}
		rec, line, err := rows.Next()
		if errors.Is(err, io.EOF) {
			if len(records) > 0 {
				budget.Transfer(&taken, &records[0])
			}
			return records, lines, nil
		}
		if err != nil {
			return nil, nil, err
		}
		var b strings.Builder
		ends := make([]uint32, len(rec))
		for i, s := range rec {
			b.WriteString(s)
			ends[i] = uint32(b.Len())
		}
		if err := taken.Add(int64(b.Cap()+4*len(ends)) + perRow); err != nil {
			return nil, nil, fmt.Errorf("table: %s: line %d: the rows up to here: %w", rows.Path, line, err)
		}
		records, lines = append(records, record{b.String(), ends}), append(lines, line)
	}
}

// perRow is about how many bytes a row takes besides its text, while the list of rows is enlarged.
const perRow = 128

// rowsBetween is the number of rows between two looks at the context: about a millisecond.
const rowsBetween = 1024

// ended returns the error of the reader's context.
func (r *Rows) ended() error {
	if r.context == nil {
		return nil
	}
	return r.context.Err()
}

// fields iterates over column i of records until the context ends.
func (r *Rows) fields(records []record, i int) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for k, rec := range records {
			if k%rowsBetween == 0 && r.ended() != nil || !yield(k, rec.field(i)) {
				return
			}
		}
	}
}

type record struct {
	text string
	ends []uint32
}

func (r record) field(i int) string {
	if i == 0 {
		return r.text[:r.ends[0]]
	}
	return r.text[r.ends[i-1]:r.ends[i]]
}

// target returns the index of the target column, −1 for none.
func (r Reader) target(rows *Rows) (int, error) {
	if r.NoTarget || r.schema != nil && (r.Target == "" || !slices.Contains(rows.Names, r.Target)) {
		return -1, nil
	}
	if r.Target == "" {
		return len(rows.Names) - 1, nil
	}
	return find(rows.Names, r.Target)
}

// kind is the requested kind of a column.
type kind struct {
	ColumnKind        // "": detected
	strict     bool   // values of another kind are errors
	layout     string // layout of dates that is tried first
}

// want returns the kind of a column that the caller, or the model that reads the table, requests.
func (r Reader) want(name string, target bool) kind {
	if k, ok := r.Kinds[name]; ok || r.schema == nil || target {
		return kind{ColumnKind: k, strict: ok}
	}
	for _, f := range r.schema.Fields {
		if f.Name == name {
			return kind{ColumnKind: f.Kind, layout: f.Layout}
		}
	}
	return kind{ColumnKind: Ignore}
}

// find returns the index of a column by its name or number.
func find(names []string, want string) (int, error) {
	if i := slices.Index(names, want); i >= 0 {
		return i, nil
	}
	if i := slices.IndexFunc(names, func(s string) bool { return strings.EqualFold(s, want) }); i >= 0 {
		return i, nil
	}
	for i := range names {
		if fmt.Sprint(i) == want {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no column %q; it has %s", want, brief(names))
}

// known returns an error if Kinds has a column that does not exist.
func (r Reader) known(names []string) error {
	if r.schema != nil {
		return r.schema.lacks(names)
	}
	for name := range r.Kinds {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no column %q; it has %s", name, brief(names))
		}
	}
	return nil
}

func brief(names []string) string {
	if len(names) > 12 {
		return fmt.Sprintf("%s … (%d in all)", strings.Join(names[:12], ", "), len(names))
	}
	return strings.Join(names, ", ")
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.Lines) }

// Column returns a feature column by name, or nil.
func (t *Table) Column(name string) *Column {
	for _, c := range t.Columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Complete returns the rows whose target is not missing.
func (t *Table) Complete() []int {
	var rows []int
	for i := range t.Len() {
		if t.Target == nil || t.class != nil && t.class[i] >= 0 || t.class == nil && !math.IsNaN(t.Target.Number[i]) {
			rows = append(rows, i)
		}
	}
	return rows
}

// Class returns the class of a row's target, −1 if it is missing or there is no such row.
func (t *Table) Class(row int) int {
	if row < 0 || row >= len(t.class) {
		return -1
	}
	return int(t.class[row])
}

// word returns the value of a text column in a row, "" if it is missing.
func (c *Column) word(row int) string {
	if k := c.Code[row]; k >= 0 {
		return c.Words[k]
	}
	return ""
}

// Raw returns a row as it was written, in the order of Names, for a table that was read with KeepText.
func (t *Table) Raw(row int) []string {
	list := make([]string, len(t.Names))
	for i := range list {
		list[i] = t.text[row].field(i)
	}
	return list
}

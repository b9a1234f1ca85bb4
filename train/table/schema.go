package table

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// metaKey is the key of the Schema in a model's metadata.
const metaKey = "graft.table"

// Schema lists the columns of a table that a model reads, and its target. It is stored in the model's metadata.
type Schema struct {
	Fields []Field `json:"columns"`          // the columns that the model reads
	Target string  `json:"target,omitempty"` // name of the target column
	// Classes are the names of the target's classes, in the order of the model's scores; nil for regression.
	Classes []string `json:"classes,omitempty"`
	// Packed is the name of an input that takes all columns as numbers, [N, columns] in the order of Fields; "" if each column is a
	// separate input [N, 1].
	Packed string `json:"packed,omitempty"`
	// Decimal is the decimal mark of the table that the model was trained on if it is a comma. Tables whose numbers can be read with
	// either mark are read with it.
	Decimal string `json:"decimal,omitempty"`
}

// Field is a column that a model reads.
type Field struct {
	Name   string     `json:"name"`             // name of the column, and of the input
	Kind   ColumnKind `json:"kind"`             // kind of the values
	Type   string     `json:"type,omitempty"`   // element type of its input: float32, float64 or string
	Layout string     `json:"layout,omitempty"` // layout of dates, in the notation of package time
}

// Meta returns the schema as an entry of a model's metadata.
func (s Schema) Meta() (key, value string, err error) {
	b, err := json.Marshal(s)
	return metaKey, string(b), err
}

// ReadMeta returns the schema in a model's metadata; ok is false if there is none.
func ReadMeta(meta map[string]string) (s Schema, ok bool, err error) {
	text, ok := meta[metaKey]
	if !ok {
		return s, false, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields() // a setting of a later version must not be ignored silently
	if err := d.Decode(&s); err != nil {
		return s, false, fmt.Errorf("table: metadata %s: %w", metaKey, err)
	}
	return s, true, nil
}

// Reader returns a reader of tables for a model with the schema: columns in any order, others ignored. The target may
// be absent.
func (s Schema) Reader(r Reader) Reader {
	r.schema, r.Classes = &s, s.Classes
	for _, mark := range s.Decimal {
		r.likely = mark
	}
	if r.Target == "" {
		r.Target = s.Target
	}
	return r
}

// lacks returns an error that lists the columns of the schema that are not among the names, with the most similar names.
func (s Schema) lacks(names []string) error {
	var none []string
	for _, f := range s.Fields {
		if !slices.Contains(names, f.Name) {
			none = append(none, f.Name)
		}
	}
	if len(none) == 0 {
		return nil
	}
	column := "column"
	if len(none) > 1 {
		column = "columns"
	}
	return fmt.Errorf("the model takes the %s %s, which the table lacks; it has %s", column, brief(none), brief(names))
}

// Feed returns the values of the columns in the given rows, by the names of the model's inputs.
func (s Schema) Feed(t *Table, rows []int) (nn.Feed, error) {
	feed := nn.Feed{}
	if s.Packed != "" {
		x, err := s.pack(t, rows)
		feed[s.Packed] = x
		return feed, err
	}
	for _, f := range s.Fields {
		c := t.Column(f.Name)
		if c == nil {
			return nil, s.lacks(nil)
		}
		v, err := c.value(f.Type, rows)
		if err != nil {
			return nil, err
		}
		feed[f.Name] = v
	}
	return feed, nil
}

// pack concatenates all columns to a matrix [rows, columns].
func (s Schema) pack(t *Table, rows []int) (*tensor.Dense, error) {
	x := make([]float32, len(rows)*len(s.Fields))
	for k, f := range s.Fields {
		c := t.Column(f.Name)
		if c == nil || c.Number == nil {
			return nil, fmt.Errorf("table: %s: the model takes column %s as numbers", t.Path, f.Name)
		}
		for i, r := range rows {
			x[i*len(s.Fields)+k] = float32(c.Number[r])
		}
	}
	return dtype.FromSlice(x, len(rows), len(s.Fields))
}

// value returns a column's values [rows, 1] with an element type of the given name.
func (c *Column) value(typ string, rows []int) (dtype.Value, error) {
	if typ == dtype.String.String() {
		list := make([]string, len(rows))
		for i, r := range rows {
			if c.Code != nil {
				list[i] = c.word(r)
			}
		}
		return dtype.NewStrings(list, len(rows), 1)
	}
	if c.Number == nil {
		return nil, fmt.Errorf("table: column %s holds text such as %q, the model takes it as %s", c.Name, c.example(), typ)
	}
	t, err := dtype.Parse(typ)
	if err != nil {
		return nil, err
	}
	x := make([]float64, len(rows))
	for i, r := range rows {
		x[i] = c.Number[r]
	}
	return dtype.FromFloats(t, x, len(rows), 1)
}

// Targets returns the targets of the given rows: classes as int64 [rows], numbers as float32 [rows, 1].
func (t *Table) Targets(rows []int) (*tensor.Dense, error) {
	if t == nil {
		return nil, errNoTable
	}
	if t.class != nil {
		y := make([]int64, len(rows))
		for i, r := range rows {
			y[i] = t.class[r]
		}
		return dtype.FromSlice(y, len(rows))
	}
	if t.Target == nil {
		return nil, fmt.Errorf("table: %s: has no target column", t.Path)
	}
	y := make([]float32, len(rows))
	for i, r := range rows {
		y[i] = float32(t.Target.Number[r])
	}
	return dtype.FromSlice(y, len(rows), 1)
}

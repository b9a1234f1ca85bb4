package table

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

// FeedObjects is Feed for rows that are objects, as decoded from JSON: numbers, texts and booleans by the names of the
// columns. A column that is absent or null is missing in that row; other keys are ignored.
func (s Schema) FeedObjects(rows []map[string]any) (nn.Feed, error) {
	t := &Table{Path: "objects"}
	t.Lines = make([]int, len(rows))
	index := make([]int, len(rows))
	for i := range index {
		index[i] = i
	}
	for _, f := range s.Fields {
		c := &Column{Name: f.Name, Kind: f.Kind, Layout: f.Layout}
		if f.Type != dtype.String.String() {
			c.Number = []float64{}
		}
		some := false
		for _, row := range rows {
			v, ok := row[f.Name]
			some = some || ok
			if err := c.append(f, v); err != nil {
				return nil, err
			}
		}
		if !some && len(rows) > 0 {
			return nil, fmt.Errorf("table: no value for column %s (%s); null stands for a missing value", f.Name, f.Kind)
		}
		t.Columns = append(t.Columns, c)
	}
	return s.Feed(t, index)
}

// append adds a JSON value to a column.
func (c *Column) append(f Field, v any) error {
	text := ""
	switch v := v.(type) {
	case nil:
	case string:
		text = v
	case bool, json.Number, float64, int:
		text = fmt.Sprint(v)
	default:
		return fmt.Errorf("table: column %s: %v: want a number or a text", f.Name, v)
	}
	if f.Type == dtype.String.String() {
		c.Code = append(c.Code, int32(len(c.Words)))
		if c.Kind != Text && missing(text) {
			text = ""
		}
		c.Words = append(c.Words, text)
		return nil
	}
	x, ok := math.NaN(), missing(text)
	switch {
	case ok:
	case f.Kind == Date:
		x, ok = day(text, f.Layout)
		for i := 0; !ok && i < len(layouts); i++ {
			x, ok = day(text, layouts[i])
		}
	default:
		x, ok = number(text, '.')
	}
	if !ok {
		return fmt.Errorf("table: column %s: %q is not a %s", f.Name, text, f.Kind)
	}
	c.Number = append(c.Number, x)
	return nil
}

package table

import (
	"fmt"
	"strings"
)

// ColumnKind is the kind of a column.
type ColumnKind string

// The kinds of columns.
const (
	Number   ColumnKind = "number"   // numbers; missing ones are NaN
	Category ColumnKind = "category" // one of a limited list of words
	Date     ColumnKind = "date"     // days since 1970-01-01, with the time of day as a fraction
	Text     ColumnKind = "text"     // text for a tokenizer
	Ignore   ColumnKind = "ignore"   // not read by the model
)

// ParseKinds parses "age=number,city=category": kinds of columns, by name.
func ParseKinds(s string) (map[string]ColumnKind, error) {
	kinds := map[string]ColumnKind{}
	for item := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		i := strings.LastIndex(item, "=")
		if i < 1 {
			return nil, fmt.Errorf("table: %q: want COLUMN=KIND with the kind number, category, date, text or ignore", item)
		}
		name, kind := strings.TrimSpace(item[:i]), ColumnKind(strings.ToLower(strings.TrimSpace(item[i+1:])))
		switch kind {
		case Number, Category, Date, Text, Ignore:
		default:
			return nil, fmt.Errorf("table: column %s: %q is not a kind: want number, category, date, text or ignore", name, kind)
		}
		if k, ok := kinds[name]; ok && k != kind {
			return nil, fmt.Errorf("table: column %s has two kinds, %s and %s", name, k, kind)
		}
		kinds[name] = kind
	}
	return kinds, nil
}

// Task is the task of a target.
type Task string

// The tasks.
const (
	Auto       Task = ""
	Classes    Task = "classes"
	Regression Task = "regression"
)

// ParseTask parses the name of a task; "" and "auto" are Auto.
func ParseTask(s string) (Task, error) {
	switch t := Task(strings.ToLower(s)); t {
	case Auto, Classes, Regression:
		return t, nil
	case "auto":
		return Auto, nil
	case "classification":
		return Classes, nil
	}
	return Auto, fmt.Errorf("table: task %q: want classes, regression or auto", s)
}

package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
	"github.com/spf13/cobra"
)

// tabular holds the flags about reading and preprocessing tables.
type tabular struct {
	target, task, columns string
	scale                 string
	separator, decimal    string
	header                string
	context               func() context.Context // of the command
}

// readFlags adds the flags about reading tables.
func (t *tabular) readFlags(cmd *cobra.Command) {
	t.context = cmd.Context
	f := cmd.Flags()
	f.StringVar(&t.task, "task", "auto", "task of a table's target: classes, regression or auto")
	f.StringVar(&t.columns, "column", "", "kinds of table columns, NAME=KIND,…: number, category, date or ignore; default: detected")
	f.StringVar(&t.separator, "separator", "", `column separator of a table: "," ";" "|" or tab; default: detected`)
	f.StringVar(&t.decimal, "decimal", "", `decimal mark in a table's numbers, "." or ","; default: detected`)
	f.StringVar(&t.header, "header", "auto", "whether a table's first line is a header: yes, no or auto")
}

// forTables are the flags about reading tables.
var forTables = []string{"column", "separator", "decimal", "header"}

// onlyTables refuses flags about reading tables for other data.
func (d *dataset) onlyTables() error {
	if i := slices.IndexFunc(forTables, func(f string) bool { return d.changed(f) }); i >= 0 && !isTable(d.data) {
		return fmt.Errorf("--%s is for tables (.csv, .tsv), which %s is not", forTables[i], d.data)
	}
	return nil
}

// isTable reports whether a path is that of a table.
func isTable(path string) bool {
	path = strings.TrimSuffix(strings.ToLower(path), ".gz")
	return slices.Contains([]string{".csv", ".tsv", ".tab"}, filepath.Ext(path))
}

// columnar reports whether the data are a table whose columns are inputs. With a flag for preprocessing arrays of
// numbers, or if each row is an image, they are one array.
func (d *dataset) columnar() bool {
	return isTable(d.data) && !d.rowImages && d.text == "" && d.texts == nil && !data.IsTagFile(d.data) && !d.changed("preset", "mean", "std", "range", "bgr", "size", "crop")
}

// reader returns a table reader for the flags.
func (t *tabular) reader() (table.Reader, error) {
	r := table.Reader{Target: t.target}
	if t.context != nil {
		r.Context = t.context()
	}
	var err error
	if r.Task, err = table.ParseTask(t.task); err != nil {
		return r, fmt.Errorf("--task %s: want classes, regression or auto", t.task)
	}
	if r.Kinds, err = table.ParseKinds(t.columns); err != nil {
		return r, fmt.Errorf("--column: %s", strings.TrimPrefix(err.Error(), "table: "))
	}
	if r.Comma, err = mark("separator", t.separator, ",;|\t"); err != nil {
		return r, err
	}
	if r.Decimal, err = mark("decimal", t.decimal, ".,"); err != nil {
		return r, err
	}
	switch strings.ToLower(t.header) {
	case "", "auto":
	case "yes", "true":
		r.Header = 1
	case "no", "false":
		r.Header = -1
	default:
		return r, fmt.Errorf("--header %s: want yes, no or auto", t.header)
	}
	return r, nil
}

// mark returns the character that a flag gives.
func mark(flag, s, of string) (rune, error) {
	if s == "" {
		return 0, nil
	}
	if strings.EqualFold(s, "tab") || s == `\t` {
		s = "\t"
	}
	if r := []rune(s); len(r) == 1 && strings.ContainsRune(of, r[0]) {
		return r[0], nil
	}
	var list []string
	for _, c := range of {
		list = append(list, strings.ReplaceAll(strconv.QuoteRune(c), `'`, `"`))
	}
	return 0, fmt.Errorf("--%s %q: want one of %s", flag, s, strings.Join(list, " "))
}

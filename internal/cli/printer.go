package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// printer writes answers one by one.
type printer interface {
	add(s *sampleSource, i int, x answer) error
	end() error
}

func (p *prediction) printer(w io.Writer, a *answerer, s *sampleSource) printer {
	switch {
	case p.asJSON:
		return lines{json.NewEncoder(w), p.top}
	case p.asCSV:
		return &sheet{w: csv.NewWriter(w), top: p.top}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	return &sheet{tab: t, top: p.top, short: true}
}

// lines prints a JSON object for each sample.
type lines struct {
	e   *json.Encoder
	top int
}

func (l lines) add(s *sampleSource, i int, x answer) error {
	return l.e.Encode(named{s.name(i), x.fields(l.top)})
}

// named is an answer whose JSON object starts with the name of its sample.
type named struct {
	sample string
	fields map[string]any
}

func (n named) MarshalJSON() ([]byte, error) {
	name, err := json.Marshal(n.sample)
	if err != nil {
		return nil, err
	}
	line := append([]byte(`{"sample":`), name...)
	rest := maps.Clone(n.fields)
	delete(rest, "sample") // the name of the sample takes precedence over an output of this name
	if len(rest) == 0 {
		return append(line, '}'), nil
	}
	fields, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	return append(append(line, ','), fields[1:]...), nil
}

func (lines) end() error { return nil }

// sheet prints a table: aligned columns, or comma-separated values.
type sheet struct {
	w     *csv.Writer
	tab   *tabwriter.Writer
	top   int
	short bool
	rows  int
}

// alignedRows is how many rows are aligned together, and kept until they are.
const alignedRows = 1000

func (t *sheet) add(s *sampleSource, i int, x answer) error {
	if x.words != nil {
		for k, word := range x.words {
			if err := t.row([]string{"sample", "word", "label", "probability"}, []string{s.name(i), word, x.along[k].Label, share(x.along[k].Probability)}); err != nil {
				return err
			}
		}
		return nil
	}
	names, values := []string{"sample"}, []string{s.name(i)}
	if s.raw != nil {
		raw := s.raw(i)
		for k, name := range s.columns {
			if t.short && k >= 6 { // a line of the screen
				names, values = append(names, "…"), append(values, "…")
				break
			}
			value := raw[k]
			if t.short {
				value = shortened(value)
			}
			names, values = append(names, name), append(values, value)
		}
	}
	own := len(names)
	switch {
	case x.top != nil:
		if x.tags != nil {
			names, values = append(names, "tags"), append(values, strings.Join(x.tags, " "))
		}
		names = append(names, "label", "probability")
		values = append(values, x.top[0].Label, share(x.top[0].Probability))
		if t.short {
			for k, c := range x.top[1:max(1, min(t.top, len(x.top)))] {
				names, values = append(names, fmt.Sprintf("%d.", k+2)), append(values, c.Label+" "+share(c.Probability))
			}
			break
		}
		by := map[string]float64{}
		for _, c := range x.top {
			by[c.Label] = c.Probability
		}
		for _, c := range slices.Sorted(maps.Keys(by)) {
			if len(by) <= 50 {
				names, values = append(names, "p("+c+")"), append(values, share(by[c]))
			}
		}
	case x.along != nil:
		var labels []string
		for _, c := range x.along {
			labels = append(labels, c.Label)
		}
		names, values = append(names, "labels"), append(values, strings.Join(labels, " "))
	case x.values != nil:
		for k, v := range x.values {
			name := "value"
			if len(x.values) > 1 {
				name = fmt.Sprintf("value %d", k)
			}
			names, values = append(names, name), append(values, strconv.FormatFloat(v, 'g', 7, 64))
		}
	}
	for _, output := range x.partNames() {
		part := x.parts[output]
		if part.top != nil {
			names, values = append(names, output, output+" probability"), append(values, part.top[0].Label, share(part.top[0].Probability))
			continue
		}
		for k, v := range part.values {
			name := output
			if len(part.values) > 1 {
				name = fmt.Sprintf("%s %d", output, k)
			}
			names, values = append(names, name), append(values, strconv.FormatFloat(v, 'g', 7, 64))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(x.files)) {
		names, values = append(names, what), append(values, x.files[what])
	}
	for _, name := range slices.Sorted(maps.Keys(x.whole)) {
		names, values = append(names, name), append(values, preview(x.whole[name], 4))
	}
	for k := own; k < len(names); k++ {
		if slices.Contains(s.columns, names[k]) {
			names[k] = "predicted " + names[k]
		}
	}
	return t.row(names, values)
}

func (t *sheet) row(names, values []string) error {
	first := t.rows == 0
	t.rows++
	if t.w != nil {
		if first {
			if err := t.w.Write(names); err != nil {
				return err
			}
		}
		return t.w.Write(values)
	}
	if first {
		fmt.Fprintln(t.tab, strings.Join(names, "\t"))
	}
	if _, err := fmt.Fprintln(t.tab, strings.Join(values, "\t")); err != nil || t.rows%alignedRows != 0 {
		return err
	}
	return t.tab.Flush()
}

func (t *sheet) end() error {
	if t.w != nil {
		t.w.Flush()
		return t.w.Error()
	}
	return t.tab.Flush()
}

func share(p float64) string { return strconv.FormatFloat(p, 'f', 4, 64) }

// shortened returns the first 48 characters of a text, on one line, for a column of an aligned table.
func shortened(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if list := []rune(s); len(list) > 48 {
		return string(list[:47]) + "…"
	}
	return s
}

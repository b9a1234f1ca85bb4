package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Scale is a way of scaling numbers.
type Scale string

// The ways to scale.
const (
	Standard Scale = "standard" // (x − mean)/standard deviation
	Quantile Scale = "quantile" // quantile rank, −1 … 1, piecewise linear
)

// Options are settings of the encoding.
type Options struct {
	Scale  Scale // "": Standard
	OneHot int   // largest number of categories that are one-hot encoded; more are embedded; 0: 256
}

// Encoder encodes a table's raw columns as features, by operators of a graph with statistics of the training rows.
//
// Numbers are scaled; missing ones become the mean, and another feature marks them if the training rows have any.
// Categories are one-hot encoded (LabelEncoder of ai.onnx.ml, OneHot) or, if there are many, embedded (Gather);
// categories that are not in the training rows are encoded as none. Dates become the day, and the time of the year,
// week and, if there are times, day as angles, which are then treated like numbers.
type Encoder struct {
	Schema
	Names   []string // names of the features
	Options Options  // settings that it was made with

	center  map[string]float64 // offsets of columns for which float32 is too coarse
	clock   map[string]bool    // date columns with times of day
	gaps    map[string][]int   // lines with missing numbers and dates
	words   map[string][]string
	mean    []float64   // of the numbers, including those from dates
	inverse []float64   // 1 / deviation
	knots   [][]float64 // by number, ascending; Quantile only
	marked  []int       // numbers with a feature that marks missing values
	left    []described // columns that were left out, and why
}

var errNoTable = errors.New("table: the table is nil")

// Fit computes the statistics of the encoding from the given rows.
func Fit(ctx context.Context, t *Table, rows []int, o Options) (*Encoder, error) {
	if t == nil {
		return nil, errNoTable
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("table: %s: no rows to fit the preparation to", t.Path)
	}
	o.Scale, o.OneHot = cmp.Or(o.Scale, Standard), cmp.Or(o.OneHot, 256)
	if o.Scale != Standard && o.Scale != Quantile {
		return nil, fmt.Errorf("table: scale %q: want standard or quantile", o.Scale)
	}
	p := &Encoder{Options: o, center: map[string]float64{}, clock: map[string]bool{}, gaps: map[string][]int{}, words: map[string][]string{}}
	if t.Target != nil {
		p.Target, p.Classes = t.Target.Name, t.Classes
	}
	if t.Format.Decimal == ',' {
		p.Decimal = ","
	}
	for _, c := range t.Columns {
		if err := p.take(ctx, t, c, rows); err != nil {
			return nil, err
		}
	}
	if len(p.Fields) == 0 {
		return nil, fmt.Errorf("table: %s: no column can be used: %s", t.Path, brief(p.notes()))
	}
	return p, p.measure(ctx, t, rows)
}

// take chooses the encoding of a column.
func (p *Encoder) take(ctx context.Context, t *Table, c *Column, rows []int) error {
	f := Field{Name: c.Name, Kind: c.Kind, Layout: c.Layout, Type: dtype.Float32.String()}
	switch c.Kind {
	case Number, Date:
		least, most, sum, squares, n := math.Inf(1), math.Inf(-1), 0.0, 0.0, 0.0
		for i, r := range rows {
			if i%rowsBetween == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if x := c.Number[r]; !math.IsNaN(x) {
				least, most = min(least, x), max(most, x)
				n++
				d := x - sum
				sum += d / n
				squares += d * (x - sum)
				p.clock[c.Name] = p.clock[c.Name] || x != math.Floor(x)
			} else {
				p.gaps[c.Name] = append(p.gaps[c.Name], t.Lines[r])
			}
		}
		if least >= most {
			p.leave(c, "its values in the training rows are all equal, or all missing")
			return nil
		}
		// float32 has a relative rounding error of 2⁻²⁴.
		if c.Kind == Date || max(-least, most)/(1<<24) > 1e-3*math.Sqrt(squares/n) {
			f.Type, p.center[c.Name] = dtype.Float64.String(), sum
		}
	case Category:
		counts := make([]int, len(c.Words))
		for i, r := range rows {
			if i%rowsBetween == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if k := c.Code[r]; k >= 0 {
				counts[k]++
			} else {
				p.gaps[c.Name] = append(p.gaps[c.Name], t.Lines[r])
			}
		}
		words := p.common(ctx, c, counts, len(rows))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(words) < 2 {
			p.leave(c, "its values in the training rows are all equal, or all missing")
			return nil
		}
		f.Type, p.words[c.Name] = dtype.String.String(), words
	default:
		p.leave(c, c.Note)
		return nil
	}
	p.Fields = append(p.Fields, f)
	return nil
}

func (p *Encoder) leave(c *Column, why string) {
	p.left = append(p.left, described{c.Name, cmp.Or(why, "--column says so")})
}

// common returns the categories in the training rows, including missing values (""), in alphabetical order. If they are embedded,
// those that occur once are left out: they train the vector for unknown categories. If ctx ends, they are not sorted.
func (p *Encoder) common(ctx context.Context, c *Column, counts []int, rows int) []string {
	var words []string
	present, different := 0, 0
	for _, n := range counts {
		if present += n; n > 0 {
			different++
		}
	}
	for k, n := range counts {
		if n > 1 || n > 0 && different < p.Options.OneHot {
			words = append(words, c.Words[k])
		}
	}
	if present < rows {
		words = append(words, "")
	}
	compared, ended := 0, false
	slices.SortFunc(words, func(a, b string) int {
		if compared++; compared%rowsBetween == 0 {
			ended = ended || ctx.Err() != nil
		}
		if ended {
			return 0 // the rest takes one pass
		}
		return strings.Compare(a, b)
	})
	return words
}

// Describe returns a line for each column: its name, kind and encoding. More than eight neighbours of the same description share one.
func (p *Encoder) Describe() []string {
	var list []described
	for _, f := range p.Fields {
		line := string(f.Kind)
		words := p.words[f.Name]
		n := len(words)
		if n > 0 && words[0] == "" {
			n-- // missing
		}
		switch {
		case f.Kind == Date:
			line += ", as " + f.Layout
		case words != nil && p.embedded(f.Name):
			line += fmt.Sprintf(", %d categories, embedded", n)
		case words != nil:
			line += fmt.Sprintf(", %d categories", n)
		}
		if at := p.gaps[f.Name]; len(at) > 0 {
			line += ", missing: " + places(at)
		}
		list = append(list, described{f.Name, line})
	}
	lines := together(list, func(names, what string) string { return names + ": " + what })
	return append(lines, p.notes()...)
}

// notes returns a line for each column that was left out.
func (p *Encoder) notes() []string {
	return together(p.left, func(names, why string) string { return "column " + names + " is left out: " + why })
}

// described is a column with its description.
type described struct{ name, what string }

// together makes a line of each column; more than eight neighbours of the same description share one.
func together(list []described, line func(names, what string) string) (lines []string) {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].what == list[0].what {
			n++
		}
		if n > 8 {
			lines = append(lines, line(fmt.Sprintf("%s … %s (%d columns)", printable(list[0].name), printable(list[n-1].name), n), list[0].what))
		} else {
			for _, d := range list[:n] {
				lines = append(lines, line(printable(d.name), d.what))
			}
		}
		list = list[n:]
	}
	return lines
}

// printable quotes a name with line breaks and the like.
func printable(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}

func (p *Encoder) embedded(column string) bool { return len(p.words[column]) > p.Options.OneHot }

// measure runs the part of the graph that computes numbers from raw columns over the rows, and computes their means and deviations.
func (p *Encoder) measure(ctx context.Context, t *Table, rows []int) error {
	g := nn.New("raw")
	some := false
	err := g.Edit(func(e *nn.Edit) {
		p.inputs(e)
		x, names := p.raw(e)
		if p.Names = names; x != nil {
			some = true
			e.Output(e.New("raw"), x)
		}
		for _, f := range p.Fields {
			if f.Type == dtype.String.String() {
				e.RemoveInput(f.Name)
			}
		}
	})
	if err != nil || !some {
		return err
	}
	numbers := Schema{Fields: slices.DeleteFunc(slices.Clone(p.Fields), func(f Field) bool { return f.Kind == Category })}
	m := newMoments(len(p.Names), p.Options.Scale == Quantile, len(rows))
	for chunk := range slices.Chunk(rows, 1024) {
		feed, err := numbers.Feed(t, chunk)
		if err != nil {
			return err
		}
		out, err := g.Eval(ctx, feed, g.Outputs()[0].Name())
		if err != nil {
			return err
		}
		x, err := dtype.Float64s(out[g.Outputs()[0].Name()].(*tensor.Dense))
		if err != nil {
			return err
		}
		m.add(x)
	}
	p.mean, p.inverse, p.knots, p.marked = m.results()
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
	"github.com/spf13/cobra"
	"gorgonia.org/tensor"
)

// tabular holds the flags about reading and preprocessing tables.
type tabular struct {
	target, task, columns string
	scale                 string
	separator, decimal    string
	header                string
}

// readFlags adds the flags about reading tables.
func (t *tabular) readFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.task, "task", "auto", "task of a table's target: classes, regression or auto")
	f.StringVar(&t.columns, "column", "", "kinds of table columns, NAME=KIND,…: number, category, date or ignore; default: detected")
	f.StringVar(&t.separator, "separator", "", `column separator of a table: "," ";" "|" or tab; default: detected`)
	f.StringVar(&t.decimal, "decimal", "", `decimal mark in a table's numbers, "." or ","; default: detected`)
	f.StringVar(&t.header, "header", "auto", "whether a table's first line is a header: yes, no or auto")
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

// plan is a training run on a table: training rows, validation rows, and the model.
type plan struct {
	table, other *table.Table // other: where the rows to judge by are; the same table, or that of --val
	fit, held    []int
	graph        *nn.Graph
	schema       table.Schema
	unit         table.Scaling
	lines        []string // findings, to be printed
}

// readTable reads the table to train on, and divides it.
func (t *training) readTable(known *nn.Graph) (*plan, error) {
	share, apart, err := t.heldShare()
	if err != nil {
		return nil, err
	}
	for _, f := range forImages {
		if t.changed(f) {
			return nil, notImages(f, t.data)
		}
	}
	for _, f := range []string{"mean", "std", "range"} {
		if t.changed(f) && known == nil {
			return nil, fmt.Errorf("--%s: a new network scales the columns itself; --scale chooses how", f)
		}
	}
	r, err := t.tabular.reader()
	if err != nil {
		return nil, err
	}
	p := &plan{graph: known}
	if known != nil {
		if how, scaled := known.Meta()[metaScaling]; scaled {
			return nil, fmt.Errorf("the model was trained on numbers prepared by --mean, --std and --range (%s): give the same flags again", how)
		}
		if r, err = p.suit(r, t.data, strings.EqualFold(t.loss, "bce")); err != nil {
			return nil, err
		}
	}
	if p.table, err = r.Read(t.data); err != nil {
		return nil, err
	}
	if p.table.Target == nil {
		return nil, fmt.Errorf("%s has no column %q, the target: --target names another", t.data, r.Target)
	}
	if known == nil {
		p.leaveRowNumbers(r)
	}
	p.other = p.table
	if !apart {
		if rows := len(p.table.Complete()); rows < 1000 && !t.changed("val") && t.fresh != "" {
			share = 0.2 // 10 % would be too few
		}
		p.fit, p.held = p.table.Divide(share, t.seed)
	} else {
		p.fit, _ = p.table.Divide(0, t.seed)
		if p.other, err = r.Like(p.table).Read(t.val); err != nil {
			return nil, fmt.Errorf("--val: %w", err)
		}
		p.held = p.other.Complete()
	}
	if len(p.fit) == 0 {
		return nil, fmt.Errorf("%s: no row has a target to train on", t.data)
	}
	if t.classes = p.table.Classes; len(t.classes) == 1 {
		return nil, fmt.Errorf("%s: the target %s is always %s: there is nothing to learn", t.data, p.table.Target.Name, t.classes[0])
	}
	if t.classes == nil {
		p.unit = table.TargetScaling(p.table, p.fit)
	}
	return p, nil
}

// suit adapts a reader to a model: the columns of its schema, and its classes. With a single score, integers are
// measurements unless the loss is binary.
func (p *plan) suit(r table.Reader, path string, binary bool) (table.Reader, error) {
	s, ok, err := table.ReadMeta(p.graph.Meta())
	if err != nil {
		return r, err
	}
	if ok {
		p.schema = s
		return s.Reader(r), nil
	}
	if r.Target == "" && path != "-" {
		r.Target = p.ownTarget(r, path)
	}
	if r.Classes, err = labelsOf(p.graph); err != nil {
		return r, err
	}
	if n, ok := scores(p.graph.Outputs()); ok {
		if r.Integers = table.Classes; n == 1 && !binary && !yesOrNo(p.graph) {
			r.Integers = table.Regression
		}
	}
	return r, nil
}

// ownTarget returns the column with the name of the model's first output if the last column, which is the default
// target, is an input of the model; "" otherwise.
func (p *plan) ownTarget(r table.Reader, path string) string {
	rows, err := r.Open(path, "")
	if err != nil {
		return "" // it is reported later
	}
	defer rows.Close()
	out := p.graph.Outputs()
	if len(out) == 0 || len(rows.Names) == 0 || !slices.Contains(rows.Names, out[0].Name()) {
		return ""
	}
	last := rows.Names[len(rows.Names)-1]
	if !slices.ContainsFunc(p.graph.Inputs(), func(v *nn.Value) bool { return v.Name() == last }) {
		return ""
	}
	return out[0].Name()
}

// runTable trains on a table.
func (t training) runTable(ctx context.Context, w io.Writer, model string) (err error) {
	var g *nn.Graph
	if model != "" {
		if g, err = t.load(model); err != nil {
			return err
		}
		if err := t.noTexts(g); err != nil {
			return err
		}
		if err := t.widen(g); err != nil {
			return err
		}
		if err := freeBatch(g, t.config.Batch); err != nil {
			return err
		}
	}
	p, err := t.readTable(g)
	if err != nil {
		return err
	}
	if g == nil {
		err = t.newTable(ctx, p)
	} else {
		err = t.adapt(ctx, p)
	}
	if err != nil {
		return err
	}
	if err := t.prepareTable(p); err != nil {
		return err
	}
	readLogits(t.config.Metrics, p.graph)
	trunk, err := table.Cut(p.graph, p.schema)
	if err != nil {
		return err
	}
	fit, err := trunk.Samples(ctx, p.table, p.fit)
	if err != nil {
		return err
	}
	val, err := heldSamples(ctx, trunk, p)
	if err != nil {
		return err
	}
	t.notes = append(t.notes, p.lines...)
	shaped, judges, err := t.shape(trunk.Rest, fit, val)
	if err != nil {
		return err
	}
	if stop, err := t.ready(w, model, fit, val); stop || err != nil {
		return err
	}
	fit, val = shaped, judges
	end, err := t.watch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end(), t.takeBack(err)) }()
	anew := t.anew(trunk.Rest, fit, val)
	history, err := t.fit(ctx, w, trunk.Rest, fit, val)
	if err != nil {
		return err
	}
	if t.blends(val) {
		b := table.Blend{Classes: len(t.classes), Unit: p.unit, Loss: t.config.Loss, Refit: p.other == p.table, Seed: t.seed, Anew: anew(history.Best()), Ways: 2}
		mixed, err := b.Apply(ctx, trunk, fit, val)
		if err != nil {
			return err
		}
		t.blend = &mixed
	}
	if err := trunk.Return(); err != nil {
		return err
	}
	if err := t.save(p.graph); err != nil {
		return err
	}
	return t.conclude(w, history)
}

// anew returns a function that trains g again, silently and without validation, for twice as many epochs as were best with one, since
// the rate had not fallen to 0 by then. Way 0 has the settings of the training, whose best epoch is given, way 1 those for more rows.
// Member 0 starts from the present weights, others from a permutation of them, which is another draw of independent numbers.
func (t *training) anew(g *nn.Graph, fit, val data.Dataset[data.Sample]) func(best train.Epoch) func(context.Context, data.Dataset[data.Sample], int, int) error {
	first := snapshot.Of(g)
	return func(best train.Epoch) func(context.Context, data.Dataset[data.Sample], int, int) error {
		epochs := [2]int{2 * best.Epoch}
		return func(ctx context.Context, rows data.Dataset[data.Sample], way, member int) error {
			first.Restore()
			c := t.config
			c.Dir, c.Resume, c.Keep, c.Log, c.Observe, c.OnStep, c.OnGradient = "", false, 0, train.Quiet, nil, nil, nil
			if way == 1 {
				c.Rule = t.tableRule(2e-3, 0.1)
			}
			if epochs[way] == 0 {
				history, err := train.Fit(ctx, g, c, fit, val)
				if err != nil {
					return err
				}
				epochs[way] = max(1, 2*history.Best().Epoch)
				first.Restore()
			}
			c.Patience, c.RestoreBest, c.Monitor, c.Plateau = 0, false, "", nil
			c.Epochs = min(c.Epochs, epochs[way])
			if member > 0 {
				c.Seed += uint64(member)
				permute(g, c.Seed)
			}
			_, err := train.Fit(ctx, g, c, rows, nil)
			return err
		}
	}
}

// permute permutes the elements of each parameter that is trained.
func permute(g *nn.Graph, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	for p := range g.Params() {
		if d := p.Data(); p.Trainable() && d != nil && d.Dtype() == tensor.Float32 {
			x := dtype.Slice[float32](d)
			r.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
			p.Changed()
		}
	}
}

// blends reports whether the network is blended with a linear model: if it is new, and no flag requests training that a
// linear model does not have.
func (t *training) blends(val data.Dataset[data.Sample]) bool {
	return t.fresh != "" && val.Len() > 0 && !t.changed(byHandFlags...) && !t.changed("loss", "label-smoothing", "class-weights", "balanced")
}

// heldSamples returns the validation rows, an empty set if there are none.
func heldSamples(ctx context.Context, trunk *table.Trunk, p *plan) (data.Dataset[data.Sample], error) {
	if len(p.held) == 0 {
		return data.Of[data.Sample](), nil
	}
	return trunk.Samples(ctx, p.other, p.held)
}

// newTable creates a network for the table.
func (t *training) newTable(ctx context.Context, p *plan) error {
	prep, err := t.encoder(ctx, p.table, p.fit)
	if err != nil {
		return err
	}
	p.schema = prep.Schema
	p.lines = append(describe(p), prep.Describe()...)
	if p.graph, err = (table.Network{Seed: t.seed}).New(prep, p.table.Classes, p.unit); err != nil {
		return err
	}
	t.untuned(len(p.fit))
	return nil
}

// describe describes the format of the table and its target.
func describe(p *plan) []string {
	f, c := p.table.Format, p.table.Target
	what := "measurements"
	if p.table.Classes != nil {
		what = fmt.Sprintf("%d classes", len(p.table.Classes))
	}
	header := "a header"
	if f.Header < 0 {
		header = "no header"
	}
	lines := []string{fmt.Sprintf("%s: %d rows, %q between columns, %q in numbers, %s; target %s: %s", p.table.Path, p.table.Len(), f.Comma, f.Decimal, header, c.Name, what)}
	return append(lines, oddities(p.table)...)
}

// oddities describes texts in numeric columns, and rows that are dropped because their target is missing.
func oddities(t *table.Table) []string {
	lines := strays(t)
	if t.Target != nil {
		lines = append(lines, strayWords(t.Target)...)
	}
	whole := t.Complete()
	if n := t.Len() - len(whole); n > 0 {
		row := slices.IndexFunc(upTo(t.Len()), func(i int) bool { return i >= len(whole) || whole[i] != i })
		lines = append(lines, fmt.Sprintf("left out, without a target: %d of %d rows, the first in line %d", n, t.Len(), t.Lines[row]))
	}
	return lines
}

// strays returns the texts in numeric columns.
func strays(t *table.Table) (lines []string) {
	if n := t.Preamble; n > 0 {
		lines = append(lines, fmt.Sprintf("%s: left out: %s before the table", t.Path, plural(n, "line")))
	}
	if t.Recoded > 0 {
		lines = append(lines, fmt.Sprintf("%s is not UTF-8: %d bytes were read as Windows-1252", t.Path, t.Recoded))
	}
	for _, c := range t.Columns {
		lines = append(lines, strayWords(c)...)
	}
	return lines
}

func strayWords(c *table.Column) []string {
	if c.Kind != table.Number || c.Note == "" {
		return nil
	}
	return []string{fmt.Sprintf("column %s: %s", c.Name, c.Note)}
}

// untuned sets the defaults of a new network for settings that no flag gives.
func (t *training) untuned(rows int) {
	c := &t.config
	if !t.changed("batch") {
		c.Batch = min(256, max(16, rows/100))
	}
	if !t.changed("epochs") {
		c.Epochs = max(20, min(200, 200_000/rows))
	}
	if !t.changed("patience") {
		c.Patience = max(10, c.Epochs/4)
	}
	if !t.changed("schedule") && !t.changed("warmup") {
		c.Schedule = schedules["cosine"]
	}
	if !t.changed("ema") {
		c.EMA = 0.98
	}
	if !t.changed("optimizer") {
		c.Rule = t.tableRule(2e-3, 0.1)
		if rows < 1000 {
			c.Rule = t.tableRule(1e-3, 1) // close to the linear model
		}
	}
}

// tableRule returns AdamW with the rate and the weight decay of the flags, or else the given ones.
func (t *training) tableRule(rate, decay float64) optim.Rule {
	s := t.settings
	if !t.changed("lr") {
		s.rate = rate
	}
	if !t.changed("weight-decay") {
		s.decay = decay
	}
	return rules["adamw"](s)
}

// prepareTable adds the head for the target, freezes parameters and stores the metadata; loss and metrics are those of
// the target.
func (t *training) prepareTable(p *plan) error {
	c := &t.config
	if p.table.Classes == nil {
		if t.head || t.headOnly {
			return fmt.Errorf("--head: the data have no classes: the target %s is a number; --task classes treats its values as classes", p.table.Target.Name)
		}
		if c.Metrics == nil {
			c.Metrics = []train.Metric{&train.Deviation{}}
		}
		if c.Loss == nil {
			c.Loss = train.MSE{}
		}
		c.Loss = p.unit.Loss(c.Loss)
	}
	if n, ok := scores(p.graph.Outputs()); ok && n == 1 && len(t.classes) == 2 && c.Loss == nil {
		c.Loss = train.BCEWithLogits{}
	}
	classes := 0
	if t.head || t.headOnly {
		classes = len(t.classes)
	} else if err := t.agree(p.graph); err != nil {
		return fmt.Errorf("%w: --head gives it a new classifier", err)
	}
	if err := t.reshape(p.graph, classes); err != nil {
		return err
	}
	return p.graph.Edit(func(e *nn.Edit) {
		key, value, err := p.schema.Meta()
		e.Fail(err)
		e.SetMeta(key, value)
	})
}

// floats reports whether v takes a matrix of float32.
func floats(v *nn.Value) (columns int, ok bool) {
	typ := v.Type()
	if typ.Rank() != 2 || typ.DType != dtype.Float32 || !typ.Shape[1].Known() {
		return 0, false
	}
	return typ.Shape[1].Size, true
}

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
	"github.com/graft-ml/graft/train/token"
)

// settleTexts determines whether and how the model g reads texts.
func (d *dataset) settleTexts(ctx context.Context, g *nn.Graph) (err error) {
	d.texts, err = d.newTexts(ctx, g)
	return err
}

// learn creates a tokenizer from the training texts for a network of graft new, which has none: as many tokens as its
// vocabulary has room for.
func (d *dataset) learn(ctx context.Context, g *nn.Graph) error {
	format, ok := g.Meta()[metaText]
	if _, has := g.Meta()[metaTokenizer]; !ok || has || d.tokenizer != "" || d.text == "" {
		return nil
	}
	x := &texts{}
	if err := json.Unmarshal([]byte(format), &x.textFormat); err != nil {
		return fmt.Errorf("metadata %s: %w", metaText, err)
	}
	x.Column, x.Pair = d.text, d.pair
	room := 0
	for _, v := range g.Inputs() {
		room = max(room, rowsLookedUp(v))
	}
	d.texts = x
	list, err := d.allTexts(ctx, d.data)
	if err != nil || room == 0 {
		return err
	}
	if d.learned, err = token.LearnUntil(ctx, slices.Values(list), room, !x.Words); ctx.Err() != nil {
		return err
	} else if err != nil {
		return fmt.Errorf("there is no --tokenizer, and the model's vocabulary is too small for one learned from the texts of %s: %s", d.data, strings.TrimPrefix(err.Error(), "token: "))
	}
	d.notes = append(d.notes, fmt.Sprintf("the model has no tokenizer: one is learned from the texts, byte pair encoding with %d tokens", d.learned.Size()))
	return nil
}

// allTexts returns the texts of a file that d.texts names: both columns, or the words.
func (d *dataset) allTexts(ctx context.Context, path string) ([]string, error) {
	if isTable(path) {
		t, err := d.textTable(path, true)
		if err != nil {
			return nil, err
		}
		return append(column(t, d.texts.Column), column(t, d.texts.Pair)...), nil
	}
	var rows []map[string]any
	var err error
	if isConll(path) {
		rows, _, err = d.texts.conll(ctx, path, "", false)
	} else if isLines(path) {
		var b []byte
		if b, err = disk.ReadFile(path); err == nil {
			rows, err = objects(ctx, b)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !d.texts.Words {
		list, pairs, err := d.texts.objects(rows)
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return append(list, pairs...), err
	}
	words, err := d.texts.wordLists(rows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return slices.Concat(words...), nil
}

// noTexts refuses a model that reads texts if table columns are to be trained on.
func (d *dataset) noTexts(ctx context.Context, g *nn.Graph) error {
	x, err := d.newTexts(ctx, g)
	if err == nil && x != nil {
		err = fmt.Errorf("the model reads texts, in a column that was called %[1]s: --text %[1]s trains on them", x.Column)
	}
	return err
}

// textTable reads a table of texts. keep: for predictions, with the original text of rows and without targets.
func (d *dataset) textTable(path string, keep bool) (*table.Table, error) {
	r, err := d.reader()
	if err != nil {
		return nil, err
	}
	if r.Header == 0 {
		r.Header = 1 // the column has a name
	}
	if r.Kinds == nil {
		r.Kinds = map[string]table.ColumnKind{}
	}
	r.Kinds[d.texts.Column] = table.Text
	if d.texts.Pair != "" {
		r.Kinds[d.texts.Pair] = table.Text
	}
	if r.NoTarget, r.KeepText = keep, keep; keep {
		return r.Read(path)
	}
	if r.Target == "" {
		r.Target = d.texts.Target
	}
	if r.Classes = d.among; r.Classes == nil {
		if n, ok := scores(d.graph.Outputs()); ok && n > 1 {
			r.Integers = table.Classes
		}
	}
	t, err := r.Read(path)
	if err == nil && (t.Target.Name == d.texts.Column || t.Target.Name == d.texts.Pair) {
		err = fmt.Errorf("%s: column %s holds the texts: --target names the column with the answers", path, t.Target.Name)
	}
	return t, err
}

// column returns a text column, by row; nil for no name.
func column(t *table.Table, name string) []string {
	if name == "" {
		return nil
	}
	c := t.Column(name)
	list := make([]string, t.Len())
	for i, k := range c.Code {
		if k >= 0 {
			list[i] = c.Words[k]
		}
	}
	return list
}

// textSamples reads the texts and targets of a table.
func (d *dataset) textSamples(ctx context.Context, path string) (s samples, err error) {
	if d.texts.Words {
		return s, fmt.Errorf("%s: the model has a class for each word, a table has one for a row: want JSON lines with lists of words and of classes (.jsonl), or a word on each line (.conll)", path)
	}
	t, err := d.textTable(path, false)
	if err != nil {
		return s, err
	}
	d.texts.Target, s.classes = t.Target.Name, t.Classes
	rows := t.Complete()
	if len(rows) == 0 {
		return s, fmt.Errorf("%s: no row has a target", path)
	}
	y, err := t.Targets(rows)
	if err != nil {
		return s, err
	}
	targets, err := data.Tensors(y, nil)
	if err != nil {
		return s, err
	}
	if s.tensors, err = d.texts.set(ctx, picked(column(t, d.texts.Column), rows), picked(column(t, d.texts.Pair), rows), targets); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// written opens a table or JSON lines for a model that reads texts, or JSON lines for another; held: for validation.
func (d *dataset) written(ctx context.Context, path string, held bool) (s samples, err error) {
	switch {
	case isConll(path):
		s, err = d.conllSamples(ctx, path)
	case isLines(path):
		s, err = d.lines(ctx, path)
	case isTable(path):
		s, err = d.textSamples(ctx, path)
	default:
		err = fmt.Errorf("texts are read from tables, JSON lines and, with a class for each word, lines of words (.csv, .tsv, .jsonl, .conll), not from %s", path)
	}
	if err != nil || d.texts == nil || held {
		return s, err
	}
	line, err := d.texts.said(s.tensors)
	d.notes = append(d.notes, line)
	return s, err
}

func picked(list []string, rows []int) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = list[r]
	}
	return out
}

// textsOf returns the texts of a table, for predictions.
func (d *dataset) textsOf(ctx context.Context, path string) (*sampleSource, error) {
	t, err := d.textTable(path, true)
	if err != nil {
		return nil, err
	}
	list, pairs := column(t, d.texts.Column), column(t, d.texts.Pair)
	if d.texts.Words {
		rows := make([]map[string]any, len(list))
		for i, s := range list {
			rows[i] = map[string]any{d.texts.Column: s}
		}
		words, err := d.texts.wordLists(rows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return d.texts.wordSource(ctx, words)
	}
	return &sampleSource{
		n: t.Len(), columns: t.Names, raw: t.Raw,
		name: ordinal,
		feed: func(ctx context.Context, index []int) (nn.Feed, error) {
			return d.texts.feed(ctx, picked(list, index), picked(pairs, index))
		},
	}, nil
}

// objects returns the texts of objects, by the names of the columns.
func (x *texts) objects(rows []map[string]any) (list, pairs []string, err error) {
	of := func(key string) (list []string, err error) {
		for i, row := range rows {
			s, ok := row[key].(string)
			if v, there := row[key]; !there {
				err = fmt.Errorf("no text %q; it has %s", key, brief(slices.Sorted(maps.Keys(row))))
			} else if !ok && v != nil {
				err = fmt.Errorf("%q is %v, want a text", key, v)
			}
			if err != nil && len(rows) > 1 {
				err = fmt.Errorf("object %d: %w", i+1, err)
			}
			if err != nil {
				return nil, err
			}
			list = append(list, s)
		}
		return list, nil
	}
	if list, err = of(x.Column); err == nil && x.Pair != "" {
		pairs, err = of(x.Pair)
	}
	return list, pairs, err
}

// feedObjects returns a batch of the texts of objects.
func (x *texts) feedObjects(ctx context.Context, rows []map[string]any) (nn.Feed, error) {
	list, pairs, err := x.objects(rows)
	if err != nil {
		return nil, err
	}
	return x.feed(ctx, list, pairs)
}

// conllOf returns the words of a file with one word on each line, for predictions.
func (d *dataset) conllOf(ctx context.Context, g *nn.Graph, path string) (*sampleSource, error) {
	if d.texts == nil || !d.texts.Words {
		return nil, fmt.Errorf("%s has a word on each line: that is for models that graft trained on words with a class for each; this one has the inputs %v", path, ports(g.Inputs()))
	}
	rows, _, err := d.texts.conll(ctx, path, "", false)
	if err != nil {
		return nil, err
	}
	list, err := d.texts.wordLists(rows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d.texts.wordSource(ctx, list)
}

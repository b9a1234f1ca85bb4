package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/token"
	"gorgonia.org/tensor"
)

// isConll reports whether a path is that of a file with one word on each line.
func isConll(path string) bool {
	return slices.Contains([]string{".conll", ".conllu", ".conll2003", ".bio", ".iob", ".iob2"}, strings.ToLower(filepath.Ext(path)))
}

// conll reads such a file as objects: the words under the name of the text column and, with tags, the tags under that of
// the target.
func (x *texts) conll(ctx context.Context, path, target string, tags bool) (rows []map[string]any, key string, err error) {
	list, err := token.ReadConllUntil(ctx, path)
	if err != nil {
		return nil, "", err
	}
	width := len(list[0].Words[0])
	word, tag := token.ConllWords(list), width-1
	if strings.EqualFold(filepath.Ext(path), ".conllu") {
		word, tag = 1, 3
	}
	if at, err := token.ConllColumn(path, list, x.Column); err == nil {
		word = at
	} else if word, err = token.ConllColumn(path, list, fmt.Sprint(word)); err != nil {
		return nil, "", err
	}
	if target == "" {
		target = x.Target
	}
	if key = target; target == "" || target == conllTag {
		target, key = fmt.Sprint(tag), conllTag
	}
	if tags {
		if tag, err = token.ConllColumn(path, list, target); err != nil {
			return nil, "", err
		}
		if tag == word {
			return nil, "", fmt.Errorf("%s: column %d holds the words, and cannot be the target: --target names the column of their classes", path, word)
		}
	}
	for _, s := range list {
		row := map[string]any{}
		var words, are []any
		for _, fields := range s.Words {
			words = append(words, fields[word])
			if tags {
				are = append(are, fields[tag])
			}
		}
		if row[x.Column] = words; tags {
			row[key] = are
		}
		rows = append(rows, row)
	}
	return rows, key, nil
}

// conllTag is the name of the target in files whose columns have no names.
const conllTag = "tags"

// conllSamples reads a file with a word on each line.
func (d *dataset) conllSamples(ctx context.Context, path string) (s samples, err error) {
	rows, key, err := d.texts.conll(ctx, path, d.target, true)
	if err != nil {
		return s, err
	}
	y := lineTargets{name: key}
	each, shapes := make([][]any, len(rows)), make([][]int, len(rows))
	for i, row := range rows {
		if each[i], shapes[i], err = flatten(row[key]); err != nil {
			return s, err
		}
	}
	if err := d.wordClasses("sentence", each, &s); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	for i := range rows {
		t, err := tensorOf(dtype.Int64, each[i], shapes[i])
		if err != nil {
			return s, err
		}
		y.of = append(y.of, t.(*tensor.Dense))
	}
	d.texts.Target, d.positions = key, true
	return s, d.taggedWords(ctx, rows, y, path, &s)
}

// taggedWords returns samples for objects of words with a class for each.
func (d *dataset) taggedWords(ctx context.Context, rows []map[string]any, y lineTargets, path string, s *samples) error {
	if out := d.graph.Outputs(); len(out) > 0 && out[0].Type().Rank() != 3 {
		return fmt.Errorf("%s: the target %s has a class for each word, the model gives %v: want scores for each token, [N,length,classes] (graft new transformer --per-token makes a network)",
			path, y.name, ports(out)[0])
	}
	d.texts.Words = true
	list, err := d.texts.wordLists(rows)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p := d.texts.padding()
	p.Y = []float64{noClass}
	var all []data.Sample
	long := 0
	for i, words := range list {
		class, err := dtype.Ints(y.of[i])
		if err != nil {
			return err
		}
		if len(class) != len(words) {
			return fmt.Errorf("%s: object %d: %d words under %s, %d classes under %s", path, i+1, len(words), d.texts.Column, len(class), y.name)
		}
		runs, err := d.texts.cut(ctx, words)
		if err != nil {
			return err
		}
		if len(runs) > 1 {
			long++
		}
		for _, c := range runs {
			e, err := d.texts.tok.EncodeWordsUntil(ctx, words[c[0]:c[1]], d.texts.Length)
			if err != nil {
				return err
			}
			sample, err := d.texts.inputsOf(e, p)
			if err != nil {
				return err
			}
			of, before := slices.Repeat([]int{noClass}, max(1, len(e.IDs))), -1
			for k, w := range e.Words {
				if w >= 0 && w != before {
					of[k] = class[c[0]+w]
				}
				before = w
			}
			t, err := dtype.FromInts(dtype.Int64, of, len(of))
			if err != nil {
				return err
			}
			sample.Y = []*tensor.Dense{t}
			all = append(all, sample)
		}
	}
	if long > 0 {
		d.note(path, fmt.Sprintf("%d of %d texts have more than %d tokens (--max-length) and are read in parts: %d samples", long, len(list), d.texts.Length, len(all)))
	}
	s.tensors = data.Of(all...)
	return nil
}

// wordLists returns the words of objects: a list, or a text with spaces between them.
func (x *texts) wordLists(rows []map[string]any) (list [][]string, err error) {
	for i, row := range rows {
		var words []string
		switch v := row[x.Column].(type) {
		case string:
			words = strings.Fields(v)
		case []any, jsonList:
			_, err := eachElement(v, func(w any) error {
				s, ok := w.(string)
				if !ok {
					return fmt.Errorf("has the element %v, want a text", w)
				}
				words = append(words, s)
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("object %d: %q %w", i+1, x.Column, err)
			}
		default:
			if _, there := row[x.Column]; there {
				return nil, fmt.Errorf("object %d: %q is %v, want a list of words", i+1, x.Column, v)
			}
			_, _, err := x.objects(rows[i : i+1])
			return nil, fmt.Errorf("object %d: %w", i+1, err)
		}
		if len(words) == 0 {
			return nil, fmt.Errorf("object %d: %q has no words", i+1, x.Column)
		}
		list = append(list, words)
	}
	return list, nil
}

// cut splits words into chunks that fit the model's length.
func (x *texts) cut(ctx context.Context, words []string) (runs [][2]int, err error) {
	e, err := x.tok.EncodeWordsUntil(ctx, words, 0)
	if err != nil {
		return nil, err
	}
	if len(e.IDs) <= x.Length {
		return [][2]int{{0, len(words)}}, nil
	}
	count, room := make([]int, len(words)), x.Length
	for _, w := range e.Words {
		if w >= 0 {
			count[w]++
		} else {
			room--
		}
	}
	from, sum := 0, 0
	for i, n := range count {
		if i > from && sum+n > room {
			runs, from, sum = append(runs, [2]int{from, i}), i, 0
		}
		sum += n
	}
	return append(runs, [2]int{from, len(words)}), nil
}

// wordSource predicts each word of texts. Texts that are too long for the model are several samples, whose results are
// joined.
func (x *texts) wordSource(ctx context.Context, list [][]string) (*sampleSource, error) {
	type run struct {
		text  int
		words []string
		first []int // token that each word begins with, −1: it has none
		count int   // tokens
	}
	var all []run
	p := x.padding()
	for i, words := range list {
		runs, err := x.cut(ctx, words)
		if err != nil {
			return nil, err
		}
		for _, c := range runs {
			all = append(all, run{text: i, words: words[c[0]:c[1]]})
		}
	}
	return &sampleSource{
		n:    len(all),
		name: func(i int) string { return ordinal(all[i].text) },
		feed: func(ctx context.Context, index []int) (nn.Feed, error) {
			var batch []data.Sample
			for _, i := range index {
				r := &all[i]
				e, err := x.tok.EncodeWordsUntil(ctx, r.words, x.Length)
				if err != nil {
					return nil, err
				}
				s, err := x.inputsOf(e, p)
				if err != nil {
					return nil, err
				}
				r.first, r.count = make([]int, len(r.words)), max(1, len(e.IDs))
				for w := range r.first {
					r.first[w] = slices.Index(e.Words, w)
				}
				batch = append(batch, s)
			}
			return x.collate(batch)
		},
		words: func(i int, along []choice) (named []choice, words []string) {
			r := all[i]
			before := 0
			if p.Left {
				before = len(along) - r.count
			}
			for _, k := range r.first {
				c := choice{}
				if k >= 0 && before+k < len(along) {
					c = along[before+k]
				}
				named = append(named, c)
			}
			return named, r.words
		},
		goesOn: func(i int) bool { return i+1 < len(all) && all[i+1].text == all[i].text },
	}, nil
}

// textParts joins the results of texts that were split because of their length.
type textParts struct {
	source *sampleSource
	held   *answer
}

// add takes the answer for sample i; whole: the text is complete.
func (j *textParts) add(i int, x answer) (all answer, whole bool) {
	s := j.source
	if s.words == nil || x.err != nil {
		return x, true
	}
	if x.along != nil {
		x.along, x.words = s.words(i, x.along)
	}
	if h := j.held; h != nil {
		x.along, x.words = append(h.along, x.along...), append(h.words, x.words...)
	}
	if j.held = nil; s.goesOn(i) {
		j.held = &x
		return x, false
	}
	return x, true
}

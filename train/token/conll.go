package token

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
)

// Sentence is a sentence of a CoNLL file: for each word, the columns of its line.
type Sentence struct {
	Words [][]string // columns of each word
	Lines []int      // line of each word in the file, from 1
}

// conllNames are the columns of the format of Universal Dependencies.
var conllNames = []string{"ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"}

// ReadConll reads a file with a word on each line and an empty line after each sentence, as in CoNLL's tasks: columns
// are separated by tabs, if the file has any, or by spaces. Comments ("# key = value", "#begin document"), lines of
// -DOCSTART- and, in .conllu files, multiword tokens (3-4) and empty nodes (5.1) are skipped. All words of a sentence
// must have the same number of columns.
func ReadConll(path string) ([]Sentence, error) { return ReadConllUntil(context.Background(), path) }

// ReadConllUntil is ReadConll, and ends with ctx.
func ReadConllUntil(ctx context.Context, path string) (list []Sentence, err error) {
	b, err := disk.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	ended := until(ctx, func(p *pace) { list, err = parseConll(p, b, strings.EqualFold(filepath.Ext(path), ".conllu")) })
	if err := cmp.Or(ended, err); err != nil {
		return nil, fmt.Errorf("token: %s: %w", path, err)
	}
	return list, nil
}

// perWord is about how many bytes a word takes besides the text of its columns, as part of a list of words and in a list of samples.
const perWord = 400

func parseConll(p *pace, b []byte, universal bool) (list []Sentence, err error) {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	tabs := bytes.ContainsRune(b, '\t')
	var s Sentence
	end := func() {
		if len(s.Words) > 0 {
			list, s = append(list, s), Sentence{}
		}
	}
	var taken budget.Tally
	defer taken.Free()
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		p.did(1 + len(lines.Bytes()))
		line := strings.ToValidUTF8(lines.Text(), "\ufffd")
		if strings.TrimSpace(line) == "" {
			end()
			continue
		}
		if len(s.Words) == 0 && comment(line, universal) {
			continue
		}
		fields := strings.Fields(line)
		if tabs {
			fields = strings.Split(strings.TrimRight(line, "\r\n\t "), "\t")
		}
		if fields[0] == "-DOCSTART-" || universal && strings.ContainsAny(fields[0], "-.") {
			continue
		}
		if len(s.Words) > 0 && len(fields) != len(s.Words[0]) {
			return nil, fmt.Errorf("line %d has %d columns, the sentence began with %d: want a word on each line, and an empty line after a sentence", n, len(fields), len(s.Words[0]))
		}
		s.Words, s.Lines = append(s.Words, fields), append(s.Lines, n)
		if err := taken.Add(int64(len(line) + perWord + 16*len(fields))); err != nil {
			return nil, fmt.Errorf("the words up to line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	end()
	if len(list) == 0 {
		return nil, fmt.Errorf("no words")
	}
	budget.Transfer(&taken, &list[0])
	return list, nil
}

// comment reports whether a line before a sentence is not one of its words.
func comment(line string, universal bool) bool {
	return strings.HasPrefix(line, "#") && (universal || strings.Contains(line, " = ") || strings.HasPrefix(line, "#begin") || strings.HasPrefix(line, "#end"))
}

// ConllColumn returns the index of a column in the sentences of a file: by number from 0, from the end if negative, or
// by name in .conllu files.
func ConllColumn(path string, list []Sentence, name string) (int, error) {
	if len(list) == 0 || len(list[0].Words) == 0 {
		return 0, fmt.Errorf("token: %s: no words", path)
	}
	width := len(list[0].Words[0])
	at, err := strconv.Atoi(name)
	if err != nil {
		if at = -1; strings.EqualFold(filepath.Ext(path), ".conllu") {
			for i, n := range conllNames {
				if strings.EqualFold(n, name) {
					at = i
				}
			}
		}
		if at < 0 {
			return 0, fmt.Errorf("token: %s: no column %q: columns have numbers from 0 to %d", path, name, width-1)
		}
	} else if at < 0 {
		at += width
	}
	for _, s := range list {
		if at < 0 || at >= len(s.Words[0]) {
			return 0, fmt.Errorf("token: %s: line %d has %d columns, and no column %s", path, s.Lines[0], len(s.Words[0]), name)
		}
	}
	return at, nil
}

// ConllWords returns the index of the column with the words: the second one if the first counts the words, otherwise
// the first.
func ConllWords(list []Sentence) int {
	for _, s := range list {
		for i, fields := range s.Words {
			if n, err := strconv.Atoi(fields[0]); err != nil || n != i && n != i+1 || len(fields) < 2 {
				return 0
			}
		}
	}
	return 1
}

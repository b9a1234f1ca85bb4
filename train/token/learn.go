package token

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// learnedSpecial are the first tokens of a tokenizer that Learn makes.
var learnedSpecial = []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]"}

// Learn trains a tokenizer of at most size tokens on texts: byte-pair encoding (Sennrich et al., 2016) of bytes, as in
// GPT-2, with the special tokens of BERT. Its alphabet is the bytes that occur, or all 256 if they are at most a
// quarter of the tokens; other bytes are unknown. Pairs that occur once are not merged. With lower, texts are
// lowercased. JSON returns it as a tokenizer.json for the original library.
func Learn(texts iter.Seq[string], size int, lower bool) (*Tokenizer, error) {
	return LearnUntil(context.Background(), texts, size, lower)
}

// LearnUntil is Learn, and ends with ctx.
func LearnUntil(ctx context.Context, texts iter.Seq[string], size int, lower bool) (*Tokenizer, error) {
	if texts == nil {
		return nil, errors.New("token: there are no texts to learn from")
	}
	normalizers := []any{map[string]any{"type": "NFKC"}}
	if lower {
		normalizers = append(normalizers, map[string]any{"type": "Lowercase"})
	}
	level := map[string]any{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}
	f := map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "decoder": level, "pre_tokenizer": level,
		"normalizer": map[string]any{"type": "Sequence", "normalizers": normalizers},
	}
	var vocab []string
	var merges [][2]string
	var err error
	if ended := until(ctx, func(p *pace) {
		var words map[string]int
		if words, err = wordCounts(p, texts, f); err == nil {
			vocab, merges, err = learnPairs(p, words, size)
		}
	}); ended != nil || err != nil {
		return nil, fmt.Errorf("token: %w", cmp.Or(ended, err))
	}
	ids := map[string]int{}
	for i, s := range vocab {
		ids[s] = i
	}
	special := func(s string, typ int) any {
		return map[string]any{"SpecialToken": map[string]any{"id": s, "type_id": typ}}
	}
	text := func(s string, typ int) any {
		return map[string]any{"Sequence": map[string]any{"id": s, "type_id": typ}}
	}
	var added []any
	named := map[string]any{}
	for i, s := range learnedSpecial {
		added = append(added, map[string]any{"id": i, "content": s, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
		named[s] = map[string]any{"id": s, "ids": []int{i}, "tokens": []string{s}}
	}
	f["added_tokens"] = added
	f["post_processor"] = map[string]any{
		"type": "TemplateProcessing", "special_tokens": named,
		"single": []any{special("[CLS]", 0), text("A", 0), special("[SEP]", 0)},
		"pair":   []any{special("[CLS]", 0), text("A", 0), special("[SEP]", 0), text("B", 1), special("[SEP]", 1)},
	}
	f["model"] = map[string]any{
		"type": "BPE", "dropout": nil, "unk_token": "[UNK]", "continuing_subword_prefix": nil, "end_of_word_suffix": nil, "fuse_unk": false,
		"byte_fallback": false, "ignore_merges": false, "vocab": ids, "merges": merges,
	}
	b, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	return ParseUntil(ctx, b)
}

// wordCounts returns how often each word of the texts occurs, after the normalizer and pre_tokenizer of f.
func wordCounts(p *pace, texts iter.Seq[string], f map[string]any) (map[string]int, error) {
	var part [2]json.RawMessage
	for i, key := range []string{"normalizer", "pre_tokenizer"} {
		var err error
		if part[i], err = json.Marshal(f[key]); err != nil {
			return nil, err
		}
	}
	normalize, err := newNormalizer(part[0])
	if err != nil {
		return nil, err
	}
	split, err := newSplitter(part[1])
	if err != nil {
		return nil, err
	}
	words := map[string]int{}
	for s := range texts {
		p.did(1)
		for _, w := range split(p, []string{normalize(p, strings.ToValidUTF8(s, "\ufffd"))}, true) {
			p.did(4)
			words[w]++
		}
	}
	return words, nil
}

// learnPairs merges the most frequent pair, the first in order among equals, until there are size tokens.
func learnPairs(p *pace, counts map[string]int, size int) ([]string, [][2]string, error) {
	letters := map[string]bool{}
	for w := range counts {
		for _, r := range w {
			p.did(2)
			letters[string(r)] = true
		}
	}
	if 4*256 <= size {
		for c := range 256 {
			letters[string(byteRune(byte(c)))] = true
		}
	}
	vocab := append(slices.Clone(learnedSpecial), slices.Sorted(maps.Keys(letters))...)
	if len(vocab) > size {
		return nil, nil, fmt.Errorf("%d tokens are too few: the texts have %d different bytes, and there are %d special tokens", size, len(letters), len(learnedSpecial))
	}
	type word struct {
		tokens []string
		count  int
	}
	var words []word
	pairs, in := map[[2]string]int{}, map[[2]string]map[int]bool{}
	note := func(at, by int) {
		w := words[at]
		for i := range len(w.tokens) - 1 {
			p.did(16)
			x := [2]string{w.tokens[i], w.tokens[i+1]}
			if pairs[x] += by * w.count; by > 0 {
				if in[x] == nil {
					in[x] = map[int]bool{}
				}
				in[x][at] = true
			}
		}
	}
	for _, s := range slices.SortedFunc(maps.Keys(counts), p.compare) {
		if utf8.RuneCountInString(s) < 2 {
			continue
		}
		words = append(words, word{strings.Split(s, ""), counts[s]})
		note(len(words)-1, 1)
	}
	known, merges := map[string]bool{}, [][2]string{}
	for _, s := range vocab {
		known[s] = true
	}
	for len(vocab) < size {
		var best [2]string
		most := 1
		for x, n := range pairs {
			p.did(1)
			if n > most || n == most && n > 1 && (x[0] < best[0] || x[0] == best[0] && x[1] < best[1]) {
				best, most = x, n
			}
		}
		if most < 2 {
			break
		}
		joined := best[0] + best[1]
		if merges = append(merges, best); !known[joined] {
			known[joined] = true
			vocab = append(vocab, joined)
		}
		for at := range in[best] {
			note(at, -1)
			w := &words[at]
			var tokens []string
			for i := 0; i < len(w.tokens); i++ {
				p.did(1)
				if i+1 < len(w.tokens) && w.tokens[i] == best[0] && w.tokens[i+1] == best[1] {
					tokens = append(tokens, joined)
					i++
				} else {
					tokens = append(tokens, w.tokens[i])
				}
			}
			w.tokens = tokens
			note(at, 1)
		}
		delete(pairs, best)
		delete(in, best)
	}
	return vocab, merges, nil
}

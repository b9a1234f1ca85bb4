package token

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// newModel reads the "model" of a file, and its tokens.
func newModel(p *pace, b json.RawMessage) (model, map[string]int, error) {
	var c struct {
		Type   string          `json:"type"`
		Vocab  json.RawMessage `json:"vocab"`
		Merges json.RawMessage `json:"merges"`
		Unk    *string         `json:"unk_token"`
		UnkID  *int            `json:"unk_id"`
		Prefix *string         `json:"continuing_subword_prefix"`
		Suffix *string         `json:"end_of_word_suffix"`
		Most   int             `json:"max_input_chars_per_word"`
		Bytes  bool            `json:"byte_fallback"`
		Fuse   bool            `json:"fuse_unk"`
		Whole  bool            `json:"ignore_merges"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, nil, fmt.Errorf("model: %w", err)
	}
	if c.Type == "" { // old files
		switch {
		case len(c.Merges) > 0:
			c.Type = "BPE"
		case c.UnkID != nil:
			c.Type = "Unigram"
		case c.Most > 0:
			c.Type = "WordPiece"
		}
	}
	text := func(p *string, none string) string {
		if p == nil {
			return none
		}
		return *p
	}
	if c.Type == "Unigram" {
		return newUnigram(p, c.Vocab, c.UnkID, c.Bytes)
	}
	switch c.Type {
	case "WordPiece", "WordLevel", "BPE":
	default:
		return nil, nil, fmt.Errorf("the model is of type %q, which is not supported; there are WordPiece, BPE, Unigram, WordLevel", c.Type)
	}
	ids := map[string]int{}
	if err := json.Unmarshal(c.Vocab, &ids); err != nil {
		return nil, nil, fmt.Errorf("model %s: vocab: %w", c.Type, err)
	}
	if len(ids) == 0 {
		return nil, nil, fmt.Errorf("model %s: the vocab is empty", c.Type)
	}
	unk := -1
	if c.Unk != nil {
		id, ok := ids[*c.Unk]
		if !ok && c.Type != "BPE" {
			return nil, nil, fmt.Errorf("model %s: the unk_token %q is not in the vocab", c.Type, *c.Unk)
		}
		if ok {
			unk = id
		}
	}
	switch c.Type {
	case "WordPiece":
		if unk < 0 {
			return nil, nil, fmt.Errorf("model WordPiece: it has no unk_token")
		}
		if c.Most == 0 {
			c.Most = 100
		}
		return wordPiece{newLexicon(p, ids, ""), newLexicon(p, ids, text(c.Prefix, "##")), unk, c.Most}, ids, nil
	case "WordLevel":
		return wordLevel{ids, unk}, ids, nil
	}
	m, err := newBPE(p, c.Merges, bpe{ids: ids, unk: unk, prefix: text(c.Prefix, ""), suffix: text(c.Suffix, ""), bytes: c.Bytes, fuse: c.Fuse, whole: c.Whole})
	return m, ids, err
}

// wordPiece takes the longest token at the start of a word, then repeatedly the longest that continues it.
type wordPiece struct {
	first, continued *lexicon // tokens that begin a word, and that continue one
	unk              int
	most             int // maximum number of characters of a word; longer ones are unknown
}

func (m wordPiece) encode(p *pace, to []int, word string) []int {
	if utf8.RuneCountInString(word) > m.most {
		return append(to, m.unk)
	}
	begin := len(to)
	for from, among := 0, m.first; from < len(word); among = m.continued {
		end, token := 0, -1
		among.each(p, word[from:], func(n, id int) { end, token = from+n, id })
		if token < 0 {
			return append(to[:begin], m.unk)
		}
		to, from = append(to, token), end
	}
	return to
}

// wordLevel has a token for each word.
type wordLevel struct {
	ids map[string]int
	unk int // −1: unknown words are left out
}

func (m wordLevel) encode(_ *pace, to []int, word string) []int {
	if id, ok := m.ids[word]; ok {
		return append(to, id)
	}
	if m.unk < 0 {
		return to
	}
	return append(to, m.unk)
}

// byteTokens appends the tokens <0x00> … of a text's bytes to to; ok is false if one does not exist.
func byteTokens(p *pace, to []int, ids map[string]int, s string) (list []int, ok bool) {
	begin := len(to)
	for _, c := range []byte(s) {
		p.did(8)
		id, ok := ids[fmt.Sprintf("<0x%02X>", c)]
		if !ok {
			return to[:begin], false
		}
		to = append(to, id)
	}
	return to, true
}

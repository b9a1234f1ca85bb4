package token

import (
	"context"
	"encoding/json"
	"slices"
)

// EncodeWords tokenizes a text that is already split into words, each separately, like the original library with
// "pretokenized" input. At most limit tokens are returned, including special ones (0: any number); the last words are
// cut off, or the first if the file says so. Words of the result is the word of each token. For a tokenizer that marks
// the beginning of a word by the space before it, each word has one.
func (t *Tokenizer) EncodeWords(words []string, limit int) Encoding {
	return t.encodeWords(nil, words, limit)
}

// EncodeWordsUntil is EncodeWords with a context.
func (t *Tokenizer) EncodeWordsUntil(ctx context.Context, words []string, limit int) (e Encoding, err error) {
	err = until(ctx, func(p *pace) { e = t.encodeWords(p, words, limit) })
	return e, err
}

func (t *Tokenizer) encodeWords(p *pace, words []string, limit int) Encoding {
	var ids, of []int
	for i, w := range words {
		p.did(1)
		if t.spaced {
			w = " " + w
		}
		part := t.tokens(p, w)
		ids, of = append(ids, part...), append(of, slices.Repeat([]int{i}, len(part))...)
	}
	e := t.template.apply(p, limit, ids)
	special := 0
	for _, s := range t.template.single {
		if s.text < 0 {
			special++
		}
	}
	kept := of[:max(0, len(e.IDs)-special)]
	if t.template.left {
		kept = of[len(of)-len(kept):]
	}
	for _, s := range t.template.single {
		if s.text < 0 {
			e.Words = append(e.Words, -1)
		} else {
			e.Words = append(e.Words, kept...)
		}
	}
	return e
}

// wantsSpaces reports whether a "pre_tokenizer" marks the start of a word by the space before it, but adds none before a text.
func wantsSpaces(b json.RawMessage) bool {
	var c struct {
		Type   string
		List   []json.RawMessage `json:"pretokenizers"`
		Prefix *bool             `json:"add_prefix_space"`
		Scheme string            `json:"prepend_scheme"`
	}
	if json.Unmarshal(b, &c) != nil { // null
		return false
	}
	without := c.Prefix != nil && !*c.Prefix
	switch c.Type {
	case "Sequence":
		return slices.ContainsFunc(c.List, wantsSpaces)
	case "ByteLevel":
		return without
	case "Metaspace":
		return c.Scheme == "never" || c.Scheme == "" && without
	}
	return false
}

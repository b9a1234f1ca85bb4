package token

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// splitter splits parts of a text into words. first states that the first part is at the start of the text.
type splitter func(p *pace, parts []string, first bool) []string

// newSplitter reads the "pre_tokenizer" of a file; null is none.
func newSplitter(b json.RawMessage) (splitter, error) {
	kind, err := kindOf("pre_tokenizer", b)
	if err != nil || kind == "" {
		return func(_ *pace, parts []string, _ bool) []string { return parts }, err
	}
	c := struct {
		List       []json.RawMessage `json:"pretokenizers"`
		Prefix     *bool             `json:"add_prefix_space"`
		UseRegex   *bool             `json:"use_regex"`
		Individual bool              `json:"individual_digits"`
		Behavior   string            `json:"behavior"`
		Pattern    pattern           `json:"pattern"`
		Invert     bool              `json:"invert"`
		Delimiter  string            `json:"delimiter"`

		Replacement string `json:"replacement"`
		Scheme      string `json:"prepend_scheme"`
		Split       *bool  `json:"split"`
	}{}
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("pre_tokenizer %s: %w", kind, err)
	}
	yes := func(p *bool) bool { return p == nil || *p }
	switch kind {
	case "Sequence":
		var all []splitter
		for _, b := range c.List {
			s, err := newSplitter(b)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		return func(p *pace, parts []string, first bool) []string {
			for _, s := range all {
				parts = s(p, parts, first)
			}
			return parts
		}, nil
	case "BertPreTokenizer":
		return each(func(p *pace, s string) (words []string) {
			for _, w := range strings.FieldsFunc(s, counted(p, unicode.IsSpace)) {
				words = append(words, behave(p, w, runes(p, w, punctuation), "Isolated", false)...)
			}
			return words
		}), nil
	case "Whitespace":
		return each(func(p *pace, s string) (words []string) {
			for _, w := range strings.FieldsFunc(s, counted(p, unicode.IsSpace)) {
				words = append(words, behave(p, w, runes(p, w, wordRune), "Contiguous", false)...)
			}
			return words
		}), nil
	case "WhitespaceSplit":
		return each(func(p *pace, s string) []string { return strings.FieldsFunc(s, counted(p, unicode.IsSpace)) }), nil
	case "Punctuation":
		if c.Behavior == "" {
			c.Behavior = "Isolated"
		}
		return each(func(p *pace, s string) []string { return behave(p, s, runes(p, s, punctuation), c.Behavior, false) }), known(kind, c.Behavior)
	case "Digits":
		if c.Behavior = "Contiguous"; c.Individual {
			c.Behavior = "Isolated"
		}
		return each(func(p *pace, s string) []string {
			return behave(p, s, runes(p, s, unicode.IsNumber), c.Behavior, false)
		}), nil
	case "CharDelimiterSplit":
		return each(func(p *pace, s string) []string {
			return behave(p, s, runes(p, s, func(r rune) bool { return string(r) == c.Delimiter }), "Removed", false)
		}), nil
	case "Split":
		find, err := c.Pattern.compile()
		if err != nil {
			return nil, fmt.Errorf("pre_tokenizer Split: %w", err)
		}
		if err := known(kind, c.Behavior); err != nil {
			return nil, err
		}
		return each(func(p *pace, s string) []string {
			return behave(p, s, find(p, s), c.Behavior, c.Invert)
		}), nil
	case "ByteLevel":
		return byteLevel(yes(c.Prefix), yes(c.UseRegex))
	case "Metaspace":
		if c.Scheme == "" {
			if c.Scheme = "never"; yes(c.Prefix) {
				c.Scheme = "always"
			}
		}
		return metaspace(c.Replacement, c.Scheme, yes(c.Split))
	}
	return nil, fmt.Errorf("pre_tokenizer %q is not supported; there are BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Sequence, Split, Whitespace, WhitespaceSplit", kind)
}

// each returns a splitter that applies f to each part.
func each(f func(p *pace, s string) []string) splitter {
	return func(p *pace, parts []string, _ bool) (words []string) {
		if len(parts) == 1 {
			return f(p, parts[0])
		}
		for _, s := range parts {
			p.did(1)
			words = append(words, f(p, s)...)
		}
		return words
	}
}

// metaspace replaces spaces by another character, and splits before it. The scheme selects the parts that always begin with one.
func metaspace(by, scheme string, split bool) (splitter, error) {
	if by == "" {
		by = "\u2581"
	}
	switch scheme {
	case "always", "first", "never":
	default:
		return nil, fmt.Errorf("pre_tokenizer Metaspace: the prepend_scheme %q is not supported; there are always, first, never", scheme)
	}
	find, err := pattern{String: &by}.compile()
	return func(p *pace, parts []string, first bool) (words []string) {
		for i, s := range parts {
			p.did(1)
			s = strings.ReplaceAll(s, " ", by)
			if (scheme == "always" || scheme == "first" && first && i == 0) && !strings.HasPrefix(s, by) {
				s = by + s
			}
			if !split {
				words = append(words, s)
				continue
			}
			words = append(words, behave(p, s, find(p, s), "MergedWithNext", false)...)
		}
		return words
	}, err
}

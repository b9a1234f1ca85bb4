package token

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normalizer normalizes a text before it is split.
type normalizer func(p *pace, s string) string

// newNormalizer reads the "normalizer" of a file; null is none.
func newNormalizer(b json.RawMessage) (normalizer, error) {
	kind, err := kindOf("normalizer", b)
	if err != nil || kind == "" {
		return func(_ *pace, s string) string { return s }, err
	}
	var c struct {
		Normalizers []json.RawMessage `json:"normalizers"`
		Left        bool              `json:"strip_left"`
		Right       bool              `json:"strip_right"`
		Prepend     string            `json:"prepend"`
		Pattern     pattern           `json:"pattern"`
		Content     string            `json:"content"`
		Charsmap    []byte            `json:"precompiled_charsmap"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("normalizer %s: %w", kind, err)
	}
	switch kind {
	case "Sequence":
		var all []normalizer
		for _, b := range c.Normalizers {
			n, err := newNormalizer(b)
			if err != nil {
				return nil, err
			}
			all = append(all, n)
		}
		return func(p *pace, s string) string {
			for _, n := range all {
				s = n(p, s)
			}
			return s
		}, nil
	case "BertNormalizer":
		return newBertNormalizer(b)
	case "ByteLevel":
		return eachRune(byteRunes), nil
	case "Lowercase":
		return eachRune(lower), nil
	case "NFC":
		return form(norm.NFC), nil
	case "NFD":
		return form(norm.NFD), nil
	case "NFKC":
		return form(norm.NFKC), nil
	case "NFKD":
		return form(norm.NFKD), nil
	case "Nmt":
		return eachRune(func(s string) string { return strings.Map(nmt, s) }), nil
	case "StripAccents":
		return eachRune(func(s string) string { return without(unicode.M, s) }), nil
	case "Strip":
		return func(p *pace, s string) string {
			space := counted(p, unicode.IsSpace)
			if c.Left {
				s = strings.TrimLeftFunc(s, space)
			}
			if c.Right {
				s = strings.TrimRightFunc(s, space)
			}
			return s
		}, nil
	case "Prepend":
		return func(_ *pace, s string) string {
			if s == "" {
				return s
			}
			return c.Prepend + s
		}, nil
	case "Replace":
		find, err := c.Pattern.compile()
		if err != nil {
			return nil, fmt.Errorf("normalizer Replace: %w", err)
		}
		return func(p *pace, s string) string { return replaced(p, s, find(p, s), c.Content) }, nil
	case "Precompiled":
		return newPrecompiled(c.Charsmap)
	}
	return nil, fmt.Errorf("normalizer %q is not supported; there are BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip, StripAccents", kind)
}

// eachRune is a normalizer that converts each character independently.
func eachRune(f func(string) string) normalizer {
	return func(p *pace, s string) string { return p.inBlocks(s, f) }
}

// form is a normalization form of Unicode.
func form(f norm.Form) normalizer {
	return func(p *pace, s string) string {
		if p.did(len(s)); len(s) <= block {
			return f.String(s)
		}
		var b strings.Builder
		w := f.Writer(&b)
		for ; s != ""; p.look() {
			n := min(len(s), block)
			_, _ = w.Write([]byte(s[:n])) // a Builder has no errors
			s = s[n:]
		}
		_ = w.Close()
		return b.String()
	}
}

// kindOf returns the "type" of a part of the file; "" for null.
func kindOf(what string, b json.RawMessage) (string, error) {
	if len(b) == 0 || string(b) == "null" {
		return "", nil
	}
	var c struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	if c.Type == "" {
		return "", fmt.Errorf("%s: it has no \"type\"", what)
	}
	return c.Type, nil
}

func replaced(p *pace, s string, at [][2]int, by string) string {
	var b strings.Builder
	from := 0
	for _, m := range at {
		p.did(1)
		b.WriteString(s[from:m[0]])
		b.WriteString(by)
		from = m[1]
	}
	b.WriteString(s[from:])
	return b.String()
}

// lower lowercases a text character by character; only U+0130 has a lower case of two characters.
func lower(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, "\u0130", "i\u0307"))
}

// without removes the characters in a table from s.
func without(t *unicode.RangeTable, s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(t, r) {
			return -1
		}
		return r
	}, s)
}

// nmt is the part of SentencePiece's nmt_nfkc besides NFKC: it removes some control characters, and maps others and zero-width marks to
// spaces.
func nmt(r rune) rune {
	switch {
	case r >= 1 && r <= 8, r == 0xb, r >= 0xe && r <= 0x1f, r == 0x7f, r == 0x8f, r == 0x9f:
		return -1
	case r >= 9 && r <= 0xd, r == 0x1680, r >= 0x200b && r <= 0x200f, r == 0x2028, r == 0x2029, r == 0x2581, r == 0xfeff, r == 0xfffd:
		return ' '
	}
	return r
}

// newBertNormalizer returns the normalization of BERT: no control characters, spaces around Chinese ones, lower case without accents.
func newBertNormalizer(b json.RawMessage) (normalizer, error) {
	c := struct {
		Clean   bool  `json:"clean_text"`
		Chinese bool  `json:"handle_chinese_chars"`
		Strip   *bool `json:"strip_accents"`
		Lower   bool  `json:"lowercase"`
	}{true, true, nil, true}
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("normalizer BertNormalizer: %w", err)
	}
	strip := c.Lower
	if c.Strip != nil {
		strip = *c.Strip
	}
	return func(p *pace, s string) string {
		if c.Clean {
			s = p.inBlocks(s, func(s string) string { return strings.Map(clean, s) })
		}
		if c.Chinese {
			s = p.inBlocks(s, spaced)
		}
		if strip { // keeps spacing marks, like BERT's tokenizer
			s = p.inBlocks(form(norm.NFD)(p, s), func(s string) string { return without(unicode.Mn, s) })
		}
		if c.Lower {
			s = p.inBlocks(s, lower)
		}
		return s
	}, nil
}

// clean removes control characters and maps white space to a space.
func clean(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case r == 0 || r == 0xfffd || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// spaced puts spaces around Chinese characters.
func spaced(s string) string {
	var b strings.Builder
	for _, r := range s {
		if chinese(r) {
			b.WriteString(" " + string(r) + " ")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// chinese reports whether r is in one of the blocks of CJK ideographs that BERT's tokenizer lists.
func chinese(r rune) bool {
	for _, b := range [][2]rune{{0x4e00, 0x9fff}, {0x3400, 0x4dbf}, {0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff}, {0x2f800, 0x2fa1f}} {
		if r >= b[0] && r <= b[1] {
			return true
		}
	}
	return false
}

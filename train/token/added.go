package token

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is found in a text before it is split into words.
type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	Left       bool   `json:"lstrip"` // includes the spaces before it
	Right      bool   `json:"rstrip"` // includes the spaces after it
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// numberAdded assigns ids to added tokens, in list and in ids: that of the model's token, or the next free number. Like the original
// library, it ignores the ids in the file.
func numberAdded(list []addedToken, ids map[string]int) {
	next := len(ids)
	for i, a := range list {
		id, ok := ids[a.Content]
		if !ok {
			id = next
			ids[a.Content] = id
		}
		if list[i].ID = id; id >= next {
			next = id + 1
		}
	}
}

// added has tokens by their first byte, the longest first.
type added map[byte][]addedToken

// newAdded divides tokens into those to find in the original text and those to find in the normalized text.
func newAdded(p *pace, list []addedToken, n normalizer) (raw, done added) {
	raw, done = added{}, added{}
	for _, a := range list {
		p.did(8)
		to := raw
		if a.Normalized {
			to, a.Content = done, n(p, a.Content)
		}
		if a.Content != "" {
			to[a.Content[0]] = append(to[a.Content[0]], a)
		}
	}
	for _, set := range []added{raw, done} {
		for _, same := range set {
			slices.SortStableFunc(same, func(a, b addedToken) int { return len(b.Content) - len(a.Content) })
		}
	}
	return raw, done
}

// cut yields the parts of a text in order. id is that of an added token, or −1 for text between such tokens.
func (s added) cut(p *pace, text string, yield func(part string, id int)) {
	from := 0
	for i := 0; i < len(text); i++ {
		p.did(1)
		for _, a := range s[text[i]] {
			p.did(1)
			if !strings.HasPrefix(text[i:], a.Content) || a.SingleWord && !alone(text, i, i+len(a.Content)) {
				continue
			}
			before, end := text[from:i], i+len(a.Content)
			if a.Left {
				before = strings.TrimRightFunc(before, counted(p, unicode.IsSpace))
			}
			if before != "" {
				yield(before, -1)
			}
			yield(a.Content, a.ID)
			if a.Right {
				end = len(text) - len(strings.TrimLeftFunc(text[end:], counted(p, unicode.IsSpace)))
			}
			from, i = end, end-1
			break
		}
	}
	if from < len(text) {
		yield(text[from:], -1)
	}
}

// alone reports whether no word character is adjacent to text[from:to].
func alone(text string, from, to int) bool {
	a, _ := utf8.DecodeLastRuneInString(text[:from])
	b, _ := utf8.DecodeRuneInString(text[to:])
	return (from == 0 || !wordRune(a)) && (to == len(text) || !wordRune(b))
}

// wordRune reports whether \w in Rust's regular expressions matches r.
func wordRune(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic) || r == 0x200c || r == 0x200d
}

package token

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// known refuses words for a behavior that behave does not know.
func known(kind, behavior string) error {
	switch behavior {
	case "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous":
		return nil
	}
	return fmt.Errorf("pre_tokenizer %s: the behavior %q is not supported; there are Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous", kind, behavior)
}

// behave splits s at what was found, which is left out, or becomes words of its own, or is part of those beside it.
func behave(s string, at [][2]int, behavior string) (words []string) {
	add := func(from, to int) {
		if from < to {
			words = append(words, s[from:to])
		}
	}
	from := 0
	for i, m := range at {
		switch behavior {
		case "Removed":
			add(from, m[0])
			from = m[1]
		case "Isolated":
			add(from, m[0])
			add(m[0], m[1])
			from = m[1]
		case "MergedWithPrevious":
			add(from, m[1])
			from = m[1]
		case "MergedWithNext":
			add(from, m[0])
			from = m[0]
		case "Contiguous":
			if i == 0 || at[i-1][1] != m[0] {
				add(from, m[0])
				from = m[0]
			}
			if i+1 == len(at) || at[i+1][0] != m[1] {
				add(from, m[1])
				from = m[1]
			}
		}
	}
	add(from, len(s))
	return words
}

// inverted is what is between the matches.
func inverted(s string, at [][2]int) (out [][2]int) {
	from := 0
	for _, m := range append(at, [2]int{len(s), len(s)}) {
		if from < m[0] {
			out = append(out, [2]int{from, m[0]})
		}
		from = m[1]
	}
	return out
}

// runes are the characters for which is holds.
func runes(s string, is func(rune) bool) (at [][2]int) {
	for i, r := range s {
		if is(r) {
			at = append(at, [2]int{i, i + utf8.RuneLen(r)})
		}
	}
	return at
}

// punctuation is ASCII's characters that are neither letters, digits nor controls, and Unicode's category P.
func punctuation(r rune) bool {
	if r < 128 {
		return r > ' ' && r < 127 && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return unicode.Is(unicode.P, r)
}

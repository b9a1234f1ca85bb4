package token

import (
	"fmt"
	"strings"
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

// behave splits s at what was found, which is left out, or becomes words of its own, or is part of those beside it; inverted, at what
// stands between what was found.
func behave(s string, found [][2]int, behavior string, inverted bool) (words []string) {
	type part struct {
		from, to  int
		delimiter bool
	}
	var all []part
	add := func(from, to int, delimiter bool) {
		if from < to {
			all = append(all, part{from, to, delimiter != inverted})
		}
	}
	end := 0
	for _, m := range found {
		add(end, m[0], false)
		add(m[0], m[1], true)
		end = m[1]
	}
	add(end, len(s), false)
	from := 0 // of the word that p ends
	for i, p := range all {
		if i+1 < len(all) {
			next, joined := all[i+1], false
			switch behavior {
			case "MergedWithPrevious":
				joined = next.delimiter && !p.delimiter
			case "MergedWithNext":
				joined = p.delimiter && !next.delimiter
			case "Contiguous":
				joined = p.delimiter == next.delimiter
			}
			if joined {
				continue
			}
		}
		if behavior != "Removed" || !p.delimiter {
			words = append(words, s[from:p.to])
		}
		from = p.to
	}
	return words
}

// runes returns the characters for which is holds.
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
	return unicode.IsPunct(r) || strings.ContainsRune("$+<=>^`|~", r)
}

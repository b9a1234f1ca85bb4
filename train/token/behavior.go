package token

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// known returns an error for a behavior that behave does not implement.
func known(kind, behavior string) error {
	switch behavior {
	case "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous":
		return nil
	}
	return fmt.Errorf("pre_tokenizer %s: the behavior %q is not supported; there are Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous", kind, behavior)
}

// behave splits s at the matches in found, or at the text between them if inverted. By behavior, the delimiters are removed, become
// separate words, or are merged with their neighbours.
func behave(p *pace, s string, found [][2]int, behavior string, inverted bool) (words []string) {
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
		p.did(1)
		add(end, m[0], false)
		add(m[0], m[1], true)
		end = m[1]
	}
	add(end, len(s), false)
	from := 0 // start of the word that ends at x
	for i, x := range all {
		p.did(1)
		if i+1 < len(all) {
			next, joined := all[i+1], false
			switch behavior {
			case "MergedWithPrevious":
				joined = next.delimiter && !x.delimiter
			case "MergedWithNext":
				joined = x.delimiter && !next.delimiter
			case "Contiguous":
				joined = x.delimiter == next.delimiter
			}
			if joined {
				continue
			}
		}
		if behavior != "Removed" || !x.delimiter {
			words = append(words, s[from:x.to])
		}
		from = x.to
	}
	return words
}

// runes returns the positions of the characters for which is returns true.
func runes(p *pace, s string, is func(rune) bool) (at [][2]int) {
	for i, r := range s {
		p.did(1)
		if is(r) {
			at = append(at, [2]int{i, i + utf8.RuneLen(r)})
		}
	}
	return at
}

// punctuation reports whether r is in Unicode's category P, or an ASCII character that is not a letter, digit, space or control.
func punctuation(r rune) bool {
	return unicode.IsPunct(r) || strings.ContainsRune("$+<=>^`|~", r)
}

package token

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// pattern is a text, or a regular expression in the syntax of the tokenizers library.
type pattern struct {
	String *string
	Regex  *string
}

// finder returns the positions where a pattern matches a text.
type finder func(p *pace, s string) [][2]int

// trailing is the only lookahead in published tokenizers: spaces except the last one before a word.
const trailing = `\s+(?!\S)`

func (p pattern) compile() (finder, error) {
	if p.String != nil {
		if *p.String == "" {
			return nil, fmt.Errorf("an empty pattern")
		}
		text := *p.String
		return func(p *pace, s string) (at [][2]int) {
			for from := 0; ; {
				p.did(1)
				i := strings.Index(s[from:], text)
				if i < 0 {
					return at
				}
				at = append(at, [2]int{from + i, from + i + len(text)})
				from += i + len(text)
			}
		}, nil
	}
	if p.Regex == nil {
		return nil, fmt.Errorf("a pattern that is neither String nor Regex")
	}
	return expression(*p.Regex)
}

// expression compiles a regular expression. The only lookahead that it supports is \s+(?!\S)|\s+: spaces except the last one before a
// word, or a single one.
func expression(text string) (finder, error) {
	own := strings.Replace(possessive.Replace(text), trailing+`|\s+`, `(?P<trailing>\s+)`, 1)
	own, err := unicodeClasses(own)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", text, err)
	}
	re, err := regexp.Compile("(?m)" + own) // ^ and $ match at lines
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", text, err)
	}
	group := re.SubexpIndex("trailing")
	return func(p *pace, s string) (at [][2]int) {
		for from := 0; from <= len(s); {
			m := match(p, re, s[from:])
			if m == nil {
				return at
			}
			i, j := from+m[0], from+m[1]
			if group > 0 && m[2*group] >= 0 && j < len(s) {
				if _, n := utf8.DecodeLastRuneInString(s[i:j]); j-n > i {
					j -= n
				}
			}
			if i == j { // empty matches do not split
				_, n := utf8.DecodeRuneInString(s[j:])
				from = j + max(n, 1)
				continue
			}
			at, from = append(at, [2]int{i, j}), j
		}
		return at
	}, nil
}

// match finds the first match in a text. A long one is read character by character, which takes no longer: the faster of Go's algorithms are for short ones.
func match(p *pace, re *regexp.Regexp, s string) []int {
	if p == nil || len(s) < inTurn {
		p.did(inTurn) // it may go through the whole text
		return re.FindStringSubmatchIndex(s)
	}
	r := pacedReader{p: p}
	r.Reset(s)
	return re.FindReaderSubmatchIndex(&r)
}

// inTurn is how many bytes of a text a regular expression reads without a look at the context.
const inTurn = 1 << 12

// pacedReader looks at a context before each character, at which a regular expression may try many alternatives.
type pacedReader struct {
	strings.Reader
	p *pace
}

func (r *pacedReader) ReadRune() (rune, int, error) {
	r.p.look()
	return r.Reader.ReadRune()
}

// classes are the members of Oniguruma's Unicode character classes; Go's \s, \w and \d are ASCII only.
var classes = map[byte]string{
	's': `\t-\r\x{85}\p{Z}`,
	'w': `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}`,
	'h': `0-9A-Fa-f`,
	'd': `\p{Nd}`,
}

// latinNumbers belong to \w in Oniguruma, but only outside of brackets.
const latinNumbers = `\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}`

// possessive replaces the possessive quantifiers of GPT-4's tokenizer by greedy ones, which are equivalent because what follows cannot
// begin with a repeated character.
var possessive = strings.NewReplacer(`[^\r\n\p{L}\p{N}]?+\p{L}`, `[^\r\n\p{L}\p{N}]?\p{L}`, `[^\s\p{L}\p{N}]++[\r\n]*|`, `[^\s\p{L}\p{N}]+[\r\n]*|`)

// unicodeClasses expands \s, \S, \w, \W, \d, \D, \h, \H and nested brackets, and returns an error for syntax that Go interprets
// differently.
func unicodeClasses(text string) (string, error) {
	var b strings.Builder
	depth := 0 // nesting of brackets
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			members, ok := classes[text[i]|0x20]
			negated := text[i] < 'a'
			if depth == 0 && text[i]|0x20 == 'w' {
				members += latinNumbers
			}
			switch {
			case text[i] == 'b' || text[i] == 'B':
				return "", fmt.Errorf("\\%c, the end of a word, is not supported", text[i])
			case !ok:
				b.WriteString(text[i-1 : i+1])
			case depth == 0 && negated:
				b.WriteString("[^" + members + "]")
			case depth == 0:
				b.WriteString("[" + members + "]")
			case !negated:
				b.WriteString(members)
			default:
				return "", fmt.Errorf("\\%c between brackets is not supported", text[i])
			}
		case c == '[':
			if depth++; depth == 1 {
				b.WriteByte(c)
			} else if strings.HasPrefix(text[i+1:], "^") || strings.HasPrefix(text[i+1:], ":") {
				return "", fmt.Errorf("[%c between brackets is not supported", text[i+1])
			}
		case c == ']' && depth > 0:
			if depth--; depth == 0 {
				b.WriteByte(c)
			}
		case c == '&' && depth > 0 && strings.HasPrefix(text[i:], "&&"):
			return "", fmt.Errorf("&& between brackets is not supported")
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

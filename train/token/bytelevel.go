package token

import "strings"

// gpt2 is GPT-2's pattern for splitting a text, before bytes are mapped to characters.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|` + trailing + `|\s+`

// byteLevel maps each byte to a printable character.
func byteLevel(prefix, split bool) (splitter, error) {
	find, err := expression(gpt2)
	return each(func(p *pace, s string) []string {
		if prefix && s != "" && !strings.HasPrefix(s, " ") {
			s = " " + s
		}
		words := []string{s}
		if split {
			words = behave(p, s, find(p, s), "Isolated", false)
		}
		for i, w := range words {
			words[i] = p.inBlocks(w, byteRunes)
		}
		return words
	}), err
}

// byteRunes maps each byte of s to its character.
func byteRunes(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		b.WriteRune(byteRune(c))
	}
	return b.String()
}

// byteRune returns GPT-2's character for a byte: itself if it is printable in Latin-1; the others in order from U+0100.
func byteRune(c byte) rune {
	printed := func(c int) bool { return c >= '!' && c <= '~' || c >= 0xa1 && c <= 0xac || c >= 0xae }
	if printed(int(c)) {
		return rune(c)
	}
	r := rune(0x100)
	for i := range int(c) {
		if !printed(i) {
			r++
		}
	}
	return r
}

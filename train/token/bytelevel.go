package token

import "strings"

// gpt2 splits as GPT-2 does, before its bytes become characters.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|` + trailing + `|\s+`

// byteLevel makes a printable character of each byte.
func byteLevel(prefix, split bool) (splitter, error) {
	find, err := expression(gpt2)
	return each(func(s string) []string {
		if prefix && s != "" && !strings.HasPrefix(s, " ") {
			s = " " + s
		}
		words := []string{s}
		if split {
			words = behave(s, find(s), "Isolated", false)
		}
		for i, w := range words {
			words[i] = byteRunes(w)
		}
		return words
	}), err
}

// byteRunes writes each byte as its character.
func byteRunes(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		b.WriteRune(byteRune(c))
	}
	return b.String()
}

// byteRune is GPT-2's character for a byte: itself where Latin-1 prints it, others in order from U+0100.
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

package cli

import (
	"bytes"
	"iter"
)

// jsonText is a JSON object inside another one, which no input takes. It stays text.
type jsonText []byte

// String returns the beginning of the text.
func (x jsonText) String() string { return shortened(string(x[:min(len(x), 200)])) }

// valueEnd returns the length of the value with which valid JSON begins.
func valueEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(text))
			}
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// jsonValues iterates over the values in a JSON array, or the keys and values of an object, which must be valid. They are parts of text.
func jsonValues(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for text = text[1:]; ; {
			text = bytes.TrimLeft(text, " \t\r\n,:")
			if len(text) == 0 || text[0] == ']' || text[0] == '}' {
				return
			}
			end := valueEnd(text)
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

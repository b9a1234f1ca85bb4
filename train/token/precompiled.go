package token

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// precompiled is the normalization in a SentencePiece model: a trie of the texts to replace, as a double array, and their
// replacements, each terminated by a zero byte.
type precompiled struct {
	units []uint32
	texts []byte
}

// newPrecompiled reads the bytes of a precompiled_charsmap: the size of the trie, the trie, the texts.
func newPrecompiled(b []byte) (normalizer, error) {
	if len(b) == 0 {
		return func(_ *pace, s string) string { return s }, nil
	}
	if len(b) < 4 {
		return nil, fmt.Errorf("normalizer Precompiled: %d bytes: too short", len(b))
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n%4 != 0 || n == 0 || n > len(b)-4 {
		return nil, fmt.Errorf("normalizer Precompiled: a trie of %d bytes in %d bytes", n, len(b)-4)
	}
	m := &precompiled{texts: b[4+n:]}
	for i := 4; i < 4+n; i += 4 {
		m.units = append(m.units, binary.LittleEndian.Uint32(b[i:]))
	}
	return m.normalize, nil
}

// normalize replaces each grapheme cluster as a whole if it is short, otherwise code point by code point.
func (m *precompiled) normalize(p *pace, s string) string {
	var b strings.Builder
	for g := uniseg.NewGraphemes(s); g.Next(); {
		c := g.Str()
		p.did(1 + len(c))
		if text, ok := m.find(c); ok && len(c) < 6 {
			b.WriteString(text)
			continue
		}
		for _, r := range c {
			if text, ok := m.find(string(r)); ok {
				b.WriteString(text)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// find returns the replacement of the shortest key that is a prefix of s. A unit of the double array (Darts) has its byte in bits 0–7,
// whether a key ends there in bit 8, and the offset of its children in bits 10–30, times 256 if bit 9 is set.
func (m *precompiled) find(s string) (string, bool) {
	offset := func(u uint32) uint32 { return (u >> 10) << ((u & (1 << 9)) >> 6) }
	at := offset(m.units[0])
	for _, c := range []byte(s) {
		if at ^= uint32(c); c == 0 || int(at) >= len(m.units) {
			return "", false
		}
		u := m.units[at]
		if u&(1<<31|0xff) != uint32(c) {
			return "", false
		}
		at ^= offset(u)
		if u>>8&1 == 0 {
			continue
		}
		if int(at) >= len(m.units) {
			return "", false
		}
		from := int(m.units[at] & (1<<31 - 1))
		if from > len(m.texts) {
			return "", false
		}
		text, _, _ := strings.Cut(string(m.texts[from:min(len(m.texts), from+256)]), "\x00")
		return text, true
	}
	return "", false
}

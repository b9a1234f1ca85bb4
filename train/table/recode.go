package table

import (
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/transform"
)

// recoder makes UTF-8 of a text in it or in Windows-1252, which includes Latin-1 and is what spreadsheets write without being asked:
// each byte that is not a part of a character of UTF-8 is one of Windows-1252. It counts them.
type recoder struct{ bytes int }

// Reset implements transform.Transformer.
func (r *recoder) Reset() {}

// Transform implements transform.Transformer.
func (r *recoder) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	if n := min(len(src), len(dst)); utf8.Valid(src[:n]) { // mostly all of it
		nDst, nSrc = copy(dst, src[:n]), n
		if n < len(src) {
			err = transform.ErrShortDst
		}
		return nDst, nSrc, err
	}
	for nSrc < len(src) {
		c, size := utf8.DecodeRune(src[nSrc:])
		if c == utf8.RuneError && size == 1 {
			if !atEOF && !utf8.FullRune(src[nSrc:]) {
				return nDst, nSrc, transform.ErrShortSrc
			}
			c = charmap.Windows1252.DecodeByte(src[nSrc])
		}
		if nDst+utf8.RuneLen(c) > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		if size == 1 && src[nSrc] >= utf8.RuneSelf {
			r.bytes++
		}
		nDst += utf8.EncodeRune(dst[nDst:], c)
		nSrc += size
	}
	return nDst, nSrc, nil
}

package table

import (
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/transform"
)

// recoder converts text in UTF-8 or in Windows-1252, the default of spreadsheets and a superset of Latin-1, to UTF-8: each byte that
// is not part of a UTF-8 character is read as Windows-1252. It counts these bytes.
type recoder struct{ bytes int }

// Reset implements transform.Transformer.
func (r *recoder) Reset() {}

// Transform implements transform.Transformer.
func (r *recoder) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	if n := min(len(src), len(dst)); utf8.Valid(src[:n]) { // the usual case
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

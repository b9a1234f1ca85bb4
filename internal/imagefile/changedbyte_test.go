package imagefile

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"regexp"
	"slices"
	"testing"
)

// TestJPEGChangedByte changes each byte of small files in turn: the standard library's decoder gives
// the same samples, up to rounding, or refuses what other programs read as well.
func TestJPEGChangedByte(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 19, 10))
	for i := range m.Pix {
		m.Pix[i] = uint8(i * i / 7)
	}
	m.SetGray(3, 2, color.Gray{255})
	var drawn bytes.Buffer
	if err := jpeg.Encode(&drawn, m, &jpeg.Options{Quality: 30}); err != nil {
		t.Fatal(err)
	}
	adobe := part(0xee, append([]byte("Adobe"), 0, 100, 0, 0, 0, 0, 0)...)
	blue, green := part(0xda, 1, 3, 0, 0, 63, 0), part(0xda, 1, 2, 0, 0, 63, 0)
	lenient := regexp.MustCompile(`SOS|component selector|RST marker|unexpected EOF|missing 0xff00|unknown marker|short segment`)
	strict := regexp.MustCompile(`is empty|^JPEG: the file is too short$`)
	for name, file := range map[string][]byte{
		"gray":    slices.Concat(begin, part(0xfe), eights, frame(2, 1), part(0xdd, 0, 1), first, rest, scan(1), []byte{0x47, 0xff, 0xd0, 0x47}, end),
		"colors":  slices.Concat(begin, eights, frame(1, 3), first, rest, scan(3), []byte{0x44, 0x9f}, end),
		"in turn": slices.Concat(begin, eights, frame(1, 3), first, rest, part(0xda, 1, 1, 0, 0, 63, 0), []byte{0x47}, blue, []byte{0x47}, green, []byte{0x9f}, end),
		"ink":     slices.Concat(begin, adobe, eights, frame(1, 4), first, rest, scan(4), []byte{0x44, 0x93}, end),
		"drawn":   drawn.Bytes(),
	} {
		compared, changed := 0, file
		if name == "drawn" {
			changed = file[:bytes.Index(file, []byte{0xff, 0xc4})+4] // what codes that do not fit lead to is not the same everywhere
		}
		for i, was := range changed {
			if i == bytes.Index(file, rest)+len(rest)-1 {
				continue // Go's package knows of runs of ended blocks, which sequential files do not have
			}
			for _, v := range []byte{0, 1, 2, 3, was + 1, was - 1, was ^ 16, was << 4, 255} {
				b := bytes.Clone(file)
				b[i] = v
				got, err := Decode(b)
				m, goErr := jpeg.Decode(bytes.NewReader(b))
				switch {
				case err != nil && goErr != nil:
				case err != nil:
					if !strict.MatchString(err.Error()) {
						t.Errorf("%s, byte %d, %#x → %#x: %v", name, i, was, v, err)
					}
				case goErr != nil:
					if !lenient.MatchString(goErr.Error()) {
						t.Errorf("%s, byte %d, %#x → %#x: Go's package: %v", name, i, was, v, goErr)
					}
				default:
					compared++
					want := fromImage(m)
					near := func(x, y uint8) bool { return max(x, y)-min(x, y) <= 2 }
					if got.Width != want.Width || got.Height != want.Height || !slices.EqualFunc(got.Pix, want.Pix, near) {
						t.Errorf("%s, byte %d, %#x → %#x: other samples than those of Go's package", name, i, was, v)
					}
				}
			}
		}
		if compared < 2*len(changed) {
			t.Errorf("%s: only %d files are compared", name, compared)
		}
	}
}

package imagefile

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// part returns a segment of a file: a marker, its length and its body.
func part(marker byte, body ...byte) []byte {
	n := len(body) + 2
	return append([]byte{0xff, marker, byte(n >> 8), byte(n)}, body...)
}

var (
	begin = []byte{0xff, 0xd8}
	end   = []byte{0xff, 0xd9}
	// All coefficients are multiplied by 8.
	eights = part(0xdb, append([]byte{0}, bytes.Repeat([]byte{8}, 64)...)...)
	// Differences: 0 stands for one of three bits, 10 for none. Other coefficients: 0 ends the block.
	first = part(0xc4, append([]byte{0, 1, 1}, append(make([]byte, 14), 3, 0)...)...)
	rest  = part(0xc4, append([]byte{0x10, 1}, append(make([]byte, 15), 0)...)...)
)

// frame is of so many gray blocks in a row, or of three components of one block each.
func frame(blocks, components int) []byte {
	body := []byte{8, 0, 8, 0, byte(8 * blocks), byte(components)}
	for i := range components {
		body = append(body, byte(i+1), 0x11, 0)
	}
	return part(0xc0, body...)
}

func scan(components int) []byte {
	body := []byte{byte(components)}
	for i := range components {
		body = append(body, byte(i+1), 0)
	}
	return part(0xda, append(body, 0, 63, 0)...)
}

// TestJPEGByHand checks files written bit by bit. A block whose DC coefficient is 4·8 has the brightness 128 + 32/8.
func TestJPEGByHand(t *testing.T) {
	gray, colors := slices.Concat(begin, eights, frame(2, 1), first, rest), slices.Concat(begin, eights, frame(1, 3), first, rest)
	adobe := func(transform byte) []byte {
		return part(0xee, append([]byte("Adobe"), 0, 100, 0, 0, 0, 0, transform)...)
	}
	wide := []byte{0x10}
	for range 64 {
		wide = append(wide, 0, 8)
	}
	for name, c := range map[string]struct {
		file []byte
		want []uint8 // of the first pixel of each block
	}{
		"two blocks":       {slices.Concat(gray, scan(1), []byte{0x44}, end), []uint8{132, 132, 132, 132, 132, 132}},
		"differences":      {slices.Concat(gray, scan(1), []byte{0x42, 0x3f}, end), []uint8{132, 132, 132, 136, 136, 136}}, // 0 100 0, 0 100 0
		"down":             {slices.Concat(gray, scan(1), []byte{0x41, 0xbf}, end), []uint8{132, 132, 132, 128, 128, 128}}, // 0 100 0, 0 011 0: -4
		"restarts":         {slices.Concat(gray, part(0xdd, 0, 1), scan(1), []byte{0x47, 0xff, 0xd0, 0x47}, end), []uint8{132, 132, 132, 132, 132, 132}},
		"restart after 2":  {slices.Concat(begin, eights, frame(3, 1), first, rest, part(0xdd, 0, 2), scan(1), []byte{0x44, 0xff, 0xd0, 0x47}, end), []uint8{132, 132, 132, 132, 132, 132, 132, 132, 132}},
		"no end":           {slices.Concat(gray, scan(1), []byte{0x44}), []uint8{132, 132, 132, 132, 132, 132}},
		"filled up":        {slices.Concat(begin, []byte{0xff, 0xff}, eights, []byte{0xff}, frame(2, 1), []byte{0xff}, first, rest, scan(1), []byte{0x44}, end), []uint8{132, 132, 132, 132, 132, 132}},
		"wide factors":     {slices.Concat(begin, part(0xdb, wide...), frame(2, 1), first, rest, scan(1), []byte{0x44}, end), []uint8{132, 132, 132, 132, 132, 132}},
		"two tables":       {slices.Concat(begin, part(0xdb, append(slices.Concat([]byte{1}, bytes.Repeat([]byte{99}, 64)), eights[4:]...)...), frame(2, 1), first, rest, scan(1), []byte{0x44}, end), []uint8{132, 132, 132, 132, 132, 132}},
		"luminance":        {slices.Concat(colors, scan(3), []byte{0x44, 0x9f}, end), []uint8{132, 132, 132}},
		"luminance, Adobe": {slices.Concat(colors, adobe(1), scan(3), []byte{0x44, 0x9f}, end), []uint8{132, 132, 132}},
		"red, Adobe":       {slices.Concat(colors, adobe(0), scan(3), []byte{0x44, 0x9f}, end), []uint8{132, 128, 128}},
	} {
		p, err := Decode(c.file)
		if err != nil || p.Height != 8 || 3*p.Width != 8*len(c.want) {
			t.Errorf("%s: %v, %v", name, p, err)
			continue
		}
		for i, v := range p.Pix {
			if x := i / 3 % p.Width; v != c.want[x/8*3+i%3] {
				t.Errorf("%s: byte %d is %d, want %d", name, i, v, c.want[x/8*3+i%3])
				break
			}
		}
	}
}

// TestJPEGDamaged checks the errors of damaged files, also after their size has been read.
func TestJPEGDamaged(t *testing.T) {
	head := slices.Concat(begin, eights, frame(2, 1))
	whole := slices.Concat(head, first, rest)
	much := make([]byte, 300)
	ones := bytes.Repeat([]byte{0xff, 0}, 8)
	const short, wrong = "JPEG: the file is too short", "JPEG: the data are invalid"
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"nothing follows": {head, short}, "half a marker": {slices.Concat(head, []byte{0xff}), short}, "no length": {slices.Concat(head, []byte{0xff, 0xc4}), short}, "half a length": {slices.Concat(head, []byte{0xff, 0xc4, 0}), short},
		"length 0": {slices.Concat(head, []byte{0xff, 0xc4, 0, 0}, much), short}, "length 1": {slices.Concat(head, []byte{0xff, 0xc4, 0, 1}, much), short}, "longer than the file": {slices.Concat(head, []byte{0xff, 0xc4, 2, 0}, much), short},
		"ends at once": {slices.Concat(whole, end), short}, "few codes": {slices.Concat(head, part(0xc4, make([]byte, 16)...)), short}, "few values": {slices.Concat(head, part(0xc4, append([]byte{0, 2}, make([]byte, 16)...)...)), short},
		"class 2": {slices.Concat(head, part(0xc4, append([]byte{0x20}, make([]byte, 16)...)...)), wrong}, "table 4": {slices.Concat(head, part(0xc4, append([]byte{4}, make([]byte, 16)...)...)), wrong},
		"few factors": {slices.Concat(head, part(0xdb, make([]byte, 64)...)), short}, "few wide factors": {slices.Concat(head, part(0xdb, append([]byte{0x10}, make([]byte, 127)...)...)), short}, "very wide factors": {slices.Concat(head, part(0xdb, append([]byte{0x20}, make([]byte, 192)...)...)), short},
		"an empty scan": {slices.Concat(whole, part(0xda)), short}, "a scan of nothing": {slices.Concat(whole, part(0xda, 1)), short}, "half a scan": {slices.Concat(whole, part(0xda, 1, 1)), short},
		"a scan of three, cut": {slices.Concat(whole, part(0xda, 3, 1, 0)), short}, "a byte after the factors": {slices.Concat(head, part(0xdb, append(eights[4:], 0)...)), short}, "another id": {slices.Concat(begin, part(0xc0, 8, 0, 8, 0, 8, 1, 7, 0x11, 0), end), short},
		"no codes": {slices.Concat(head, scan(1)), wrong}, "no others": {slices.Concat(head, first, scan(1)), wrong}, "codes 4": {slices.Concat(whole, part(0xda, 1, 1, 0x40, 0, 63, 0)), wrong}, "others 4": {slices.Concat(whole, part(0xda, 1, 1, 4, 0, 63, 0)), wrong},
		"a scan too many": {slices.Concat(whole, scan(1), []byte{0x44}, scan(1), []byte{0x44}, end), wrong}, "a component twice": {slices.Concat(whole, part(0xda, 2, 1, 0, 1, 0, 0, 63, 0), []byte{0x44}, end), wrong},
		"too large":    {slices.Concat(begin, part(0xc0, 8, 0x40, 1, 0x40, 1, 1, 1, 0x11, 0), end), "JPEG: an image of 16385×16385 pixels is too large"},
		"no such code": {slices.Concat(whole, scan(1), ones, end), wrong},
		"16 bits":      {slices.Concat(head, part(0xc4, append([]byte{0, 1}, append(make([]byte, 15), 16)...)...), rest, scan(1), make([]byte, 9), end), wrong},
		"far out":      {slices.Concat(head, first, part(0xc4, append([]byte{0x10, 1}, append(make([]byte, 15), 0xe1)...)...), scan(1), bytes.Repeat([]byte{0x40}, 9), end), wrong},
	} {
		if p, err := decodeJPEG(c.file); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, %v, want %s", name, p, err, c.want)
		}
	}
}

// TestJPEGCutOff checks that truncated files are decoded as far as possible, or are errors.
func TestJPEGCutOff(t *testing.T) {
	files := map[string][]byte{"restarts": slices.Concat(begin, eights, frame(2, 1), first, rest, part(0xdd, 0, 1), scan(1), []byte{0x47, 0xff, 0xd0, 0x47}, end)}
	for _, name := range []string{"420", "422", "444", "gray"} {
		b, err := os.ReadFile("testdata/" + name + ".jpg")
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
	}
	for name, b := range files {
		whole, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(b, []byte{0xff, 0xda})
		for n := range len(b) {
			p, err := Decode(b[:n])
			if n < at+8 && err == nil {
				t.Errorf("%s: %d bytes, without a scan, are an image", name, n)
			}
			if err == nil && (len(p.Pix) != len(whole.Pix) || n >= len(b)-2 && !bytes.Equal(p.Pix, whole.Pix)) {
				t.Errorf("%s: %d of %d bytes are another image", name, n, len(b))
			}
		}
	}
}

package imagefile

import (
	"image"
	"image/color"
	"io"
)

// gifImage returns the first frame of a file as PIL shows it without transparency. Go's package returns a frame without the rest of the image
// around it, and does not keep the color of transparent pixels.
func gifImage(m *image.Paletted, file io.ReaderAt) image.Image {
	table, size, clear := gifTable(file)
	out := *m
	out.Palette = make(color.Palette, len(m.Palette))
	for i, c := range m.Palette {
		out.Palette[i] = c
		if len(table) >= 3*(i+1) {
			out.Palette[i] = color.RGBA{table[3*i], table[3*i+1], table[3*i+2], 255}
		}
	}
	whole := image.Rectangle{Max: size}
	if m.Rect == whole || !m.Rect.In(whole) {
		return &out
	}
	full := image.NewPaletted(whole, out.Palette)
	if clear < len(out.Palette) {
		for i := range full.Pix {
			full.Pix[i] = uint8(clear)
		}
	}
	for y := m.Rect.Min.Y; y < m.Rect.Max.Y; y++ {
		copy(full.Pix[full.PixOffset(m.Rect.Min.X, y):], m.Pix[m.PixOffset(m.Rect.Min.X, y):][:m.Rect.Dx()])
	}
	return full
}

// gifTable returns the colors of the first frame, the size of the image, and the index of what is transparent, or else 0.
func gifTable(file io.ReaderAt) (table []byte, size image.Point, clear int) {
	r := io.NewSectionReader(file, 0, 1<<62)
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			return make([]byte, n)
		}
		return b
	}
	colors := func(flags byte) {
		if flags&0x80 != 0 {
			table = read(3 << (flags&7 + 1))
		}
	}
	head := read(13)
	size = image.Pt(int(head[6])|int(head[7])<<8, int(head[8])|int(head[9])<<8)
	for colors(head[10]); ; {
		switch read(1)[0] {
		case 0x2c: // the frame
			colors(read(9)[8])
			return table, size, clear
		case 0x21: // an extension, in blocks
			control := read(1)[0] == 0xf9
			for n := read(1)[0]; n > 0; n = read(1)[0] {
				if b := read(int(n)); control && n >= 4 && b[0]&1 != 0 {
					clear = int(b[3])
				}
			}
		default:
			return table, size, clear
		}
	}
}

package imagefile

import (
	"encoding/binary"
	"image"
	"io"
)

// TIFFTag returns a number of 16 bits from the first directory of a TIFF structure, which is also the format of Exif data.
func TIFFTag(f io.ReaderAt, tag uint16) (value int, ok bool) {
	b := make([]byte, 12)
	if n, _ := f.ReadAt(b[:8], 0); n < 8 {
		return 0, false
	}
	var order binary.ByteOrder = binary.BigEndian
	if b[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(b[4:]))
	if n, _ := f.ReadAt(b[:2], at); n < 2 {
		return 0, false
	}
	for i := range int64(order.Uint16(b)) {
		if n, _ := f.ReadAt(b, at+2+12*i); n < len(b) {
			return 0, false
		}
		if order.Uint16(b) == tag {
			return int(order.Uint16(b[8:])), true
		}
	}
	return 0, false
}

// faxImage inverts a fax in which black is zero, which Go's package takes for the usual kind.
func faxImage(m *image.Gray, file io.ReaderAt) image.Image {
	const compression, photometric = 259, 262
	c, _ := TIFFTag(file, compression)
	if p, ok := TIFFTag(file, photometric); !ok || p != 1 || c != 3 && c != 4 {
		return m
	}
	out := *m
	out.Pix = make([]uint8, len(m.Pix))
	for i, v := range m.Pix {
		out.Pix[i] = 255 - v
	}
	return &out
}

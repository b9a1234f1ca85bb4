package data

import (
	"encoding/binary"
	"image"
	"io"

	"github.com/graft-ml/graft/internal/imagefile"
	"golang.org/x/image/draw"
)

// orientation returns the Exif tag Orientation (0x0112) of a JPEG, PNG, WebP or TIFF file: how to turn the stored pixels for
// display, from 1 (not at all) to 8. It returns 1 for a file without the tag, or with one that cannot be read.
func orientation(f io.ReaderAt) int {
	head := make([]byte, 12)
	if n, _ := f.ReadAt(head, 0); n < len(head) {
		return 1
	}
	switch {
	case head[0] == 0xff && head[1] == 0xd8:
		return jpegOrientation(f)
	case string(head[:8]) == "\x89PNG\r\n\x1a\n":
		return chunkOrientation(f, 8, "eXIf", func(h []byte) (string, int64, int64) {
			n := int64(binary.BigEndian.Uint32(h))
			return string(h[4:8]), n, n + 12 // includes length, name and checksum
		})
	case string(head[:4]) == "RIFF" && string(head[8:]) == "WEBP":
		return chunkOrientation(f, 12, "EXIF", func(h []byte) (string, int64, int64) {
			n := int64(binary.LittleEndian.Uint32(h[4:]))
			return string(h[:4]), n, 8 + n + n%2
		})
	case string(head[:4]) == "II*\x00" || string(head[:4]) == "MM\x00*":
		return tiffOrientation(io.NewSectionReader(f, 0, 1<<62))
	}
	return 1
}

// jpegOrientation looks for the APP1 segment that starts with Exif.
func jpegOrientation(f io.ReaderAt) int {
	head := make([]byte, 10)
	for at := int64(2); ; {
		n, _ := f.ReadAt(head, at)
		if n < 4 || head[0] != 0xff || head[1] == 0xda { // the image itself begins
			return 1
		}
		size := int64(binary.BigEndian.Uint16(head[2:]))
		if head[1] == 0xe1 && n == len(head) && string(head[4:]) == "Exif\x00\x00" {
			return tiffOrientation(io.NewSectionReader(f, at+10, size-8))
		}
		at += 2 + size
	}
}

// chunkOrientation looks for a chunk by its name. part returns the name, the size of the data and the total size of a chunk from its
// first 8 bytes.
func chunkOrientation(f io.ReaderAt, at int64, name string, part func(head []byte) (string, int64, int64)) int {
	head := make([]byte, 8)
	for {
		if n, _ := f.ReadAt(head, at); n < len(head) {
			return 1
		}
		chunk, data, all := part(head)
		if chunk == name {
			skip := int64(8)
			if mark := make([]byte, 6); data > 6 {
				if _, err := f.ReadAt(mark, at+8); err == nil && string(mark) == "Exif\x00\x00" {
					skip, data = skip+6, data-6
				}
			}
			return tiffOrientation(io.NewSectionReader(f, at+skip, data))
		}
		at += all
	}
}

// tiffOrientation reads the tag from a TIFF structure, the format of Exif data.
func tiffOrientation(f io.ReaderAt) int {
	if v, ok := imagefile.TIFFTag(f, 0x0112); ok && v >= 1 && v <= 8 {
		return v
	}
	return 1
}

// turned applies an orientation to an image: 5 to 8 transpose it; then 2, 3, 6 and 7 mirror it left to right, and 3, 4, 7 and 8 top to
// bottom.
func turned(img image.Image, orientation int) image.Image {
	if orientation < 2 {
		return img
	}
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	swap := orientation >= 5
	if swap {
		w, h = h, w
	}
	left := orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7
	top := orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	row := image.NewRGBA(image.Rect(0, 0, b.Dx(), 1))
	for r := range b.Dy() {
		draw.Draw(row, row.Bounds(), img, image.Pt(b.Min.X, b.Min.Y+r), draw.Src)
		for c := range b.Dx() {
			x, y := c, r
			if swap {
				x, y = r, c
			}
			if left {
				x = w - 1 - x
			}
			if top {
				y = h - 1 - y
			}
			copy(to.Pix[to.PixOffset(x, y):][:4], row.Pix[4*c:][:4])
		}
	}
	return to
}

package imagefile

import (
	"bufio"
	"io"
)

// JPEGSamples returns how many samples the planes of a JPEG file have, in whole units of blocks, and whether the file is progressive: its coefficients,
// four bytes for each sample, are then kept until it is decoded. It returns 0 if r is not such a file.
func JPEGSamples(r io.Reader) (samples int64, progressive bool) {
	in := bufio.NewReader(r)
	next := func() int {
		b, err := in.ReadByte()
		if err != nil {
			return -1
		}
		return int(b)
	}
	if next() != 0xff || next() != 0xd8 {
		return 0, false
	}
	for {
		marker := next()
		if marker < 0 {
			return 0, false
		}
		if marker != 0xff {
			continue
		}
		for marker == 0xff {
			marker = next()
		}
		if marker <= 1 || marker >= 0xd0 && marker <= 0xd9 {
			continue
		}
		n := (next()<<8 | next()) - 2
		if n < 0 || marker == 0xda {
			return 0, false
		}
		if marker < 0xc0 || marker > 0xc2 {
			if _, err := in.Discard(n); err != nil {
				return 0, false
			}
			continue
		}
		frame := make([]byte, n)
		if _, err := io.ReadFull(in, frame); err != nil || n < 6 || n < 6+3*int(frame[5]) {
			return 0, false
		}
		return frameSamples(frame), marker == 0xc2
	}
}

// frameSamples returns the number of samples that a frame's header declares.
func frameSamples(frame []byte) (n int64) {
	height, width := int64(frame[1])<<8|int64(frame[2]), int64(frame[3])<<8|int64(frame[4])
	across, down := int64(1), int64(1) // of a unit, in blocks
	for c := range int(frame[5]) {
		h, v := int64(frame[7+3*c]>>4), int64(frame[7+3*c]&15)
		across, down, n = max(across, h), max(down, v), n+h*v
	}
	units := func(side, blocks int64) int64 { return (side + 8*blocks - 1) / (8 * blocks) }
	return n * 64 * units(width, across) * units(height, down)
}

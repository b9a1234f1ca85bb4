package imagefile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
)

// pnm is the head of a file in one of Netpbm's formats: P2 and P5 are gray, P3 and P6 have colors;
// the first of each is written in decimals.
type pnm struct {
	kind               byte
	width, height, max int
}

var errPNMShort = errors.New("PNM: the file is too short")

func init() {
	for _, magic := range []string{"P2", "P3", "P5", "P6"} {
		image.RegisterFormat("pnm", magic, imagePNM, configPNM)
	}
}

func configPNM(r io.Reader) (image.Config, error) {
	p, err := readPNM(bufio.NewReader(io.LimitReader(r, 1<<16)))
	return image.Config{ColorModel: color.RGBAModel, Width: p.width, Height: p.height}, err
}

func imagePNM(r io.Reader) (image.Image, error) {
	in := bufio.NewReader(r)
	p, err := readPNM(in)
	if err != nil {
		return nil, err
	}
	if p.width == 0 || p.height == 0 || p.width > maxPixels/p.height {
		return nil, fmt.Errorf("PNM: an image of %d×%d pixels is empty or too large", p.width, p.height)
	}
	out := image.NewRGBA(image.Rect(0, 0, p.width, p.height))
	fillAlpha(out.Pix)
	return out, p.samples(in, out.Pix, 4)
}

// decodePNM reads all of a file.
func decodePNM(data []byte) (*RGB, error) {
	in := bufio.NewReader(bytes.NewReader(data))
	p, err := readPNM(in)
	if err != nil {
		return nil, err
	}
	if len(data) < p.width*p.height { // a sample takes a byte
		return nil, errPNMShort
	}
	out := &RGB{p.width, p.height, make([]uint8, 3*p.width*p.height)}
	return out, p.samples(in, out.Pix, 3)
}

func readPNM(r *bufio.Reader) (p pnm, err error) {
	var magic [2]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil {
		return p, errPNMShort
	}
	p.kind = magic[1]
	for _, v := range []*int{&p.width, &p.height, &p.max} {
		if *v, err = decimal(r); err != nil {
			return p, err
		}
	}
	if p.max < 1 || p.max > 255 {
		return p, fmt.Errorf("PNM: samples up to %d are not supported", p.max)
	}
	return p, nil
}

// decimal reads a number after white space and comments, and the one byte that follows it.
func decimal(r *bufio.Reader) (n int, err error) {
	digits := 0
	for {
		c, err := r.ReadByte()
		switch {
		case err == io.EOF && digits > 0:
			return n, nil
		case err == io.EOF:
			return 0, errPNMShort
		case err != nil:
			return 0, err
		case c >= '0' && c <= '9' && n < 1<<24:
			n, digits = 10*n+int(c-'0'), digits+1
		case c == '#' && digits == 0:
			for c != '\n' && err == nil {
				c, err = r.ReadByte()
			}
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			return 0, fmt.Errorf("PNM: %q is not a number", c)
		case digits > 0:
			return n, nil
		}
	}
}

// samples reads the pixels, of step bytes each.
func (p pnm) samples(r *bufio.Reader, pix []uint8, step int) error {
	each := 1
	if p.kind == '3' || p.kind == '6' {
		each = 3
	}
	for at := 0; at < p.width*p.height*step; at += step {
		for k := range each {
			v, err := 0, error(nil)
			if p.kind < '4' {
				v, err = decimal(r)
			} else {
				var b byte
				b, err = r.ReadByte()
				v = int(b)
			}
			if err == io.EOF {
				err = errPNMShort
			}
			if err != nil {
				return err
			}
			pix[at+k] = clamp((v*255 + p.max/2) / p.max)
		}
		if each == 1 {
			pix[at+1], pix[at+2] = pix[at], pix[at]
		}
	}
	return nil
}

package imagefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// pnm is the head of a file in one of Netpbm's formats: P2 and P5 are gray, P3 and P6 have colors;
// the first of each is written in decimals.
type pnm struct {
	kind               byte
	width, height, max int
	pixels             []byte
}

func readPNM(data []byte) (p pnm, err error) {
	r := bytes.NewReader(data[2:])
	p.kind = data[1]
	for _, v := range []*int{&p.width, &p.height, &p.max} {
		if *v, err = decimal(r); err != nil {
			return p, fmt.Errorf("PNM: %w", err)
		}
	}
	if p.max < 1 || p.max > 255 {
		return p, fmt.Errorf("PNM: samples up to %d are not supported", p.max)
	}
	p.pixels = data[len(data)-r.Len():]
	return p, nil
}

// decimal reads a number after white space and comments, and the one byte that follows it.
func decimal(r *bytes.Reader) (n int, err error) {
	digits := 0
	for {
		c, err := r.ReadByte()
		switch {
		case err == io.EOF && digits > 0:
			return n, nil
		case err != nil:
			return 0, errors.New("the file is too short")
		case c >= '0' && c <= '9' && n < 1<<24:
			n, digits = 10*n+int(c-'0'), digits+1
		case c == '#' && digits == 0:
			for c != '\n' && err == nil {
				c, err = r.ReadByte()
			}
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			return 0, fmt.Errorf("%q is not a number", c)
		case digits > 0:
			return n, nil
		}
	}
}

func sizePNM(data []byte) (width, height int, err error) {
	p, err := readPNM(data)
	return p.width, p.height, err
}

func decodePNM(data []byte) (*RGB, error) {
	p, err := readPNM(data)
	if err != nil {
		return nil, err
	}
	each := 1
	if p.kind == '3' || p.kind == '6' {
		each = 3
	}
	samples := p.pixels
	if p.kind < '4' {
		if samples, err = p.decimals(each); err != nil {
			return nil, err
		}
	}
	if len(samples) < each*p.width*p.height {
		return nil, errors.New("PNM: the file is too short")
	}
	out := &RGB{p.width, p.height, make([]uint8, 3*p.width*p.height)}
	for i := range out.Pix {
		at := i
		if each == 1 {
			at = i / 3
		}
		out.Pix[i] = clamp((int(samples[at])*255 + p.max/2) / p.max)
	}
	return out, nil
}

// decimals reads samples that are written as text.
func (p pnm) decimals(each int) ([]byte, error) {
	n := each * p.width * p.height
	if n > len(p.pixels) {
		return nil, errors.New("PNM: the file is too short")
	}
	samples, r := make([]byte, n), bytes.NewReader(p.pixels)
	for i := range samples {
		v, err := decimal(r)
		if err != nil {
			return nil, fmt.Errorf("PNM: %w", err)
		}
		samples[i] = clamp(v)
	}
	return samples, nil
}

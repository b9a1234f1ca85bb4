package imagefile

import (
	"errors"
	"fmt"
	"image/jpeg"
)

// decodeJPEG decodes sequential files of one or three components; others (progressive ones, those
// for print) are left to Go's own package.
func decodeJPEG(data []byte) (*RGB, error) {
	d := &jpegFile{data: data}
	err := d.read()
	if errors.Is(err, errOtherJPEG) {
		width, height, err := goSize(jpeg.DecodeConfig)(data)
		if err != nil {
			return nil, err
		}
		release, err := reserve(perCoefficient, width, height, block)
		if err != nil {
			return nil, err
		}
		defer release()
		d.parts = nil
		return goDecode(jpeg.Decode, "jpeg")(data)
	}
	if err != nil {
		return nil, fmt.Errorf("JPEG: %w", err)
	}
	return d.imagefile(), nil
}

var (
	errOtherJPEG = errors.New("not sequential")
	errJPEGShort = errors.New("the file is too short")
	errJPEGCode  = errors.New("the data are invalid")
)

// jpegFile is a file that is being read.
type jpegFile struct {
	data          []byte
	at            int
	width, height int
	parts         []jpegPart
	most          [2]int // the largest sampling factors: across, down
	quant         [4][64]int32
	codes         [2][4]*jpegCodes // for the first and for the other coefficients
	restart       int              // blocks of all parts between two restarts, 0: none
	plain         bool             // three components are red, green and blue already
}

// jpegPart is a component: its samples are a plane of whole blocks.
type jpegPart struct {
	id            byte
	factor        [2]int // sampling: across, down
	quant         int
	first, rest   int // tables of codes
	stride, rows  int // of the plane
	width, height int // size of the image
	plane         []uint8
	last          int32
}

// segment reads the marker at the current position and its data.
func (d *jpegFile) segment() (marker byte, body []byte, err error) {
	for d.at < len(d.data) && d.data[d.at] != 0xff {
		d.at++
	}
	for d.at < len(d.data) && d.data[d.at] == 0xff {
		d.at++
	}
	if d.at >= len(d.data) {
		return 0, nil, errJPEGShort
	}
	marker = d.data[d.at]
	d.at++
	if marker == 0xd8 || marker == 0xd9 || marker >= 0xd0 && marker <= 0xd7 || marker == 1 {
		return marker, nil, nil
	}
	if d.at+2 > len(d.data) {
		return 0, nil, errJPEGShort
	}
	n := int(d.data[d.at])<<8 | int(d.data[d.at+1])
	if n < 2 || d.at+n > len(d.data) {
		return 0, nil, errJPEGShort
	}
	body = d.data[d.at+2 : d.at+n]
	d.at += n
	return marker, body, nil
}

func (d *jpegFile) read() error {
	scans := 0
	for {
		marker, body, err := d.segment()
		if err != nil {
			if scans > 0 { // without its end
				return nil
			}
			return err
		}
		switch {
		case marker == 0xc0 || marker == 0xc1:
			err = d.frame(body)
		case marker == 0xc4:
			err = d.huffman(body)
		case marker >= 0xc2 && marker <= 0xcf && marker != 0xc8 && marker != 0xcc:
			err = errOtherJPEG
		case marker == 0xdb:
			err = d.tables(body)
		case marker == 0xdd && len(body) >= 2:
			d.restart = int(body[0])<<8 | int(body[1])
		case marker == 0xee && len(body) >= 12 && string(body[:5]) == "Adobe":
			d.plain = body[11] == 0
		case marker == 0xda:
			if scans > 0 && scans == len(d.parts) { // each component is in one scan
				return errJPEGCode
			}
			err = d.scan(body)
			scans++
		case marker == 0xd9:
			if scans == 0 {
				return errJPEGShort
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// frame reads sizes and components.
func (d *jpegFile) frame(b []byte) error {
	if len(b) < 6 || len(b) < 6+3*int(b[5]) {
		return errJPEGShort
	}
	d.height, d.width = int(b[1])<<8|int(b[2]), int(b[3])<<8|int(b[4])
	if b[0] != 8 || b[5] != 1 && b[5] != 3 || d.width == 0 || d.height == 0 || d.parts != nil {
		return errOtherJPEG
	}
	if d.width > maxPixels/d.height { // Size may have seen another frame
		return fmt.Errorf("an image of %d×%d pixels is too large", d.width, d.height)
	}
	for i := range int(b[5]) {
		c := b[6+3*i:]
		p := jpegPart{id: c[0], factor: [2]int{int(c[1] >> 4), int(c[1] & 15)}, quant: int(c[2] & 3)}
		if b[5] == 1 {
			p.factor = [2]int{1, 1}
		}
		for k, f := range p.factor {
			if f < 1 || f > 4 {
				return errJPEGCode
			}
			d.most[k] = max(d.most[k], f)
		}
		d.parts = append(d.parts, p)
	}
	across, down := d.units()
	for i := range d.parts {
		p := &d.parts[i]
		if d.most[0]%p.factor[0] != 0 || d.most[1]%p.factor[1] != 0 {
			return errOtherJPEG
		}
		p.stride, p.rows = 8*across*p.factor[0], 8*down*p.factor[1]
		p.width = (d.width*p.factor[0] + d.most[0] - 1) / d.most[0]
		p.height = (d.height*p.factor[1] + d.most[1] - 1) / d.most[1]
		p.plane = make([]uint8, p.stride*p.rows)
	}
	return nil
}

// units returns the numbers of MCUs (groups of blocks of all components) per row and per column.
func (d *jpegFile) units() (across, down int) {
	return (d.width + 8*d.most[0] - 1) / (8 * d.most[0]), (d.height + 8*d.most[1] - 1) / (8 * d.most[1])
}

// tables reads quantization tables.
func (d *jpegFile) tables(b []byte) error {
	for len(b) > 0 {
		wide, t := int(b[0]>>4), int(b[0]&3)
		if b = b[1:]; len(b) < 64*(1+wide) || wide > 1 {
			return errJPEGShort
		}
		for i := range 64 {
			if wide == 1 {
				d.quant[t][zigzag[i]] = int32(b[2*i])<<8 | int32(b[2*i+1])
			} else {
				d.quant[t][zigzag[i]] = int32(b[i])
			}
		}
		b = b[64*(1+wide):]
	}
	return nil
}

// zigzag maps the order of coefficients in files to their positions in a block.
var zigzag = func() (z [64]int) {
	x, y, up := 0, 0, true
	for i := range z {
		z[i] = 8*y + x
		switch {
		case up && x == 7:
			y, up = y+1, false
		case up && y == 0:
			x, up = x+1, false
		case up:
			x, y = x+1, y-1
		case y == 7:
			x, up = x+1, true
		case x == 0:
			y, up = y+1, true
		default:
			x, y = x-1, y+1
		}
	}
	return z
}()

package imagefile

import (
	"bytes"
	"image"

	"golang.org/x/image/webp"
)

// decodeWebP: lossy files hold chroma at half the size.
func decodeWebP(data []byte) (*RGB, error) {
	m, err := webp.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	switch m := m.(type) {
	case *image.YCbCr:
		return fromVP8(m), nil
	case *image.NYCbCrA:
		return fromVP8(&m.YCbCr), nil
	}
	return fromImage(m), nil
}

// fromVP8 interpolates chroma between the centers of blocks of 2×2 pixels and converts from the
// limited range of video.
func fromVP8(m *image.YCbCr) *RGB {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	p := &RGB{w, h, make([]uint8, 3*w*h)}
	u, v := doubled(m.Cb, m.CStride, w, h), doubled(m.Cr, m.CStride, w, h)
	for y := range h {
		for x := range w {
			i := y*w + x
			luma, cb, cr := int(m.Y[y*m.YStride+x])*19077>>8, int(u[i]), int(v[i])
			p.Pix[3*i] = clamp((luma + cr*26149>>8 - 14234) >> 6)
			p.Pix[3*i+1] = clamp((luma - cb*6419>>8 - cr*13320>>8 + 8708) >> 6)
			p.Pix[3*i+2] = clamp((luma + cb*33050>>8 - 17685) >> 6)
		}
	}
	return p
}

// doubled brings a plane of half the size to w×h: each sample becomes (9a + 3b + 3c + d)/16 of the
// nearest four, in the two roundings of libwebp.
func doubled(c []uint8, stride, w, h int) []uint8 {
	out := make([]uint8, w*h)
	cw, ch := (w+1)/2, (h+1)/2
	for y := range h {
		near, far := y/2, y/2-1
		if y%2 == 1 {
			far = y/2 + 1
		}
		far = min(max(far, 0), ch-1)
		a, b, line := c[near*stride:], c[far*stride:], out[y*w:][:w]
		for x := range line {
			i, j := x/2, x/2-1
			if x%2 == 1 {
				j = x/2 + 1
			}
			if j < 0 || j >= cw {
				line[x] = uint8((3*int(a[i]) + int(b[i]) + 2) >> 2)
				continue
			}
			n, side, below, across := int(a[i]), int(a[j]), int(b[i]), int(b[j])
			middle := (n + side + below + across + 8 + 2*(side+below)) >> 3
			line[x] = uint8((middle + n) >> 1)
		}
	}
	return out
}

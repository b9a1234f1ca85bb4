package imagefile

// image puts the components together.
func (d *jpegFile) imagefile() *RGB {
	out := &RGB{d.width, d.height, make([]uint8, 3*d.width*d.height)}
	var planes [3]plane
	for i := range planes {
		p := &d.parts[min(i, len(d.parts)-1)]
		planes[i] = plane{p.plane, p.stride, p.width, p.height, d.most[0] / p.factor[0], d.most[1] / p.factor[1]}
	}
	coding := jpegCoding
	if len(d.parts) == 1 || d.plain {
		coding.convert = interleave
	}
	coding.paint(out.Pix, 3, d.width, d.height, &planes)
	return out
}

var jpegCoding = coding{jpegLine, jpegColors}

// jpegColors converts with 16 bits after the point: 1.402, 0.34414, 0.71414 and 1.772.
func jpegColors(pix []uint8, step int, ys, bs, rs []uint8) {
	const half = 1 << 15
	bs, rs = bs[:len(ys)], rs[:len(ys)]
	for i, y := range ys {
		y, b, r := int32(y), int32(bs[i])-128, int32(rs[i])-128
		px := pix[i*step:][:3]
		px[0] = clamp(y + (91881*r+half)>>16)
		px[1] = clamp(y + (-22554*b-46802*r+half)>>16)
		px[2] = clamp(y + (116130*b+half)>>16)
	}
}

// interleave writes red, green and blue.
func interleave(pix []uint8, step int, a, b, c []uint8) {
	for i := range a {
		px := pix[i*step:][:3]
		px[0], px[1], px[2] = a[i], b[i], c[i]
	}
}

// jpegLine interpolates samples at half the resolution, three parts of the nearer one and one of the farther in each direction; others
// are repeated.
func jpegLine(p *plane, y int, out []uint8, sums []int32) {
	row := p.samples[y/p.down*p.stride:][:p.width]
	smooth := p.across == 2 && p.width > 2
	tall := p.down == 2 && (smooth || p.across == 1)
	if tall {
		far := p.samples[min(max(y/2-1+y%2*2, 0), p.height-1)*p.stride:][:p.width]
		sums = sums[:p.width]
		for x, v := range row {
			sums[x] = 3*int32(v) + int32(far[x])
		}
	}
	switch {
	case smooth && tall:
		widen(out, sums, 8, 7, 4)
	case smooth:
		sums = sums[:p.width]
		for x, v := range row {
			sums[x] = int32(v)
		}
		widen(out, sums, 1, 2, 2)
		out[0] = row[0]
		if len(out)%2 == 0 {
			out[len(out)-1] = row[p.width-1]
		}
	case tall:
		for x := range out {
			out[x] = uint8((sums[x] + 1 + int32(y%2)) >> 2)
		}
	case p.across == 1:
		copy(out, row)
	default:
		for x := range out {
			out[x] = row[x/p.across]
		}
	}
}

// widen interpolates a line to twice its length. left and right are added to the sums for the pixels on that side of a sample.
func widen(out []uint8, sums []int32, left, right int32, shift uint) {
	last := len(sums) - 1
	out[0] = uint8((4*sums[0] + left) >> shift)
	before := sums[0]
	for i := range last {
		at, next := sums[i], sums[i+1]
		if i > 0 {
			out[2*i] = uint8((3*at + before + left) >> shift)
		}
		out[2*i+1] = uint8((3*at + next + right) >> shift)
		before = at
	}
	out[2*last] = uint8((3*sums[last] + before + left) >> shift)
	if 2*last+1 < len(out) {
		out[2*last+1] = uint8((4*sums[last] + right) >> shift)
	}
}

package imagefile

// image puts the components together.
func (d *jpegFile) imagefile() *RGB {
	out := &RGB{d.width, d.height, make([]uint8, 3*d.width*d.height)}
	var planes [3][]uint8
	for i := range planes {
		p := &d.parts[min(i, len(d.parts)-1)]
		planes[i] = p.grown(d.most[0]/p.factor[0], d.most[1]/p.factor[1], d.width, d.height)
	}
	for i := range d.width * d.height {
		a, b, c := int(planes[0][i]), int(planes[1][i]), int(planes[2][i])
		px := out.Pix[3*i:][:3]
		if len(d.parts) == 1 || d.plain {
			px[0], px[1], px[2] = uint8(a), uint8(b), uint8(c)
			continue
		}
		// 16 bits after the point: 1.402, 0.34414, 0.71414 and 1.772
		const half = 1 << 15
		b, c = b-128, c-128
		px[0] = clamp(a + (91881*c+half)>>16)
		px[1] = clamp(a + (-22554*b-46802*c+half)>>16)
		px[2] = clamp(a + (116130*b+half)>>16)
	}
	return out
}

// grown brings the samples to w×h. Twice as many are interpolated, three parts of the nearer sample
// and one of the farther in each direction; otherwise they are repeated.
func (p *jpegPart) grown(across, down, w, h int) []uint8 {
	out := make([]uint8, w*h)
	smooth := across == 2 && p.width > 2
	sum := make([]int, p.width)
	for y := range h {
		line := out[y*w:][:w]
		row := p.plane[y/down*p.stride:][:p.width]
		weight := 1
		for x, v := range row {
			sum[x] = int(v)
		}
		if down == 2 && (smooth || across == 1) {
			far := p.plane[min(max(y/2-1+y%2*2, 0), p.height-1)*p.stride:]
			weight = 4
			for x, v := range row {
				sum[x] = 3*int(v) + int(far[x])
			}
		}
		switch {
		case smooth:
			widen(line, sum, weight)
		case weight == 4:
			for x := range line {
				line[x] = uint8((sum[x] + 1 + y%2) >> 2)
			}
		default:
			for x := range line {
				line[x] = row[x/across]
			}
		}
	}
	return out
}

// widen interpolates a line to twice its length; the sums are weight times too large.
func widen(line []uint8, sum []int, weight int) {
	left, right, shift := 1, 2, 2
	if weight == 4 {
		left, right, shift = 8, 7, 4
	}
	for x := range line {
		i := x / 2
		j, round := i-1, left
		if x%2 == 1 {
			j, round = i+1, right
		}
		if j = min(max(j, 0), len(sum)-1); j == i && weight == 1 {
			round = 0
		}
		line[x] = uint8((3*sum[i] + sum[j] + round) >> shift)
	}
}

package imagefile

var webpCoding = coding{webpLine, webpColors}

// webpColors converts from the limited range of video.
func webpColors(pix []uint8, step int, ys, us, vs []uint8) {
	us, vs = us[:len(ys)], vs[:len(ys)]
	for i, y := range ys {
		luma, cb, cr := int32(y)*19077>>8, int32(us[i]), int32(vs[i])
		px := pix[i*step:][:3]
		px[0] = clamp((luma + cr*26149>>8 - 14234) >> 6)
		px[1] = clamp((luma - cb*6419>>8 - cr*13320>>8 + 8708) >> 6)
		px[2] = clamp((luma + cb*33050>>8 - 17685) >> 6)
	}
}

// webpLine interpolates samples at half the resolution: a pixel is (9a + 3b + 3c + d)/16 of the nearest four, in the two roundings of
// libwebp.
func webpLine(p *plane, y int, out []uint8, _ []int32) {
	if p.across == 1 {
		copy(out, p.samples[y*p.stride:])
		return
	}
	near, far := y/2, min(max(y/2-1+y%2*2, 0), p.height-1)
	a, b := p.samples[near*p.stride:][:p.width], p.samples[far*p.stride:][:p.width]
	edge := func(i int) uint8 { return uint8((3*int32(a[i]) + int32(b[i]) + 2) >> 2) }
	out[0] = edge(0)
	for i := range p.width - 1 {
		n, side, below, across := int32(a[i]), int32(a[i+1]), int32(b[i]), int32(b[i+1])
		sum := n + side + below + across + 8
		out[2*i+1] = uint8(((sum+2*(side+below))>>3 + n) >> 1)
		if 2*i+2 < len(out) {
			out[2*i+2] = uint8(((sum+2*(n+across))>>3 + side) >> 1)
		}
	}
	if len(out)%2 == 0 {
		out[len(out)-1] = edge(p.width - 1)
	}
}

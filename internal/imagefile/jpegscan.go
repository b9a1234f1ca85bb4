package imagefile

// jpegCodes is a table of Huffman codes: those of n bits are first[n] … last[n], and the first of
// them stands for values[from[n]].
type jpegCodes struct {
	first, last, from [17]int
	values            []byte
}

// huffman reads tables of codes.
func (d *jpegFile) huffman(b []byte) error {
	for len(b) > 0 {
		if len(b) < 17 {
			return errJPEGShort
		}
		class, table := b[0]>>4, b[0]&15
		if class > 1 || table > 3 {
			return errJPEGCode
		}
		t, code, n := &jpegCodes{}, 0, 0
		for bits := 1; bits <= 16; bits++ {
			count := int(b[bits])
			t.first[bits], t.last[bits], t.from[bits] = code, code+count-1, n
			code, n = (code+count)<<1, n+count
		}
		if b = b[17:]; len(b) < n {
			return errJPEGShort
		}
		t.values = b[:n]
		d.codes[class][table] = t
		b = b[n:]
	}
	return nil
}

// jpegBits reads the coded part of a file bit by bit. Behind its end follow zeros.
type jpegBits struct {
	data  []byte
	at    int
	value uint32
	count int
}

func (r *jpegBits) bit() int {
	if r.count == 0 {
		r.value, r.count = 0, 8
		if r.at < len(r.data) {
			c := r.data[r.at]
			if c != 0xff {
				r.value = uint32(c)
				r.at++
			} else if r.at+1 < len(r.data) && r.data[r.at+1] == 0 {
				r.value = 0xff
				r.at += 2
			} // a marker ends the coded part
		}
	}
	r.count--
	return int(r.value>>r.count) & 1
}

// number reads n bits; those that begin with 0 are negative.
func (r *jpegBits) number(n int) int32 {
	v := int32(0)
	for range n {
		v = v<<1 | int32(r.bit())
	}
	if n > 0 && v < 1<<(n-1) {
		v -= 1<<n - 1
	}
	return v
}

func (r *jpegBits) code(t *jpegCodes) (byte, error) {
	code := 0
	for bits := 1; bits <= 16; bits++ {
		code = code<<1 | r.bit()
		if code <= t.last[bits] && code >= t.first[bits] {
			return t.values[t.from[bits]+code-t.first[bits]], nil
		}
	}
	return 0, errJPEGCode
}

// scan decodes the blocks of some components.
func (d *jpegFile) scan(b []byte) error {
	if len(b) < 1 || len(b) < 1+2*int(b[0]) || d.parts == nil {
		return errJPEGShort
	}
	var parts []*jpegPart
	for i := range int(b[0]) {
		for k := range d.parts {
			if p := &d.parts[k]; p.id == b[1+2*i] {
				p.first, p.rest, p.last = int(b[2+2*i]>>4), int(b[2+2*i]&15), 0
				if p.first > 3 || p.rest > 3 || d.codes[0][p.first] == nil || d.codes[1][p.rest] == nil {
					return errJPEGCode
				}
				parts = append(parts, p)
			}
		}
	}
	if len(parts) > len(d.parts) {
		return errJPEGCode
	}
	r := &jpegBits{data: d.data, at: d.at}
	across, down := d.units()
	alone := len(parts) == 1 // then only the blocks that the image covers are there
	if alone {
		across, down = (parts[0].width+7)/8, (parts[0].height+7)/8
	}
	for i := range across * down {
		if d.restart > 0 && i > 0 && i%d.restart == 0 {
			r.again()
			for _, p := range parts {
				p.last = 0
			}
		}
		x, y := i%across, i/across
		for _, p := range parts {
			wide, high := p.factor[0], p.factor[1]
			if alone {
				wide, high = 1, 1
			}
			for k := range wide * high {
				if err := d.block(r, p, x*wide+k%wide, y*high+k/wide); err != nil {
					return err
				}
			}
		}
	}
	d.at = r.at
	return nil
}

// again continues after the next restart marker.
func (r *jpegBits) again() {
	r.count = 0
	for r.at+1 < len(r.data) && !(r.data[r.at] == 0xff && r.data[r.at+1] >= 0xd0 && r.data[r.at+1] <= 0xd7) {
		r.at++
	}
	r.at += 2
}

// block decodes the block in column x and row y of a component.
func (d *jpegFile) block(r *jpegBits, p *jpegPart, x, y int) error {
	var c [64]int32
	q := &d.quant[p.quant]
	n, err := r.code(d.codes[0][p.first])
	if err != nil || n > 15 {
		return errJPEGCode
	}
	p.last += r.number(int(n))
	c[0] = p.last * q[0]
	for i := 1; i < 64; i++ {
		v, err := r.code(d.codes[1][p.rest])
		if err != nil {
			return err
		}
		if i += int(v >> 4); v&15 == 0 {
			if v>>4 != 15 {
				break
			}
			continue
		}
		if i > 63 {
			return errJPEGCode
		}
		at := zigzag[i]
		c[at] = r.number(int(v&15)) * q[at]
	}
	inverseCosine(&c, p.plane[8*(y*p.stride+x):], p.stride)
	return nil
}

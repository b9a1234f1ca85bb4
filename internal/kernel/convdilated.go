package kernel

// A convolution whose taps lie d apart treats every d-th row and column by itself: it is one of d·d times as many, smaller
// images with taps side by side. So winograd computes those with dilation, too.

// undilated is the convolution of the smaller images, if g has a dilation and the images' borders fall on a multiple of it.
// They are as large as the largest among them, and 0 where they have no points.
func (g *geometry) undilated() (geometry, bool) {
	u, d := *g, g.dil
	if d.size() == 1 || d[0] != 1 || g.stride.size() > 1 || g.in[0] != 1 || g.out[0] != 1 || g.pad[0] != 0 {
		return u, false
	}
	for i := range d {
		if g.pad[i]%d[i] != 0 {
			return u, false
		}
		u.in[i], u.out[i], u.pad[i], u.dil[i] = cdiv(g.in[i], d[i]), cdiv(g.out[i], d[i]), g.pad[i]/d[i], 1
	}
	u.n *= d.size()
	u.imageY = u.oc * u.out.size()
	return u, true
}

// dilatedForward is forwardWinograd with dilation.
func dilatedForward[T Float](p *Pool, t *winogradTile, g *geometry, x, w []T, e Epilogue[T], y []T, scratch Scratch[T]) bool {
	u, _ := g.undilated()
	small := divide(p, g.dil, g.n, g.c, g.in, u.in, x, scratch)
	first, last := e, Epilogue[T]{}
	if e.Add != nil {
		first.Add, first.Act = nil, Activation{}
		last.Add, last.Act = e.Add, e.Act
	}
	result := take(scratch, u.n*u.imageY+slack)
	if !forwardWinograd(p, t, &u, small, w, first, result, scratch) {
		return false
	}
	unite(p, g.dil, g.n, g.oc, u.out, g.out, result, y, g.imageY)
	if e.Add != nil {
		last.Planes(p, g.oc, g.out.size(), y[:g.sizeY()])
	}
	return true
}

// dilatedData is dataWinograd with dilation.
func dilatedData[T Float](p *Pool, t *winogradTile, g *geometry, dy, w, dx []T, scratch Scratch[T]) bool {
	u, _ := g.undilated()
	small := divide(p, g.dil, g.n, g.oc, g.out, u.out, dy, scratch)
	result := take(scratch, u.n*u.c*u.in.size()+slack)
	if !dataWinograd(p, t, &u, small, w, result, scratch) {
		return false
	}
	unite(p, g.dil, g.n, g.c, u.in, g.in, result, dx, g.c*g.in.size())
	return true
}

// dilatedWeight is weightWinograd with dilation.
func dilatedWeight[T Float](p *Pool, t *winogradTile, g *geometry, x, dy, dw []T, scratch Scratch[T]) bool {
	u, _ := g.undilated()
	left := divide(p, g.dil, g.n, g.c, g.in, u.in, x, scratch)
	right := divide(p, g.dil, g.n, g.oc, g.out, u.out, dy, scratch)
	return weightWinograd(p, t, &u, left, right, dw, scratch)
}

// divide makes of n images of so many planes the smaller ones: [image][row][column][plane], where row and column are what is
// left after division by d.
func divide[T Float](p *Pool, d triple, n, planes int, from, to triple, x []T, scratch Scratch[T]) []T {
	small, parts := take(scratch, n*d.size()*planes*to.size()), d.size()
	p.Range(n*parts, max(1, elementGrain/(planes*to.size())), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			image, r, c := i/parts, i%parts/d[2], i%d[2]
			dst := small[i*planes*to.size():][:planes*to.size()]
			rows, cols := max(0, cdiv(from[1]-r, d[1])), max(0, cdiv(from[2]-c, d[2]))
			if rows < to[1] || cols < to[2] {
				clear(dst)
			}
			if rows > 0 && cols > 0 {
				pick(planes, rows, cols, x[image*planes*from.size()+r*from[2]+c:], from.size(), d[1]*from[2], d[2], dst, to.size(), to[2])
			}
		}
	})
	return small
}

// unite is the way back from divide; the images of y are imageY elements apart. A vector may be read behind small.
func unite[T Float](p *Pool, d triple, n, planes int, from, to triple, small, y []T, imageY int) {
	p.Range(n*planes, max(1, elementGrain/to.size()), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			image, c := i/planes, i%planes
			for r := range to[1] {
				at := ((image*d[1]+r%d[1])*d[2]*planes+c)*from.size() + r/d[1]*from[2]
				weave(1, min(d[2], to[2]), to[2], small[at:], planes*from.size(), y[image*imageY+c*to.size()+r*to[2]:], 0)
			}
		}
	})
}

package convolution

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// The gradient of a strided convolution with respect to the input, which is also a transposed
// convolution, decomposes into phases (see phase). They share one loaded block of dy. Phases that
// differ only in the column make up whole rows of dx: their tiles are computed one after another, and
// interleaved when they are stored.

// line is the set of phases that make up the same rows of dx, in the order of their columns.
type line struct {
	z, y   int // position of the first such row
	phases []linePhase
	alike  bool // all phases have the same taps
}

// linePhase is a phase of a line.
type linePhase struct {
	points []int // flat indices of the kernel points that reach it
	taps   []int // and the indices of their taps in lines.taps
}

// lines has all lines of a gradient, and their taps.
type lines struct {
	all  []line
	taps []Triple
	sums int // total number of taps of all phases
}

var knownLines kernel.BoundedCache[geometry, *lines]

// lines returns the lines for the gradient of a convolution with respect to the input.
func (g *geometry) lines() *lines {
	if g.ker.Size() > mostCached {
		return g.findLines()
	}
	return knownLines.Get(*g, g.findLines)
}

func (g *geometry) findLines() *lines {
	l, known := &lines{}, map[Triple]int{}
	for _, ph := range g.phases() {
		if ph.first[2] == 0 {
			l.all = append(l.all, line{z: ph.first[0], y: ph.first[1], alike: true})
		}
		to := &l.all[len(l.all)-1]
		q := linePhase{points: ph.kernel, taps: make([]int, 0, len(ph.taps))}
		for _, tap := range ph.taps {
			i, ok := known[tap]
			if !ok {
				i, l.taps = len(l.taps), append(l.taps, tap)
				known[tap] = i
			}
			q.taps = append(q.taps, i)
		}
		to.phases = append(to.phases, q)
		to.alike = to.alike && slices.Equal(q.taps, to.phases[0].taps)
		l.sums += len(q.taps)
	}
	return l
}

// merges reports whether tiles combine rows of several phases, because the last channels are too few to fill one.
func (l *line) merges(channels int) bool {
	return l.alike && channels < tileRows && len(l.phases) > 1 && len(l.phases[0].taps) > 0
}

// newLines returns the gradient with respect to the input, without weights and shift.
func newLines[T kernel.Float](g *geometry, dy, dx []T) *direct[T] {
	in, l := g.in.Size(), g.lines()
	return &direct[T]{
		n: g.n, groups: g.groups, inputs: g.og, outputs: g.cg,
		in: g.out, stride: Triple{1, 1, 1}, taps: l.taps, lines: l, rows: g.in,
		grid: Triple{kernel.CeilDiv(g.in[0], g.stride[0]), kernel.CeilDiv(g.in[1], g.stride[1]), kernel.CeilDiv(g.in[2], g.stride[2])},
		x:    dy, y: dx, planeY: in, imageY: g.c * in,
		step: Triple{g.stride[0] * g.in[1] * g.in[2], g.stride[1] * g.in[2], g.stride[2]},
	}
}

// dataLines computes dx.
func dataLines[T kernel.Float](p *kernel.Pool, g *geometry, dy, w, dx []T, scratch kernel.Scratch[T]) {
	d := newLines(g, dy, dx)
	if len(d.taps) == 0 { // no point is reached
		kernel.Clear(p, dx)
		return
	}
	d.shift = packShift[T](g.groups, g.cg, nil, scratch)
	d.pack = func(group, panel int, dst []T) { packLines(g, d.lines, group, panel, w, nil, dst) }
	d.run(p, scratch)
}

// packLines packs a panel of input channels for all lines, multiplied by scale, which is per input channel or nil.
func packLines[T kernel.Float](g *geometry, l *lines, group, panel int, w, scale, dst []T) {
	first := panel * tileRows
	channels := min(tileRows, g.cg-first)
	if scale != nil {
		scale = scale[group*g.cg+first:][:channels]
	}
	for i := range l.all {
		ln := &l.all[i]
		if ln.merges(channels) {
			dst = dst[packMerged(g, ln, group, first, channels, w, scale, dst):]
			continue
		}
		for _, ph := range ln.phases {
			if len(ph.points) == 0 {
				continue
			}
			part := dst[:g.og*len(ph.points)*tileRows]
			packData(g, ph.points, group, panel, w, part)
			if scale != nil {
				scalePanel(scale, part)
			}
			dst = dst[len(part):]
		}
	}
}

// packMerged packs the weights of a line with merged phases: row [phase][channel] is in tile row/tileRows. It returns the size
// reserved for a line, which may be larger than its weights.
func packMerged[T kernel.Float](g *geometry, ln *line, group, first, channels int, w, scale, dst []T) int {
	ker, taps := g.ker.Size(), len(ln.phases[0].points)
	tile := g.og * taps * tileRows
	clear(dst[:len(ln.phases)*tile])
	for i, ph := range ln.phases {
		for c := range channels {
			row, f := i*channels+c, T(1)
			if scale != nil {
				f = scale[c]
			}
			to := dst[row/tileRows*tile+row%tileRows:]
			for o := range g.og {
				from := w[((group*g.og+o)*g.cg+first+c)*ker:]
				for q, point := range ph.points {
					to[(o*taps+q)*tileRows] = from[point] * f
				}
			}
		}
	}
	return len(ln.phases) * tile
}

// offsets appends to off the offsets, from the position of an output, of the inputs that the weights of all phases multiply.
func (l *lines) offsets(inputs, channel int, taps []int, off []int32) []int32 {
	for _, ln := range l.all {
		for _, ph := range ln.phases {
			for c := range inputs {
				for _, t := range ph.taps {
					off = append(off, int32(c*channel+taps[t]))
				}
			}
		}
	}
	return off
}

// sweepLines computes the lines of a part for the panels p0 to p1; see sweep. t is scratch for a tile of each phase of a line.
func (d *direct[T]) sweepLines(s *directPlan, w *directWorker, at part, group, p0, p1 int, a, b, t []T) {
	width := 3 * tileLanes()
	for p := p0; p < p1; p++ {
		d.pool.Check()
		a, _ := d.panel(group, p, a)
		first := p * tileRows
		channels := min(tileRows, d.outputs-first)
		shift := d.shift[group*d.panels()*tileRows+first:][:tileRows]
		to := d.base(at, group) + first*d.planeY
		off := s.off
		for i := range d.lines.all {
			ln := &d.lines.all[i]
			sums := 0
			for _, ph := range ln.phases {
				sums += d.inputs * len(ph.taps)
			}
			for i := range len(w.tiles) - 1 {
				tile, runs := &w.tiles[i], w.of(i)
				if len(runs) == 0 || at.z*d.step[0]/(d.rows[1]*d.rows[2])+ln.z >= d.rows[0] {
					continue
				}
				d.lineTiles(ln, channels, tile.n, a, b[tile.at:], off, t, width, shift)
				elementwise.Activate(d.act, t[:(len(ln.phases)*channels-1)*width+tile.n])
				d.interleaveRuns(ln, channels, runs, t, width, to)
			}
			a, off = a[sums*tileRows:], off[sums:]
		}
	}
}

// lineTiles computes a tile of n columns for each phase of a line: row [phase][channel] of t.
func (d *direct[T]) lineTiles(ln *line, channels, n int, a, b []T, off []int32, t []T, width int, shift []T) {
	if ln.merges(channels) {
		k := d.inputs * len(ln.phases[0].taps)
		rows := len(ln.phases) * channels
		for r := 0; r < rows; r += tileRows {
			var shifts [tileRows]T
			for i := range shifts {
				shifts[i] = shift[(r+i)%channels]
			}
			tileOrShift(min(tileRows, rows-r), n, a[r*k:], b, off[:k:len(off)+tilePrefetch], t[r*width:], width, shifts[:], d.clip)
		}
		return
	}
	for i, ph := range ln.phases {
		k := d.inputs * len(ph.taps)
		tileOrShift(channels, n, a, b, off[:k:len(off)+tilePrefetch], t[i*channels*width:], width, shift, d.clip)
		a, off = a[k*tileRows:], off[k:]
	}
}

// tileOrShift is tile for a panel that may have no taps.
func tileOrShift[T kernel.Float](rows, n int, a, b []T, off []int32, c []T, ldc int, shift []T, clip *[2]T) {
	if len(off) > 0 {
		tile(rows, n, a, tileRows, b, off, c, ldc, shift, clip)
		return
	}
	for r, v := range shift[:rows] {
		if clip != nil {
			v = between(v, clip)
		}
		row := c[r*ldc:][:n]
		for i := range row {
			row[i] = v
		}
	}
}

// interleaveRuns stores the runs of the tiles of a line. to is the offset in y of the first channel's first grid point.
func (d *direct[T]) interleaveRuns(ln *line, channels int, runs []tileRun, t []T, width, to int) {
	phases, wide := len(ln.phases), d.rows[2]
	for _, r := range runs {
		at := to + r.to
		if at/wide%d.rows[1]+ln.y >= d.rows[1] { // some phases have one row less than others
			continue
		}
		count := r.n // of a line of a single phase, which may be several rows
		if phases > 1 {
			count = min(r.n*d.step[2], wide-at%wide)
		}
		at += (ln.z*d.rows[1] + ln.y) * wide
		interleave(channels, phases, count, t[r.from:], width, d.y[at:], d.planeY)
	}
}

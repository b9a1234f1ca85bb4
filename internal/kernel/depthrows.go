package kernel

import "math"

// Windows of 7×7 with stride 1: planes are copied between borders of zeros, a few at a time, and go through block by block
// of rows.

// rowsSide is the side of these windows.
const rowsSide = 7

// rowsFit tells whether a convolution has one kernel for each output channel, and such windows.
func rowsFit(g *geometry) bool {
	inside := func(pad int) bool { return pad >= 0 && pad < rowsSide }
	return simd && g.cg == 1 && g.ker == triple{1, rowsSide, rowsSide} && g.in[0] == 1 && g.out[0] == 1 && g.pad[0] == 0 &&
		g.stride.size() == 1 && g.dil.size() == 1 && inside(g.pad[1]) && inside(g.pad[2]) && min(g.in.size(), g.out.size()) > 0
}

// depthRowsForward computes y = conv(x, w), finished as e says, for shapes that rowsFit.
func depthRowsForward(p *Pool, g *geometry, x, w []float32, e Epilogue[float32], y []float32) {
	in, out := g.in.size(), g.out.size()
	clip, later := e.bounds()
	rest := Epilogue[float32]{Add: e.Add, Act: later}
	if e.Add != nil {
		clip, rest.Act = nil, e.Act
	}
	if clip == nil {
		inf := float32(math.Inf(1))
		clip = &[2]float32{-inf, inf}
	}
	// The kernels read more than a small plane has.
	lanes := min(tileLanes(), cdiv(g.out[2], 8)*8)
	pitch, high := g.out[2]+rowsSide-1, g.out[1]+rowsSide-1
	size := high * pitch
	behind := max(0, 8-g.out[1])*pitch + lanes
	rows, cols := min(g.in[1], high-g.pad[1]), min(g.in[2], pitch-g.pad[2])
	p.Range(g.n*g.c, planeGrain(rowsSide*rowsSide*out*g.og), func(lo, hi int) {
		batch := max(1, min(hi-lo, batchElements/size))
		buffer := borrow[float32](batch*size + behind)
		defer giveBack(buffer)
		clear((*buffer)[:batch*size+behind])
		for i := lo; i < hi; i += batch {
			planes := min(batch, hi-i)
			if rows > 0 && cols > 0 {
				pick(planes, rows, cols, x[i*in:], in, g.in[2], 1, (*buffer)[g.pad[1]*pitch+g.pad[2]:], size, pitch)
			}
			for q := range planes * g.og {
				o := i*g.og + q
				c, to := o%g.oc, y[o*out:][:out]
				depthRows(g, (*buffer)[q/g.og*size:], pitch, w[c*rowsSide*rowsSide:], &e, c, clip, to)
				if !rest.none() {
					rest.row(to, c, o*out)
				}
			}
		}
	})
}

// depthRows computes a plane of channel c from one with borders, whose rows are pitch elements apart.
func depthRows(g *geometry, x []float32, pitch int, w []float32, e *Epilogue[float32], c int, clip *[2]float32, y []float32) {
	var scaled [rowsSide * rowsSide]float32
	copy(scaled[:], w)
	if e.Scale != nil {
		for i := range scaled {
			scaled[i] *= e.Scale[c]
		}
	}
	var shift float32
	if e.Shift != nil {
		shift = e.Shift[c]
	}
	_ = x[(max(8, g.out[1])+rowsSide-2)*pitch]
	if avx512 && g.out[2] > 8 {
		depthRows7Z(g.out[1], g.out[2], &x[0], pitch*4, &y[0], g.out[2]*4, &scaled[0], &shift, &clip[0])
	} else {
		depthRows7Y(g.out[1], g.out[2], &x[0], pitch*4, &y[0], g.out[2]*4, &scaled[0], &shift, &clip[0])
	}
}

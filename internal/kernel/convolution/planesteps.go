package convolution

import "github.com/graft-ml/graft/internal/kernel"

// Windows of 3×3 and 5×5 in place: planes are read without a copy, and masks replace the border. Vectors
// run over contiguous outputs; a plane as wide as its result is treated as one long row.

// planeSteps is the sequence of vectors in which kernels process a plane.
type planeSteps struct {
	in, out, pad, stride Triple // the first numbers are 1, 1, 0 and 1
	side                 int    // side of a window
	down                 int    // rows between taps
	exact                bool   // masks exclude lanes without an output, and one more mask has the lanes with one
	steps                []planeStep
	masks                []uint8
	sets                 []maskSet
}

// planeStep is a vector of outputs.
type planeStep struct {
	from, to int32 // byte offsets in the plane: of the first tap's input, and of the result
	masks    int64 // byte offset in all masks; < 0: every tap reads inside the plane
}

// maskSet identifies a set of masks: by the column that the first lane's first tap reads, by its row near the
// first or last rows of the plane, and by the number of outputs.
type maskSet struct {
	column, above, below, outputs int
	masks                         int64
}

// planeLimit is the maximum number of outputs of a plane: planning larger ones takes too long.
const planeLimit = 1 << 16

// planesFit reports whether a convolution has one kernel for each output channel, and windows of 3×3 that planSteps
// supports.
func planesFit(g *geometry) bool { return g.ker[2] == 3 && windowsFit(g) }

// windowsFit is planesFit for windows of 5×5, too.
func windowsFit(g *geometry) bool {
	in, out := g.in, g.out
	return kernel.SIMD && g.cg == 1 && (g.ker == Triple{1, 3, 3} || g.ker == Triple{1, 5, 5}) && in[0] == 1 && out[0] == 1 && g.pad[0] == 0 && g.dil[2] == 1 &&
		g.stride[2] <= 2 && max(in.Size(), out.Size()) <= planeLimit && min(in.Size(), out.Size()) > 0
}

// planeKey has the parameters that determine the steps.
type planeKey struct {
	in, out, pad, stride Triple
	side, down, lanes    int
	exact                bool
}

var knownSteps kernel.BoundedCache[planeKey, *planeSteps]

// planSteps finds the steps for a convolution that windowsFit.
func planSteps(g *geometry, exact bool) *planeSteps {
	k := planeKey{g.in, g.out, g.pad, g.stride, g.ker[2], g.dil[1], tileLanes(), exact}
	return knownSteps.Get(k, func() *planeSteps { return k.plan() })
}

func (k planeKey) plan() *planeSteps {
	in, out, stride, lanes := k.in, k.out, k.stride, k.lanes
	d := &planeSteps{in: in, out: out, pad: k.pad, stride: stride, side: k.side, down: k.down, exact: k.exact, masks: make([]uint8, 1)}
	if in[2] == out[2] && stride[1] == 1 && stride[2] == 1 {
		for i := 0; i < out.Size(); i += lanes {
			d.step(i/out[2], i%out[2], out[2])
		}
		return d
	}
	for r := range out[1] {
		for c := 0; c < out[2]; c += lanes / stride[2] {
			d.step(r, c, 0)
		}
	}
	return d
}

// step adds the outputs from (row, column) on. If width is not 0, they continue in the next row.
func (d *planeSteps) step(row, column, width int) {
	first := row*d.out[2] + column
	s := planeStep{to: int32(4 * first)}
	outputs := 0 // number of outputs of the vector
	switch {
	case d.exact && width > 0:
		outputs = min(tileLanes(), d.out.Size()-first)
	case d.exact:
		outputs = min(tileLanes()/d.stride[2], d.out[2]-column)
	}
	row, column = row*d.stride[1]-d.pad[1], column*d.stride[2]-d.pad[2]
	s.from = int32(4 * (row*d.in[2] + column))
	// Upper bound of the row of the last lane's last tap.
	reach := (d.side - 1) * d.down
	if width > 0 {
		reach += tileLanes()/width + 1
	}
	set := maskSet{column: column, above: min(row, 0), below: min(d.in[1]-1-row-reach, 0), outputs: outputs}
	for _, q := range d.sets {
		if set.masks = q.masks; q == set {
			s.masks = q.masks
			d.steps = append(d.steps, s)
			return
		}
	}
	set.masks = d.mask(row, column, width, outputs)
	s.masks = set.masks
	d.sets, d.steps = append(d.sets, set), append(d.steps, s)
}

// mask adds masks for lanes whose first taps read from (row, column) on, for the given number of outputs.
func (d *planeSteps) mask(row, column, width, outputs int) int64 {
	lanes := tileLanes()
	taps := d.side * d.side
	inside := make([][16]bool, taps+1)
	whole := true
	for lane := range lanes {
		r, c := row, column+lane
		if width > 0 {
			r, c = row+(c+d.pad[2])/width, (c+d.pad[2])%width-d.pad[2]
		}
		wanted := !d.exact || lane%d.stride[2] == 0 && lane/d.stride[2] < outputs
		inside[taps][lane] = wanted
		for t := range taps {
			y, x := r+t/d.side*d.down, c+t%d.side
			inside[t][lane] = wanted && y >= 0 && y < d.in[1] && x >= 0 && x < d.in[2]
			whole = whole && inside[t][lane]
		}
	}
	if whole {
		return -1
	}
	at := int64(len(d.masks))
	for _, lane := range inside {
		if lanes == 16 {
			bits := 0
			for i, in := range lane {
				if in {
					bits |= 1 << i
				}
			}
			d.masks = append(d.masks, uint8(bits), uint8(bits>>8))
			continue
		}
		for _, in := range lane[:lanes] {
			m := uint8(0)
			if in {
				m = 255
			}
			d.masks = append(d.masks, m, m, m, m)
		}
	}
	return at
}

// each calls f for the planes lo to hi, in runs of consecutive planes. A step stores beyond its plane; the
// excess is overwritten by the next planes. Results of the last planes before end must therefore be computed
// in a buffer and copied.
func (d *planeSteps) each(lo, hi, end int, together func(i int) int, f func(i, planes int, apart bool)) {
	safe := max(lo, min(hi, end-kernel.CeilDiv(tileLanes(), d.out.Size())))
	for i := lo; i < hi; {
		stop := hi
		if i < safe {
			stop = safe
		}
		planes := min(stop-i, together(i))
		f(i, planes, i >= safe)
		i += planes
	}
}

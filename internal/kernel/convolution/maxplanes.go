package convolution

import (
	"bytes"
	"unsafe"

	"github.com/graft-ml/graft/internal/kernel"
)

// maxPlanes is maxWindows for windows that planesFit, without positions in x.
func maxPlanes(p *kernel.Pool, g *geometry, x, y []float32, taps []uint8) {
	d, in, out := planSteps(g, false), g.in.Size(), g.out.Size()
	offsets := g.taps()
	p.Range(g.n*g.oc, PlaneGrain(4*out), func(lo, hi int) {
		d.each(lo, hi, hi, func(i int) int { return hi - i }, func(i, planes int, apart bool) {
			from, to := x[i*in:][:planes*in], y[i*out:][:planes*out]
			if !apart {
				d.max(planes, from, to, tapsAt(taps, i*out))
				return
			}
			buffer := kernel.Borrow[float32](2 * (planes*out + tileLanes()))
			result, which := (*buffer)[:planes*out], asBytes((*buffer)[planes*out+tileLanes():])
			if taps == nil {
				which = nil
			}
			d.max(planes, from, result, which)
			copy(to, result)
			copy(tapsAt(taps, i*out), which[:min(len(which), planes*out)])
			kernel.GiveBack(buffer)
		})
		if taps != nil {
			g.nameEmpty(offsets, taps[lo*out:hi*out])
		}
	})
}

// tapsAt is taps from an element on, or nil.
func tapsAt(taps []uint8, at int) []uint8 {
	if taps == nil {
		return nil
	}
	return taps[at:]
}

// asBytes views s as bytes.
func asBytes(s []float32) []uint8 {
	return unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(s))), 4*len(s))
}

// max finds the maxima of planes that follow one another, and unless it is nil taps.
func (d *planeSteps) max(planes int, x, y []float32, taps []uint8) {
	n, steps, masks, row, in, out := len(d.steps), &d.steps[0].from, &d.masks[0], 4*d.down*d.in[2], 4*d.in.Size(), 4*d.out.Size()
	switch two := d.stride[2] == 2; {
	case taps == nil && kernel.AVX512 && two:
		maxPlanesZ2(planes, steps, n, masks, &x[0], row, in, &y[0], out)
	case taps == nil && kernel.AVX512:
		maxPlanesZ1(planes, steps, n, masks, &x[0], row, in, &y[0], out)
	case taps == nil && two:
		maxPlanesY2(planes, steps, n, masks, &x[0], row, in, &y[0], out)
	case taps == nil:
		maxPlanesY1(planes, steps, n, masks, &x[0], row, in, &y[0], out)
	case kernel.AVX512 && two:
		maxTapsZ2(planes, steps, n, masks, &x[0], row, in, &y[0], out, &taps[0])
	case kernel.AVX512:
		maxTapsZ1(planes, steps, n, masks, &x[0], row, in, &y[0], out, &taps[0])
	case two:
		maxTapsY2(planes, steps, n, masks, &x[0], row, in, &y[0], out, &taps[0])
	default:
		maxTapsY1(planes, steps, n, masks, &x[0], row, in, &y[0], out, &taps[0])
	}
}

// nameEmpty sets the tap of windows without a maximum so far to their first tap inside the plane.
func (g *geometry) nameEmpty(offsets []Triple, taps []uint8) {
	for at := 0; ; at++ {
		next := bytes.IndexByte(taps[at:], NoTap)
		if next < 0 {
			return
		}
		at += next
		taps[at] = uint8(g.firstInside(g.from(at%g.out.Size()), offsets))
	}
}

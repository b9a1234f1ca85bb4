package convolution

import "github.com/graft-ml/graft/internal/kernel"

// packForward packs a panel of the weights [groups*outputs, k] as [k][tileRows], multiplied by
// scale, which is per output channel or nil.
func packForward[T kernel.Float](outputs, k, group, panel int, w, scale, dst []T) {
	first := group*outputs + panel*tileRows
	rows := min(tileRows, outputs-panel*tileRows)
	packPanel(rows, k, w[first*k:], dst)
	if scale != nil {
		scalePanel(scale[first:][:rows], dst)
	}
}

// scalePanel multiplies the rows of a panel by scale.
func scalePanel[T kernel.Float](scale, panel []T) {
	for r, f := range scale {
		for q := r; q < len(panel); q += tileRows {
			panel[q] *= f
		}
	}
}

// packPanel transposes up to tileRows rows of k elements; missing rows are 0.
func packPanel[T kernel.Float](rows, k int, src, dst []T) {
	src, dst = src[:rows*k], dst[:k*tileRows]
	if rows < tileRows {
		clear(dst)
	}
	transposeRows(rows, k, src, k, dst, tileRows)
}

// packData packs a panel of input channels of the weights [groups*og, cg, ker] for the gradient with
// respect to the input; the inner dimension is (output channel, tap), of the given taps.
func packData[T kernel.Float](g *geometry, points []int, group, panel int, w, dst []T) {
	ker, c := g.ker.Size(), panel*tileRows
	rows := min(tileRows, g.cg-c)
	if rows < tileRows {
		clear(dst)
	}
	w = w[(group*g.og*g.cg+c)*ker:]
	if ker == 1 {
		pick(1, g.og, rows, w, 0, g.cg, 1, dst, 0, tileRows)
		return
	}
	for o := range g.og {
		src := w[o*g.cg*ker:][:rows*ker]
		if len(points) == ker { // all taps, already in order
			transposeRows(rows, ker, src, ker, dst, tileRows)
			dst = dst[ker*tileRows:]
			continue
		}
		for _, point := range points {
			for r := range rows {
				dst[r] = src[r*ker+point]
			}
			dst = dst[tileRows:]
		}
	}
}

// packShift distributes the shift of output channels over the panels; nil is 0.
func packShift[T kernel.Float](groups, outputs int, shift []T, scratch func(n int) []T) []T {
	panels := kernel.CeilDiv(outputs, tileRows)
	dst := kernel.Take(scratch, groups*panels*tileRows)
	clear(dst)
	if shift != nil {
		for g := range groups {
			copy(dst[g*panels*tileRows:], shift[g*outputs:][:outputs])
		}
	}
	return dst
}

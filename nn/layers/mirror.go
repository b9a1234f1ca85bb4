package layers

import (
	"math/rand/v2"

	"github.com/graft-ml/graft/nn"
)

// mirror is the weight that computes gain·x and −gain·x from x in each group or, unless splitting,
// gain·(a−b) from their results.
type mirror struct {
	groups int
	gain   float64
	split  bool
}

// Fill writes a weight [out, in per group, kernel…].
func (m mirror) Fill(v []float64, shape []int, _ *rand.Rand) {
	if len(shape) < 2 {
		return
	}
	kernel, middle := 1, 0
	for _, k := range shape[2:] {
		kernel *= k
		middle = middle*k + k/2
	}
	rows, cols := shape[0]/m.groups, shape[1]
	half := min(rows, cols) // channels of a group
	for o := range shape[0] {
		r := o % rows
		for _, c := range []int{r, r - half, r + half} {
			if c < 0 || c >= cols || m.split && c > r || !m.split && c < r {
				continue
			}
			x := m.gain
			if c != r {
				x = -x
			}
			v[(o*cols+c)*kernel+middle] = x
		}
	}
}

// sizeAt returns the length of an axis of a value that is mirrored.
func sizeAt(v *nn.Value, axis int) int {
	if v == nil || v.Type().Rank() < 2 {
		panic("layers: only a value of at least two axes can be mirrored")
	}
	if axis < 0 {
		axis += v.Type().Rank()
	}
	return v.Type().Shape[axis].Size
}

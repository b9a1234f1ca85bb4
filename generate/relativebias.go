package generate

import (
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// relative reports whether a mask is a trained bias for each relative position in a window, and adds it to the layer.
func (s *speller) relative(m *mask) bool {
	if m.where || m.not || s.queries != s.keys || !s.stacked() {
		return false
	}
	v := m.value
	for v != nil && v.Param() == nil && v.Producer() != nil && moves(v.Producer()) && len(readersOf(v)) == 1 {
		v = v.Producer().In(0)
	}
	table := s.weight(v)
	if table == nil || table.Dims() != 2 || table.Shape()[1] != s.heads {
		return false
	}
	numbers := numbered(v.Type().DType, []int(table.Shape()))
	if numbers == nil {
		return false
	}
	feed := maps.Clone(s.feed)
	feed[v.Name()] = numbers
	got, err := s.g.Eval(s.ctx, feed, m.value.Name())
	if err != nil {
		return false
	}
	x, _ := got[m.value.Name()].(*tensor.Dense)
	found, err := dtype.Float64s(x)
	if err != nil {
		return false
	}
	for height := 1; height <= s.queries; height++ {
		width := s.queries / height
		if height*width != s.queries || (2*height-1)*(2*width-1) != table.Shape()[0] {
			continue
		}
		var want []float64
		for h := range s.heads {
			for i := range s.queries {
				for j := range s.keys {
					row := (i/width-j/width+height-1)*(2*width-1) + i%width - j%width + width - 1
					want = append(want, float64(row*s.heads+h))
				}
			}
		}
		if slices.Equal(found, want) {
			s.layer.Window = []int{height, width}
			s.weights["relative_position_bias_table"] = table
			return true
		}
	}
	return false
}

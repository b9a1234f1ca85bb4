package generate

import (
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// partitioned recognizes the layer that partitions images into windows, or the one that reverses it. It ends in a Reshape
// that reads a transposition of a Reshape to six axes.
func partitioned(r *reader, n *nn.Node) *layer {
	if n.In(0) == nil || n.In(0).Producer() == nil || !only(n.In(0), n) {
		return nil
	}
	swap := n.In(0).Producer()
	if !ofStandard(swap, "Transpose") || !slices.Equal(attrs[std.TransposeConfig](swap).Perm, []int{0, 1, 3, 2, 4, 5}) {
		return nil
	}
	split := swap.In(0).Producer()
	if split == nil || !ofStandard(split, "Reshape") || !only(swap.In(0), swap) || r.tensor(split.In(0)) != nil {
		return nil
	}
	x := split.In(0)
	from, six, to := x.Type(), swap.In(0).Type(), n.Out(0).Type()
	s, ok := sizes(six, 1)
	if !ok || len(s) != 5 {
		return nil
	}
	image, _ := sizes(from, 1)
	whole, _ := sizes(to, 1)
	var partition, reverse nn.Layer
	if slices.Equal(image, []int{s[0] * s[1], s[2] * s[3], s[4]}) {
		length := []int{s[1] * s[3], s[4]}
		switch {
		case slices.Equal(whole, append([]int{s[0] * s[2]}, length...)):
			partition = layers.WindowPartition{Size: evenly([]int{s[1], s[3]}, 1)}
		case slices.Equal(whole, length):
			partition = layers.WindowPartition{Size: evenly([]int{s[1], s[3]}, 1), Flat: true}
		}
	}
	if last, ok := sizes(from, from.Rank()-1); ok && last[0] == s[4] && from.Rank() <= 4 && slices.Equal(whole, []int{s[0] * s[2], s[1] * s[3], s[4]}) {
		reverse = layers.WindowReverse{Size: evenly([]int{s[2], s[3]}, 1), Height: whole[0], Width: whole[1]}
	}
	if partition == nil && reverse == nil {
		return nil
	}
	l := partition
	if square, back := s[1] == s[3], s[2] == s[3]; partition == nil || reverse != nil && (back && !square || back == square && r.spelled[x.Producer()] != nil) {
		l = reverse // the sizes allow both layers: prefer the one with square windows, or the reverse one after an attention
	}
	made := layerOf(l, "", n, x, nil)
	made.nodes = []*nn.Node{split, swap, n}
	return made
}

// sizes returns the lengths of the axes starting at from; ok is false if one is not known.
func sizes(t op.Type, from int) (list []int, ok bool) {
	if t.Unranked || t.Rank() <= from || from < 0 {
		return nil, false
	}
	for _, d := range t.Shape[from:] {
		if !fixed(d) {
			return nil, false
		}
		list = append(list, d.Size)
	}
	return list, true
}

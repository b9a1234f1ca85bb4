package cli

import (
	"slices"

	"github.com/graft-ml/graft/train/data"
)

// among numbers the classes of folders as known does, where it has all of them.
func (s *samples) among(known []string) {
	if s.folders == nil || slices.Equal(known, s.classes) {
		return
	}
	to := make([]int, len(s.classes))
	for i, name := range s.classes {
		if to[i] = slices.Index(known, name); to[i] < 0 {
			return
		}
	}
	for _, list := range [][]data.ImageFile{s.folders.Items, s.folders.Val} {
		for i := range list {
			list[i].Class = to[list[i].Class]
		}
	}
	s.classes, s.folders.Classes = known, known
}

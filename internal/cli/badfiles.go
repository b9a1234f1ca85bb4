package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graft-ml/graft/train/data"
)

// leaveBad finds images that cannot be decoded before training starts, and skips them if there are few.
func (d *dataset) leaveBad(ctx context.Context, path string, s *samples) error {
	if s.folders == nil && s.masks == nil && s.tags == nil && s.pairs == nil {
		return nil
	}
	if !(d.skipBad >= 0 && d.skipBad <= 1) {
		return fmt.Errorf("--skip-bad %v: want a fraction from 0 to 1", d.skipBad)
	}
	bad, n, err := s.corrupt(ctx)
	if err != nil || len(bad) == 0 {
		return err
	}
	if share := float64(len(bad)) / float64(n); share > d.skipBad {
		var list strings.Builder
		for i, b := range bad {
			if i == mostNamed {
				fmt.Fprintf(&list, "\n  and %d more", len(bad)-i)
				break
			}
			fmt.Fprintf(&list, "\n  %s", strings.TrimPrefix(b.Err.Error(), "data: "))
		}
		return fmt.Errorf("%s: %d of %d images are corrupt, --skip-bad %.2g leaves them out:%s", path, len(bad), n, math.Ceil(100*share)/100, &list)
	}
	for _, b := range bad {
		d.notes = append(d.notes, "left out: "+strings.TrimPrefix(b.Err.Error(), "data: "))
	}
	if len(bad) == n {
		return fmt.Errorf("%s: all %d images are corrupt", path, n)
	}
	if s.masks != nil {
		s.masks.Drop(bad...)
		return nil
	}
	if s.pairs != nil {
		s.pairs.drop(bad)
		return nil
	}
	if s.tags != nil {
		s.tags.Drop(bad...)
		return nil
	}
	f := s.folders
	f.Drop(bad...)
	for i, c := range f.Classes {
		if !slices.ContainsFunc(f.Items, func(p data.ImageFile) bool { return p.Class == i }) {
			return fmt.Errorf("%s: all images of the class %s are corrupt", path, c)
		}
	}
	return nil
}

// corrupt lists the images that cannot be decoded, out of n.
func (s *samples) corrupt(ctx context.Context) (bad []data.BadItem, n int, err error) {
	switch {
	case s.masks != nil:
		n = len(s.masks.Items) + len(s.bad)
		bad, err = s.masks.Corrupt(ctx)
		return slices.Concat(s.bad, bad), n, err
	case s.pairs != nil:
		bad, err = s.pairs.corrupt(ctx)
		return bad, len(s.pairs.of), err
	case s.tags != nil:
		bad, err = s.tags.Corrupt(ctx)
		return bad, len(s.tags.Items), err
	}
	bad, err = s.folders.Corrupt(ctx)
	return bad, len(s.folders.Items) + len(s.folders.Val), err
}

// mostNamed is how many corrupt images an error names.
const mostNamed = 20

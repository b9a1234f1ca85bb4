package data

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
)

// BadItem is an image that cannot be decoded, or whose mask cannot be.
type BadItem struct {
	ImageFile
	Err error // the error names the file
}

// decodable returns an error if an image file cannot be decoded.
func decodable(path string) error {
	_, release, err := decode(path)
	if err == nil {
		release()
	}
	return err
}

// Corrupt decodes every image of f, including the validation folder, and returns those that cannot be decoded, in the
// order of f.
func (f *Folders) Corrupt(ctx context.Context) ([]BadItem, error) {
	all := slices.Concat(f.Items, f.Val)
	return badItems(ctx, all, func(i ImageFile) error {
		return decodable(i.Path)
	})
}

// Corrupt decodes every image of t and returns those that cannot be decoded, in the order of t, with class −1.
func (t *Tagged) Corrupt(ctx context.Context) ([]BadItem, error) {
	all := make([]ImageFile, len(t.Items))
	for i, item := range t.Items {
		all[i] = ImageFile{Path: item.Path, Class: -1}
	}
	return badItems(ctx, all, func(i ImageFile) error {
		return decodable(i.Path)
	})
}

// Corrupt decodes every image of m and its mask, and returns the images of the pairs that cannot be decoded, in the
// order of m, with class −1.
func (m *Masks) Corrupt(ctx context.Context) ([]BadItem, error) {
	all, mask := make([]ImageFile, len(m.Items)), make(map[string]MaskItem, len(m.Items))
	for i, item := range m.Items {
		all[i], mask[item.Image] = ImageFile{Path: item.Image, Class: -1}, item
	}
	return badItems(ctx, all, func(i ImageFile) error {
		_, _, release, err := mask[i.Path].decode()
		if err == nil {
			release()
		}
		return err
	})
}

// badItems lists the items for which check returns an error. check is called from several goroutines. If file handles or memory run out,
// that is not the item's fault: it is checked again, alone.
func badItems(ctx context.Context, all []ImageFile, check func(ImageFile) error) ([]BadItem, error) {
	errs := make([]error, len(all))
	next := make(chan int)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				errs[i] = check(all[i])
			}
		})
	}
	for i := range all {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	group.Wait()
	var bad []BadItem
	for i, err := range errs {
		if full := (*budget.Error)(nil); disk.Exhausted(err) || errors.As(err, &full) {
			if err = check(all[i]); disk.Exhausted(err) {
				return nil, fmt.Errorf("data: images cannot be checked: %w", err)
			}
		}
		if err != nil {
			bad = append(bad, BadItem{all[i], err})
		}
	}
	return bad, ctx.Err()
}

// Drop removes images.
func (f *Folders) Drop(bad ...BadItem) {
	f.Items, f.Val = without(f.Items, bad, ImageFile.file), without(f.Val, bad, ImageFile.file)
}

// Drop removes images.
func (t *Tagged) Drop(bad ...BadItem) { t.Items = without(t.Items, bad, TaggedItem.file) }

// Drop removes images and their masks.
func (m *Masks) Drop(bad ...BadItem) { m.Items = without(m.Items, bad, MaskItem.file) }

func (i ImageFile) file() string  { return i.Path }
func (i TaggedItem) file() string { return i.Path }
func (i MaskItem) file() string   { return i.Image }

// without returns the items whose files are not in bad.
func without[T any](items []T, bad []BadItem, file func(T) string) []T {
	drop := make(map[string]bool, len(bad))
	for _, b := range bad {
		drop[b.Path] = true
	}
	return slices.DeleteFunc(slices.Clone(items), func(i T) bool { return drop[file(i)] })
}

package data

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// BadItem is a picture that cannot be decoded.
type BadItem struct {
	Item
	Err error // names the file
}

// Corrupt decodes every picture of f, of the validation folder too, and lists those that cannot be, in the order of f.
func (f *Folders) Corrupt(ctx context.Context) ([]BadItem, error) {
	all := slices.Concat(f.Items, f.Val)
	errs := make([]error, len(all))
	next := make(chan int)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				_, errs[i] = decode(all[i].Path)
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
		if err != nil {
			bad = append(bad, BadItem{all[i], err})
		}
	}
	return bad, ctx.Err()
}

// Drop leaves pictures out.
func (f *Folders) Drop(bad ...BadItem) {
	drop := make(map[string]bool, len(bad))
	for _, b := range bad {
		drop[b.Path] = true
	}
	gone := func(i Item) bool { return drop[i.Path] }
	f.Items, f.Val = slices.DeleteFunc(slices.Clone(f.Items), gone), slices.DeleteFunc(slices.Clone(f.Val), gone)
}

package data

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
)

// TestExhaustedIsNotCorrupt: an image that cannot be decoded because file handles or memory ran out, of which the images that are decoded beside it
// take some, is not listed as corrupt.
func TestExhaustedIsNotCorrupt(t *testing.T) {
	all := make([]ImageFile, 20)
	for i := range all {
		all[i].Path = fmt.Sprint(i)
	}
	for _, cause := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, &budget.Error{Wanted: 2, Used: 1, Limit: 2}} {
		var calls atomic.Int32
		bad, err := badItems(context.Background(), all, func(i ImageFile) error {
			switch n := calls.Add(1); {
			case i.Path == "7":
				return fmt.Errorf("%s is no image", i.Path)
			case n <= 10:
				return fmt.Errorf("open %s: %w", i.Path, cause)
			}
			return nil
		})
		if err != nil || len(bad) != 1 || bad[0].Path != "7" {
			t.Errorf("%v for a while: %v, %v", cause, bad, err)
		}
	}
	bad, err := badItems(context.Background(), all, func(ImageFile) error { return fmt.Errorf("open: %w", syscall.EMFILE) })
	if err == nil || !strings.Contains(err.Error(), "images cannot be checked") || bad != nil {
		t.Errorf("no file handles at all: %v, %v", bad, err)
	}
	bad, err = badItems(context.Background(), all, func(i ImageFile) error {
		if i.Path == "3" {
			return &budget.Error{Wanted: 9, Limit: 2}
		}
		return nil
	})
	if err != nil || len(bad) != 1 || bad[0].Path != "3" {
		t.Errorf("an image that takes too much memory by itself: %v, %v", bad, err)
	}
}

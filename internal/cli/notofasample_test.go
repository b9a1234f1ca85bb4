package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
)

// TestNotOfASample: an interruption, and file handles that ran out, end predict. They are not errors of a sample, which is skipped.
func TestNotOfASample(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	broken := errors.New("the file is truncated")
	for _, c := range []struct {
		ctx context.Context
		err error
		of  bool
	}{{canceled, canceled.Err(), false}, {context.Background(), fmt.Errorf("data: %w", syscall.EMFILE), false}, {context.Background(), broken, true}} {
		list, err := (&answerer{}).apart(c.ctx, nil, []int{0}, 1, c.err)
		if c.of && (err != nil || len(list) != 1 || !errors.Is(list[0].err, c.err)) || !c.of && (!errors.Is(err, c.err) || list != nil) {
			t.Errorf("%v: %v, %v", c.err, list, err)
		}
	}
}

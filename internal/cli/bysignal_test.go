package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// What a signal ended names the signal; other errors, and those that name it already, stay as they are.
func TestBySignal(t *testing.T) {
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("interrupt signal received"))
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{ended, fmt.Errorf("run: %w", context.Canceled), "interrupt signal received"}, {ended, plain{"interrupt; --resume continues", context.Canceled}, "interrupt; --resume continues"},
		{ended, errors.New("no such file"), "no such file"}, {t.Context(), context.Canceled, "context canceled"},
	} {
		if got := bySignal(c.ctx, c.err); got.Error() != c.want || errors.Is(c.err, context.Canceled) && !errors.Is(got, context.Canceled) {
			t.Errorf("%v: %v, want %s", c.err, got, c.want)
		}
	}
	if bySignal(ended, nil) != nil {
		t.Error("success is an error")
	}
}

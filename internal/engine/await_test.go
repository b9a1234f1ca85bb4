package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
)

// TestAwait: what is awaited is waited for unless the context ends, and its panics reach the caller.
func TestAwait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for name, ctx := range map[string]context.Context{"endless": context.Background(), "open": ctx} {
		done := false
		if err := Await(ctx, func() { done = true }); err != nil || !done {
			t.Errorf("%s: done %v, %v", name, done, err)
		}
		func() {
			defer func() {
				if p := recover(); p != "broken" {
					t.Errorf("%s: recovered %v", name, p)
				}
			}()
			_ = Await(ctx, func() { panic("broken") })
		}()
	}
	begun, end := make(chan bool), make(chan bool)
	go func() { <-begun; cancel() }()
	if err := Await(ctx, func() { close(begun); <-end }); !errors.Is(err, context.Canceled) {
		t.Errorf("ended while it waits: %v", err)
	}
	close(end)
	if err := Await(ctx, func() { t.Error("begins after the end") }); !errors.Is(err, context.Canceled) {
		t.Errorf("ended before: %v", err)
	}
	if err := Await(t.Context(), func() { panic(kernel.Stopped{}) }); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

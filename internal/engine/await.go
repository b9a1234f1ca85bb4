package engine

import (
	"cmp"
	"context"

	"github.com/graft-ml/graft/internal/kernel"
)

// Await runs f, which takes long between two checks of a context or has none. If ctx ends first it returns its error at once, and f goes on to its own
// end meanwhile: the caller drops all that f uses. A panic of f is one of Await, except for [kernel.Stopped], which is the error of ctx.
func Await(ctx context.Context, f func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	kernel.Awaited(1)
	defer kernel.Awaited(-1)
	panicked := make(chan any, 1)
	run := func() {
		defer func() { panicked <- recover() }()
		f()
	}
	if ctx.Done() == nil {
		run()
	} else {
		go run()
	}
	select {
	case p := <-panicked:
		if p == (kernel.Stopped{}) {
			return cmp.Or(ctx.Err(), context.Canceled)
		} else if p != nil {
			panic(p)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

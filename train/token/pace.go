package token

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/graft-ml/graft/internal/kernel"
)

const (
	between = 1 << 12 // steps of some ten nanoseconds between two looks at a context
	block   = 1 << 16 // bytes of text
)

// pace looks at a context now and then while a loop runs. nil never does.
type pace struct {
	ctx  context.Context
	left int
}

// ended is what a pace panics with when its context has ended.
type ended struct{ error }

// did counts n steps of a loop.
func (p *pace) did(n int) {
	if p == nil {
		return
	}
	if p.left -= n; p.left < 0 {
		p.look()
	}
}

func (p *pace) look() {
	if p == nil {
		return
	}
	p.left = between
	if err := p.ctx.Err(); err != nil {
		panic(ended{err})
	}
}

// compare is strings.Compare, for sorting.
func (p *pace) compare(a, b string) int {
	p.did(1)
	return strings.Compare(a, b)
}

// counted is f, and counts its calls.
func counted[T any](p *pace, f func(rune) T) func(rune) T {
	return func(r rune) T {
		p.did(1)
		return f(r)
	}
}

// inBlocks is f of a text, block by block. f converts each character independently of the others.
func (p *pace) inBlocks(s string, f func(string) string) string {
	if p.did(len(s)); len(s) <= block {
		return f(s)
	}
	var b strings.Builder
	for s != "" {
		n := min(len(s), block)
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n--
		}
		b.WriteString(f(s[:n]))
		s = s[n:]
		p.look()
	}
	return b.String()
}

// until runs f, and returns the error of ctx if it ends meanwhile.
func until(ctx context.Context, f func(p *pace)) (err error) {
	if ctx == nil {
		return errors.New("the context is nil: context.Background() never ends")
	}
	defer func() {
		switch v := recover().(type) {
		case nil:
		case ended:
			err = v.error
		default:
			panic(v)
		}
	}()
	p := &pace{ctx: ctx}
	p.look()
	f(p)
	return nil
}

// awaited is until for what also calls functions that take long and have no context, such as decoding JSON. If ctx ends, they go on meanwhile.
func awaited(ctx context.Context, f func(p *pace)) error {
	if ctx == nil || ctx.Done() == nil {
		return until(ctx, f)
	}
	kernel.Awaited(1)
	defer kernel.Awaited(-1)
	done := make(chan error, 1)
	go func() { done <- until(ctx, f) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

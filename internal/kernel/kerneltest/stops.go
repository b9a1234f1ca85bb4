package kerneltest

import (
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
)

// Stops checks that f ends when the pool that it is given is stopped.
func Stops(t *testing.T, name string, f func(p *kernel.Pool)) {
	t.Helper()
	p, done := (*kernel.Pool)(nil).Stoppable(), make(chan struct{})
	close(done)
	p.StopBy(done)
	defer func() {
		if r := recover(); r != (kernel.Stopped{}) {
			t.Errorf("%s: ended with %v, want that it is stopped", name, r)
		}
	}()
	f(p)
}

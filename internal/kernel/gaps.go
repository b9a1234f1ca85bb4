//go:build gaps

package kernel

// Checked is called whenever a pool that can be stopped checks whether it is: bench/cancel measures the time between two calls.
var Checked = func() {}

// Awaits is called with 1 when something is awaited that need not check, as its caller returns at once when the context ends, and with -1 when
// that has ended.
var Awaits = func(change int) {}

// Awaited calls Awaits.
func Awaited(change int) { Awaits(change) }

func checked(done <-chan struct{}) {
	if done != nil {
		Checked()
	}
}

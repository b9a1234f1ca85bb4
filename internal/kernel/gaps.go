//go:build gaps

package kernel

// Checked is called whenever a pool that can be stopped checks whether it is: bench/cancel measures the time between two calls.
var Checked = func() {}

func checked(done <-chan struct{}) {
	if done != nil {
		Checked()
	}
}

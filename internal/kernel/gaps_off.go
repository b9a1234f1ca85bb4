//go:build !gaps

package kernel

// Awaited does nothing without the tag gaps.
func Awaited(int) {}

func checked(<-chan struct{}) {}

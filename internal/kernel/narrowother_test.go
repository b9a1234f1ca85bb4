//go:build !amd64 || purego

package kernel

import "testing"

// narrower runs tests as processors with less do: here there is one kind.
func narrower(t *testing.T, _ map[string]func(t *testing.T)) { t.Skip("there are no narrower kernels") }

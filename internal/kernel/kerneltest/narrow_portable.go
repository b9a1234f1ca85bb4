//go:build !amd64 || purego

package kerneltest

import "testing"

// Narrower runs tests as processors with less do: here there is one kind.
func Narrower(t *testing.T, _ map[string]func(t *testing.T)) { t.Skip("there are no narrower kernels") }

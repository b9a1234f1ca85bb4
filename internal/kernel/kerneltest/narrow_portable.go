//go:build !amd64 || purego

package kerneltest

import "testing"

// Narrower runs tests with the features of older processors; the portable code has a single variant.
func Narrower(t *testing.T, _ map[string]func(t *testing.T)) { t.Skip("there are no narrower kernels") }

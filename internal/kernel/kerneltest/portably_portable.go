//go:build (!amd64 && !arm64) || purego

package kerneltest

// Portably calls f with the assembly switched off: there is none.
func Portably(f func()) { f() }

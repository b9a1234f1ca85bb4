//go:build (!amd64 && !arm64) || purego

package kerneltest

// Portably calls f without assembly, of which there is none in this build.
func Portably(f func()) { f() }

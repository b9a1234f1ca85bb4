//go:build (!amd64 && !arm64) || purego

package kernel

// portably calls f with the assembly switched off: there is none.
func portably(f func()) { f() }

//go:build !purego

package kernel

// portably calls f with the assembly switched off.
func portably(f func()) {
	neon = false
	defer func() { neon = true }()
	f()
}

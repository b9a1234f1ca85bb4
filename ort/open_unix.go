//go:build linux || darwin

package ort

import "github.com/ebitengine/purego"

// symbolOf returns the address of an exported symbol of a library.
func symbolOf(file, name string) (uintptr, error) {
	lib, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, err
	}
	return purego.Dlsym(lib, name)
}

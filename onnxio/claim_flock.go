//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package onnxio

import (
	"os"

	"golang.org/x/sys/unix"
)

// claim marks a temporary file as in use until it is closed or the process ends.
func claim(f *os.File) { unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// abandoned reports whether a temporary file is in use by nobody.
func abandoned(name string) bool {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

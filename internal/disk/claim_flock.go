//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package disk

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// claim marks a temporary file or folder as in use until release or the end of the process, whether or not f is closed before.
func claim(f *os.File) (release func()) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return func() {}
	}
	unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	return func() { unix.Close(fd) }
}

// claimFolder claims a folder.
func claimFolder(dir string) (release func()) {
	f, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	defer f.Close()
	return claim(f)
}

// await waits until nobody has claimed a folder, and claims it.
func await(dir string) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			return func() { f.Close() }, nil // a file system without locks has no other process to wait for
		}
	}
}

// abandoned reports whether a temporary file or folder is in use by nobody.
func abandoned(name string) bool {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// identity returns a text that identifies a folder on this machine and differs for a copy of it.
func identity(dir string) string {
	var s unix.Stat_t
	host, err := os.Hostname()
	if err != nil || unix.Lstat(dir, &s) != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", host, s.Dev, s.Ino)
}

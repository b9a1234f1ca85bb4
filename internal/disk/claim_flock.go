//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package disk

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mark is a duplicate of a file's descriptor, whose locks belong to all duplicates.
type mark struct{ fd int }

func newMark(f *os.File) (*mark, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	return &mark{fd}, err
}

func (m *mark) try() error {
	err := unix.Flock(m.fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK || err == unix.EINTR {
		return errHeld
	}
	return err
}

func (m *mark) free() {
	if m.fd >= 0 {
		unix.Close(m.fd)
		m.fd = -1
	}
}

// openMarked opens a file or folder, or creates a file, to mark it.
func openMarked(name string, create bool) (*os.File, error) {
	if create {
		return os.OpenFile(name, os.O_RDONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o666)
	}
	return os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

func createNew(name string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}

var rename, remove = os.Rename, os.Remove

// identity returns a text that identifies a folder on this machine and differs for a copy of it.
func identity(dir string) string {
	var s unix.Stat_t
	host, err := os.Hostname()
	if err != nil || unix.Lstat(dir, &s) != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", host, s.Dev, s.Ino)
}

// holder describes the process that has the lock, as far as the system tells.
func (m *mark) holder() string {
	const unknown = "another process"
	var node unix.Stat_t
	if unix.Fstat(m.fd, &node) != nil {
		return unknown
	}
	list, err := os.Open("/proc/locks") // of Linux
	if err != nil {
		return unknown
	}
	defer list.Close()
	for lines := bufio.NewScanner(list); lines.Scan(); {
		// 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
		field := strings.Fields(lines.Text())
		if len(field) < 8 || field[1] != "FLOCK" || !strings.HasSuffix(field[5], fmt.Sprint(":", node.Ino)) {
			continue
		}
		pid, err := strconv.Atoi(field[4])
		switch {
		case err != nil || pid <= 0:
			return unknown
		case pid == os.Getpid():
			return "this process"
		}
		return fmt.Sprintf("process %d%s", pid, stopped(pid))
	}
	return unknown
}

// stopped returns a note about a process that is stopped, "" for others.
func stopped(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, state, _ := strings.Cut(string(b), ") ") // after the name
	if strings.HasPrefix(state, "T") || strings.HasPrefix(state, "t") {
		return " (stopped)"
	}
	return ""
}

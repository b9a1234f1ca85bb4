package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// mark is a kernel object named after the number that a file keeps when it is renamed. It exists while a process has it. Unlike a lock of
// Windows, it does not keep others from reading the file, and folders have one, too.
type mark struct {
	name   *uint16
	object windows.Handle // 0: not taken
}

func newMark(f *os.File) (*mark, error) {
	id, err := number(windows.Handle(f.Fd()))
	if err != nil {
		return nil, err
	}
	name, err := windows.UTF16PtrFromString(`Global\graft ` + id)
	return &mark{name: name}, err
}

func (m *mark) try() error {
	if m.object != 0 {
		return nil
	}
	object, err := windows.CreateEvent(nil, 0, 0, m.name)
	switch {
	case err == nil:
		m.object = object
		return nil
	case object != 0: // it exists
		windows.CloseHandle(object)
		return errHeld
	case err == windows.ERROR_ACCESS_DENIED: // of another user
		return errHeld
	}
	return err
}

func (m *mark) free() {
	if m.object != 0 {
		windows.CloseHandle(m.object)
		m.object = 0
	}
}

func (*mark) holder() string { return "another process" }

// number returns the numbers of a volume and of a file on it.
func number(h windows.Handle) (string, error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &info); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x %x %x", info.VolumeSerialNumber, info.FileIndexHigh, info.FileIndexLow), nil
}

// open opens a file or folder that others may rename and remove meanwhile.
func open(name string, access, creation, attributes uint32) (*os.File, error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	const all = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(path, access, all, nil, creation, attributes|windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(h), name), nil
}

// openMarked opens a file or folder, or creates a file, to mark it.
func openMarked(name string, create bool) (f *os.File, err error) {
	if !create {
		return open(name, windows.FILE_READ_ATTRIBUTES, windows.OPEN_EXISTING, 0)
	}
	for range 20 { // a file that is removed while it is open cannot be created for a moment
		f, err = open(name, windows.FILE_READ_ATTRIBUTES, windows.OPEN_ALWAYS, windows.FILE_FLAG_OPEN_REPARSE_POINT)
		if !errors.Is(err, fs.ErrPermission) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return f, err
}

// createNew creates a file that End can remove while it is open.
func createNew(name string, mode fs.FileMode) (*os.File, error) {
	attributes := uint32(windows.FILE_ATTRIBUTE_NORMAL)
	if mode&0o200 == 0 {
		attributes = windows.FILE_ATTRIBUTE_READONLY
	}
	return open(name, windows.GENERIC_READ|windows.GENERIC_WRITE, windows.CREATE_NEW, attributes)
}

// identity returns a text that identifies a folder on this machine and differs for a copy of it.
func identity(dir string) string {
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	f, err := open(dir, windows.FILE_READ_ATTRIBUTES, windows.OPEN_EXISTING, windows.FILE_FLAG_OPEN_REPARSE_POINT)
	if err != nil {
		return ""
	}
	defer f.Close()
	id, err := number(windows.Handle(f.Fd()))
	if err != nil {
		return ""
	}
	return host + " " + id
}

// rename and remove wait up to two seconds for others that have the file open, which Windows then refuses.
func rename(from, to string) error { return patiently(func() error { return os.Rename(from, to) }) }
func remove(name string) error     { return patiently(func() error { return os.Remove(name) }) }

func patiently(do func() error) error {
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := do()
		open := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !open || time.Since(begun) > 2*time.Second {
			return err
		}
	}
}

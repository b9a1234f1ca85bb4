package ort

import "syscall"

// symbolOf returns the address of an exported symbol of a library.
func symbolOf(file, name string) (uintptr, error) {
	lib, err := syscall.LoadLibrary(file)
	if err != nil {
		return 0, &syscall.DLLError{Err: err, ObjName: file, Msg: file + ": " + err.Error()}
	}
	return syscall.GetProcAddress(lib, name)
}

//go:build linux || darwin

package mpi

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// A library is a loaded MPI library: its constants and those of its functions that are used. Handles and addresses are
// uintptr, which also holds the int that handles of MPICH are.
type library struct {
	abi
	path  string
	label string // as it calls itself

	initThread    func(argc, argv uintptr, required int32, provided *int32) int32
	setErrhandler func(comm, handler uintptr) int32
	commRank      func(comm uintptr, rank *int32) int32
	commSize      func(comm uintptr, size *int32) int32
	allreduce     func(send, receive uintptr, count int32, datatype, op, comm uintptr) int32
	bcast         func(buffer uintptr, count int32, datatype uintptr, root int32, comm uintptr) int32
	allgather     func(send uintptr, sendCount int32, sendType, receive uintptr, receiveCount int32, receiveType, comm uintptr) int32
	alltoall      func(send uintptr, sendCount int32, sendType, receive uintptr, receiveCount int32, receiveType, comm uintptr) int32
	barrier       func(comm uintptr) int32
	errorString   func(code int32, text *byte, length *int32) int32
	abort         func(comm uintptr, code int32) int32
	finalize      func() int32
}

// open loads the first of the files that is there.
func open(files []string) (*library, error) {
	m := &missing{tried: files}
	for _, file := range files {
		handle, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			if why := err.Error(); !absent(file, why) || os.Getenv("GRAFT_MPI") != "" {
				m.broken = append(m.broken, why)
			}
			continue
		}
		lib, err := bind(handle, file)
		if err != nil {
			return nil, fmt.Errorf("mpi: %s: %w", file, err)
		}
		return lib, nil
	}
	return nil, m
}

// absent reports whether the loader's error is that the file itself is missing, rather than one of its dependencies.
func absent(file, why string) bool {
	return strings.HasPrefix(why, file+": cannot open") || strings.Contains(why, "("+file+",") && strings.Contains(why, "no such file")
}

func bind(handle uintptr, file string) (*library, error) {
	lib := &library{path: file}
	symbol := func(name string) uintptr {
		address, err := purego.Dlsym(handle, name)
		if err != nil {
			return 0
		}
		return address
	}
	var getVersion func(version, subversion *int32) int32
	var getLabel func(text *byte, length *int32) int32
	for _, f := range []struct {
		name string
		call any
	}{
		{"MPI_Get_version", &getVersion}, {"MPI_Get_library_version", &getLabel}, {"MPI_Init_thread", &lib.initThread},
		{"MPI_Comm_set_errhandler", &lib.setErrhandler}, {"MPI_Comm_rank", &lib.commRank}, {"MPI_Comm_size", &lib.commSize},
		{"MPI_Allreduce", &lib.allreduce}, {"MPI_Bcast", &lib.bcast}, {"MPI_Allgather", &lib.allgather}, {"MPI_Alltoall", &lib.alltoall},
		{"MPI_Barrier", &lib.barrier}, {"MPI_Error_string", &lib.errorString}, {"MPI_Abort", &lib.abort}, {"MPI_Finalize", &lib.finalize},
	} {
		address := symbol(f.name)
		if address == 0 {
			return nil, fmt.Errorf("it is not an MPI library: it does not export %s", f.name)
		}
		purego.RegisterFunc(f.call, address)
	}
	id := identity{abiMajor: -1, symbol: symbol}
	var minor int32
	getVersion(&id.version, &minor)
	if address := symbol("MPI_Abi_get_version"); address != 0 {
		var getABI func(major, minor *int32) int32
		purego.RegisterFunc(&getABI, address)
		if getABI(&id.abiMajor, &minor) != 0 {
			id.abiMajor = -1
		}
	}
	text, length := make([]byte, 8192+1), int32(0)
	if getLabel(&text[0], &length) == 0 {
		first, _, _ := strings.Cut(cString(text, length), "\n") // of several that describe how it was built
		first, _, _ = strings.Cut(first, ",")
		id.label = strings.Join(strings.Fields(first), " ")
	}
	var err error
	lib.label = id.label
	lib.abi, err = id.choose()
	return lib, err
}

// err is the error of a call that returned code, nil for success.
func (l *library) err(what string, code int32) error {
	if code == 0 {
		return nil
	}
	text, length := make([]byte, l.longestError+1), int32(0)
	if l.errorString(code, &text[0], &length) != 0 {
		return fmt.Errorf("mpi: %s: error %d of %s", what, code, l.label)
	}
	return fmt.Errorf("mpi: %s: %s", what, strings.ReplaceAll(strings.TrimSpace(cString(text, length)), "\n", "; "))
}

func cString(text []byte, length int32) string {
	return string(text[:max(0, min(int(length), len(text)))])
}

// address is where the bytes are, for memory that stays in its place.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

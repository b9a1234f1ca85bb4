package mpi

import (
	"fmt"
	"strings"
)

// An abi is the binary interface of a family of MPI libraries: the values of the handles and constants
// that its header defines.
type abi struct {
	name                              string
	world, errorsReturn, sum          uintptr
	bytes, floats, doubles            uintptr // data types
	inPlace                           uintptr
	funneled                          int32 // the level of thread support that is asked for
	longestError, longestLibraryLabel int
}

// mpich has the values of MPICH's mpi.h, which its binary compatibility initiative keeps since version 3.1. Handles are
// of type int.
var mpich = abi{
	name: "MPICH", world: 0x44000000, errorsReturn: 0x54000001, sum: 0x58000003,
	bytes: 0x4c00010d, floats: 0x4c00040a, doubles: 0x4c00080b,
	inPlace: ^uintptr(0), funneled: 1, longestError: 512, longestLibraryLabel: 8192,
}

// standard has the values that MPI 5.0 fixes (chapter 20 and annex A). Handles are pointers with small constant values.
var standard = abi{
	name: "the standard ABI of MPI", world: 0x101, errorsReturn: 0x143, sum: 0x21,
	bytes: 0x247, floats: 0x210, doubles: 0x214,
	inPlace: 1, funneled: 1024, longestError: 512, longestLibraryLabel: 8192,
}

// openMPI is completed by openMPIHandles: handles are the addresses of variables that the library exports.
var openMPI = abi{name: "Open MPI", inPlace: 1, funneled: 1, longestError: 256, longestLibraryLabel: 256}

func openMPIHandles(symbol func(string) uintptr) (abi, error) {
	a := openMPI
	for name, handle := range map[string]*uintptr{
		"ompi_mpi_comm_world": &a.world, "ompi_mpi_errors_return": &a.errorsReturn, "ompi_mpi_op_sum": &a.sum,
		"ompi_mpi_byte": &a.bytes, "ompi_mpi_float": &a.floats, "ompi_mpi_double": &a.doubles,
	} {
		if *handle = symbol(name); *handle == 0 {
			return a, fmt.Errorf("it is an Open MPI that does not export %s", name)
		}
	}
	return a, nil
}

// identity is how a library describes itself before MPI starts.
type identity struct {
	abiMajor int32 // of MPI_Abi_get_version; -1: it has no such function, or not the standard ABI
	version  int32 // of the MPI standard
	label    string
	symbol   func(string) uintptr // 0: not exported
}

// choose finds the binary interface of a library.
func (id identity) choose() (abi, error) {
	switch {
	case id.abiMajor > 1:
		return abi{}, fmt.Errorf("it has version %d of the standard ABI: only version 1 is supported", id.abiMajor)
	case id.abiMajor >= 0 && id.version < 5: // the drafts exchanged constants
		return abi{}, fmt.Errorf("its standard ABI is a draft from before MPI 5")
	case id.abiMajor >= 0:
		return standard, nil
	case id.symbol("ompi_mpi_comm_world") != 0:
		return openMPIHandles(id.symbol)
	}
	for _, name := range []string{"MPICH", "Intel(R) MPI", "MVAPICH"} {
		if strings.Contains(id.label, name) {
			return mpich, nil
		}
	}
	return abi{}, fmt.Errorf("it is neither Open MPI nor MPICH, and does not have the standard ABI of MPI; it calls itself %q", id.label)
}

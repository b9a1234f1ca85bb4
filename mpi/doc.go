// Package mpi joins the processes that mpirun started into a train.Communicator. It loads the installed MPI library at
// run time, so programs are built without C and one binary works with each of these:
//
//   - Open MPI (written for 4 and 5)
//   - MPICH 4 and libraries with its binary interface: Intel MPI, MVAPICH, Cray MPICH
//   - any library with the standard binary interface of MPI 5 (libmpi_abi)
//
// The library is identified by the symbols that it exports; if several are installed, that of the launcher is used.
// The environment variable GRAFT_MPI selects a library by its path instead. A process without a launcher is rank 0
// of 1.
//
// Connect starts MPI. One goroutine, locked to its thread, makes all calls of the library, with a buffer whose memory is
// never freed: network cards may have its pages registered, and the Go runtime returns pages without notifying them.
// Signal handlers that the library installs are replaced by those of the Go runtime, which turns the faults of Go code
// into panics and handles ctrl-C as package os/signal documents.
//
// A call blocks until the other ranks have made theirs, without stopping other goroutines. When a rank
// fails it must call Abort, since the others wait for it.
//
// Linux and macOS; elsewhere Connect returns an error.
package mpi

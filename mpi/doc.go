// Package mpi joins the processes that mpirun started into a train.Communicator. It loads the installed MPI library at
// run time, so programs are built without C and one binary works with each of these:
//
//   - Open MPI (4 and 5 are what it was written for)
//   - MPICH 4 and libraries with its binary interface: Intel MPI, MVAPICH, Cray MPICH
//   - any library with the standard binary interface of MPI 5 (libmpi_abi)
//
// Which one it is shows in what the library exports; where several are installed, the one of the launcher is taken.
// The environment variable GRAFT_MPI names a library by its path instead. A process that no launcher started is rank 0
// of 1.
//
// Connect starts MPI. One goroutine, locked to its thread, makes all calls of the library, from a buffer whose memory is
// never given back: network cards may remember the pages of memory they were handed, and the Go runtime returns pages
// without their knowing. Signal handlers that the library installs are replaced by those of the Go runtime, which turns
// the faults of Go code into panics and handles ctrl-C as package os/signal documents.
//
// A call blocks until the other ranks have made theirs, without stopping other goroutines. When a rank fails it must call
// Abort, since the others wait for it.
//
// Linux and macOS; elsewhere Connect returns an error.
package mpi

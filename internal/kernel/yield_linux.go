package kernel

import "syscall"

// yield lets another thread of the same processor run. Spinning threads must do so
// now and then: the system may have put the thread they wait for after them.
func yield() { syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }

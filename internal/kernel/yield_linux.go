package kernel

import "syscall"

// yield lets another thread run on the same processor. Spinning threads must do so
// regularly: the system may have scheduled the thread that they wait for after them.
func yield() { syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }

package engine

import "syscall"

// preferHugePages asks for pages of 2 MB: accesses with large strides then need fewer TLB entries.
func preferHugePages(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) } // optional: not every system supports it
